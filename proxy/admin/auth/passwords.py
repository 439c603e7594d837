"""The admin's password and the API tokens, in one file of the data folder: hashes only (scrypt, SHA-256).

An attacker guesses passwords, so their hash is slow and salted. A token is 256 random bits, which nobody guesses,
so a plain hash is enough and costs no time per call.
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

from proxy.admin.auth.scopes import ALL
from proxy.errors import StoreError

FILE = "desk.json"
"""Its name in the data folder."""
MIN_LENGTH = 10
MAX_LENGTH = 200
_N, _R, _P = (
    2**15,
    8,
    1,
)  # 32 MB and a tenth of a second: expensive to guess, cheap enough for a small machine
_MAX_MEMORY = 128 * 1024**2
_MAX_TOKENS = 50
_TOKEN_PREFIX = "lm_"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordHash:
    """A hash with the parameters needed to check it, so that the cost can be raised later."""

    salt: bytes
    digest: bytes
    n: int = _N
    r: int = _R
    p: int = _P


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """An API token; the token itself is shown once and not stored."""

    name: str
    digest: str
    made_at: datetime
    scopes: tuple[str, ...] = ALL
    """Its scopes (`proxy.admin.auth.scopes`); tokens from before scopes existed have all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCredentials:
    """The contents of the file. `generation` changes with the password, which ends all sessions."""

    password: PasswordHash | None = None
    generation: str = ""
    tokens: tuple[ApiToken, ...] = ()


def hash_password(password: str, *, n: int = _N) -> PasswordHash:
    """Slow on purpose: call it in a thread. `n` is scrypt's cost; only tests pass a lower one."""
    salt = secrets.token_bytes(16)
    return PasswordHash(salt=salt, digest=_scrypt(password, salt, n, _R, _P), n=n)


def matches(password: str, kept: PasswordHash) -> bool:
    """Slow on purpose: call it in a thread. The comparison takes constant time."""
    return hmac.compare_digest(_scrypt(password, kept.salt, kept.n, kept.r, kept.p), kept.digest)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    secret = password[:MAX_LENGTH].encode("utf-8", "replace")
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=_MAX_MEMORY, dklen=32)


def password_problem(password: str, again: str) -> str:
    """Why a new password is not accepted; empty when it is."""
    if password != again:
        return "The passwords do not match."
    if len(password) < MIN_LENGTH:
        return f"The password needs at least {MIN_LENGTH} characters."
    if len(password) > MAX_LENGTH:
        return f"The password may have at most {MAX_LENGTH} characters."
    return "" if len(set(password)) > 3 else "This password is too easy to guess."


class Passwords:
    """The file. Each read checks its modification time, so `linkmend desk password` works while the proxy runs."""

    def __init__(self, path: Path, *, n: int = _N) -> None:
        """`n` is scrypt's cost of new passwords, see `hash_password`."""
        self._path = path
        self._n = n
        self._read_at: tuple[int, int] | None = None
        self._kept = StoredCredentials()

    def load(self) -> StoredCredentials:
        """Read the file. Raises StoreError when that fails: nobody is let in by mistake."""
        try:
            state = self._path.stat()
            stamp = (state.st_mtime_ns, state.st_ino)
            if stamp != self._read_at:
                self._kept = msgspec.json.decode(self._path.read_bytes(), type=StoredCredentials)
                self._read_at = stamp
        except FileNotFoundError:
            self._kept, self._read_at = StoredCredentials(), None
        except (OSError, ValueError) as error:  # msgspec's errors are ValueErrors
            raise StoreError(f"{self._path}: cannot read the file: {error}") from error
        return self._kept

    def set_password(self, password: str) -> None:
        """Replace the password and end every session."""
        fresh = hash_password(password, n=self._n)
        self._write(
            StoredCredentials(password=fresh, generation=secrets.token_hex(8), tokens=self.load().tokens)
        )

    def set_first_password(self, password: str) -> bool:
        """False when a password is already set: of two simultaneous requests only one succeeds."""
        fresh = hash_password(password, n=self._n)
        if self.load().password is not None:
            return False
        self._write(
            StoredCredentials(password=fresh, generation=secrets.token_hex(8), tokens=self.load().tokens)
        )
        return True

    def new_token(self, name: str, scopes: Collection[str] = ALL) -> str:
        """Create a token and replace an older one of the same name; it is shown only this once."""
        kept = self.load()
        token = _TOKEN_PREFIX + secrets.token_urlsafe(32)
        others = tuple(each for each in kept.tokens if each.name != name)
        if len(others) >= _MAX_TOKENS:
            raise StoreError(f"limit of {len(others)} tokens reached; remove one first")
        made = ApiToken(name=name, digest=_digest(token), made_at=datetime.now(UTC), scopes=tuple(scopes))
        self._write(_with_tokens(kept, (*others, made)))
        return token

    def remove_token(self, name: str) -> bool:
        kept = self.load()
        left = tuple(each for each in kept.tokens if each.name != name)
        if len(left) == len(kept.tokens):
            return False
        self._write(_with_tokens(kept, left))
        return True

    def knows_token(self, token: str) -> bool:
        return self.scopes_of(token) is not None

    def scopes_of(self, token: str) -> frozenset[str] | None:
        """The scopes of a token; None when it is unknown."""
        digest = _digest(token)
        known = [each for each in self.load().tokens if hmac.compare_digest(each.digest, digest)]
        return frozenset(known[0].scopes) if known else None

    def _write(self, kept: StoredCredentials) -> None:
        """Write atomically (temporary file and rename), readable by the owner only from the first byte."""
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
            raise StoreError(f"{self._path}: cannot write the file: {error.strerror or error}") from error


def _with_tokens(kept: StoredCredentials, tokens: tuple[ApiToken, ...]) -> StoredCredentials:
    return StoredCredentials(password=kept.password, generation=kept.generation, tokens=tokens)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
