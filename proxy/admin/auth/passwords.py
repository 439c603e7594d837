"""The admin's password and the tokens of programs, in one file of the data folder: hashes only (scrypt, SHA-256).

A password is guessed, so it is hashed slowly and with salt; a token is 256 random bits, which nobody guesses, so a
plain hash of it is enough and costs no time per call.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proxy.desk.scopes import ALL
from proxy.errors import StoreError

FILE = "desk.json"
"""Its name in the data folder."""
MIN_LENGTH = 10
MAX_LENGTH = 200
_N, _R, _P = 2**15, 8, 1  # 32 MB and a tenth of a second: dear to guess, cheap enough for a small machine
_MAX_MEMORY = 128 * 1024**2
_MAX_TOKENS = 50
_TOKEN_PREFIX = "lm_"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordHash:
    """A hash with all that is needed to check it, so that the costs can be raised later."""

    salt: bytes
    digest: bytes
    n: int = _N
    r: int = _R
    p: int = _P


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a program shows to be let in; the token itself is told once and not kept."""

    name: str
    digest: str
    made_at: datetime
    scopes: tuple[str, ...] = ALL
    """What it opens (`proxy.desk.scopes`); tokens of before there were scopes open all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the file holds. `generation` changes with the password, which ends all sessions."""

    password: PasswordHash | None = None
    generation: str = ""
    tokens: tuple[Token, ...] = ()


def hashed(password: str) -> PasswordHash:
    """Slow on purpose: call it in a thread."""
    salt = secrets.token_bytes(16)
    return PasswordHash(salt=salt, digest=_scrypt(password, salt, _N, _R, _P))


def matches(password: str, kept: PasswordHash) -> bool:
    """Slow on purpose: call it in a thread. The comparison takes as long whatever differs."""
    return hmac.compare_digest(_scrypt(password, kept.salt, kept.n, kept.r, kept.p), kept.digest)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    secret = password[:MAX_LENGTH].encode("utf-8", "replace")
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=_MAX_MEMORY, dklen=32)


def complaint(password: str, again: str) -> str:
    """Why a new password is not taken; empty when it is."""
    if password != again:
        return "The two passwords differ."
    if len(password) < MIN_LENGTH:
        return f"A password has at least {MIN_LENGTH} characters."
    if len(password) > MAX_LENGTH:
        return f"A password has at most {MAX_LENGTH} characters."
    return "" if len(set(password)) > 3 else "That password is too easy to guess."


class Passwords:
    """The file. Reading looks at its date, so that `linkmend desk password` counts while the proxy runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self._kept = Kept()

    def kept(self) -> Kept:
        """What the file holds now. Raises StoreError when it cannot be read: nobody is let in by mistake."""
        try:
            state = self._path.stat()
            stamp = (state.st_mtime_ns, state.st_ino)
            if stamp != self._read_at:
                self._kept = msgspec.json.decode(self._path.read_bytes(), type=Kept)
                self._read_at = stamp
        except FileNotFoundError:
            self._kept, self._read_at = Kept(), None
        except (OSError, ValueError) as error:  # msgspec's errors are ValueErrors
            raise StoreError(f"{self._path}: cannot be read: {error}") from error
        return self._kept

    def set_password(self, password: str) -> None:
        """Takes the place of the old one; ends every session."""
        self._write(
            Kept(password=hashed(password), generation=secrets.token_hex(8), tokens=self.kept().tokens)
        )

    def set_first_password(self, password: str) -> bool:
        """False when there is one already: two who come first at the same time do not both win."""
        fresh = hashed(password)
        if self.kept().password is not None:
            return False
        self._write(Kept(password=fresh, generation=secrets.token_hex(8), tokens=self.kept().tokens))
        return True

    def new_token(self, name: str, scopes: Collection[str] = ALL) -> str:
        """A token under a name, in place of an older one of that name; it is shown this once."""
        kept = self.kept()
        token = _TOKEN_PREFIX + secrets.token_urlsafe(32)
        others = tuple(each for each in kept.tokens if each.name != name)
        if len(others) >= _MAX_TOKENS:
            raise StoreError(f"there are {len(others)} tokens already; remove one first")
        made = Token(name=name, digest=_digest(token), made_at=datetime.now(UTC), scopes=tuple(scopes))
        self._write(_with(kept, (*others, made)))
        return token

    def remove_token(self, name: str) -> bool:
        kept = self.kept()
        left = tuple(each for each in kept.tokens if each.name != name)
        if len(left) == len(kept.tokens):
            return False
        self._write(_with(kept, left))
        return True

    def knows_token(self, token: str) -> bool:
        return self.scopes_of(token) is not None

    def scopes_of(self, token: str) -> frozenset[str] | None:
        """What a token opens; None when it is not known."""
        digest = _digest(token)
        known = [each for each in self.kept().tokens if hmac.compare_digest(each.digest, digest)]
        return frozenset(known[0].scopes) if known else None

    def _write(self, kept: Kept) -> None:
        """All or nothing: written beside and renamed, readable by nobody else from the first byte."""
        fresh = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(kept))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise StoreError(f"{self._path}: cannot be written: {error.strerror or error}") from error


def _with(kept: Kept, tokens: tuple[Token, ...]) -> Kept:
    return Kept(password=kept.password, generation=kept.generation, tokens=tokens)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
