"""The admin's password, the accounts and the API tokens, in one file of the data folder: hashes only.

An attacker guesses passwords, so their hash is slow and salted. A token is 256 random bits, which nobody guesses,
so a plain hash is enough and costs no time per call. A class code is typed by hand and so is short: it is hashed like
a password, and its first group says which account it belongs to.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proxy.admin.auth.scopes import ALL
from proxy.admin.roles import ADMIN, Role
from proxy.errors import StoreError
from proxy.pages.desktexts import tr

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
MAX_ACCOUNTS = 1_000
_CODE_LENGTH = 12
CODE_DAYS = 300
"""How long a class code is valid unless the admin says otherwise: about a school year."""
MAX_CODE_DAYS = 3_650
_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_ACCOUNT_NAME = re.compile(r"[^\W_][\w .@-]{0,59}")


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
class Account:
    """A person, or a class whose teachers share a code. `generation` changes with the password.

    `code` is the first group of a class code, which is no secret; "" for an account with a password. After `ends_at`
    nobody logs in with it, None for never.
    """

    name: str
    role: Role
    password: PasswordHash
    generation: str
    made_at: datetime
    code: str = ""
    ends_at: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        return self.ends_at is not None and self.ends_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCredentials:
    """The contents of the file. `generation` changes with the password, which ends all sessions."""

    password: PasswordHash | None = None
    generation: str = ""
    tokens: tuple[ApiToken, ...] = ()
    accounts: tuple[Account, ...] = ()

    def account(self, name: str) -> Account | None:
        """The account of a name, however its letters are written."""
        return next((each for each in self.accounts if each.name.casefold() == name.casefold()), None)

    def account_of_code(self, text: str) -> Account | None:
        """The account that a class code says it belongs to, by its first group; the rest is not looked at."""
        code = _plain_code(text)
        return next(
            (each for each in self.accounts if len(code) == _CODE_LENGTH and each.code == code[:4]), None
        )

    def generation_of(self, name: str, now: datetime) -> str | None:
        """The generation of the admin's password ("" as the name) or of an account; None when there is none now."""
        if not name:
            return self.generation if self.password is not None else None
        account = self.account(name)
        return account.generation if account is not None and not account.is_over(now) else None


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
        return tr("The passwords do not match.")
    if len(password) < MIN_LENGTH:
        return tr("The password needs at least {least} characters.", least=MIN_LENGTH)
    if len(password) > MAX_LENGTH:
        return tr("The password may have at most {most} characters.", most=MAX_LENGTH)
    return "" if len(set(password)) > 3 else tr("This password is too easy to guess.")


class Passwords:
    """The file. Each read checks its modification time, so `linkmend desk password` works while the proxy runs."""

    def __init__(self, path: Path, *, n: int = _N) -> None:
        """`n` is scrypt's cost of new passwords, see `hash_password`."""
        self._path = path
        self._n = n
        self._read_at: tuple[int, int] | None = None
        self._kept = StoredCredentials()
        self._nobody: PasswordHash | None = None

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
        self._write(replace(self.load(), password=fresh, generation=secrets.token_hex(8)))

    def set_first_password(self, password: str) -> bool:
        """False when a password is already set: of two simultaneous requests only one succeeds."""
        fresh = hash_password(password, n=self._n)
        if self.load().password is not None:
            return False
        self._write(replace(self.load(), password=fresh, generation=secrets.token_hex(8)))
        return True

    def verify(self, name: str, password: str, now: datetime) -> Account | None:
        """The account that a name and password, or a class code in place of the password, belong to.

        Slow on purpose, as slow for names that nobody has: call it in a thread.
        """
        kept = self.load()
        found = kept.account(name) if name else kept.account_of_code(password)
        if found is not None and name and found.code:
            found = None  # a class code has no password
        secret = password if name else _plain_code(password)
        is_right = matches(secret, found.password if found else self._nobodys())
        return found if is_right and found is not None and not found.is_over(now) else None

    def set_account(self, name: str, role: Role, password: str) -> None:
        """Create an account, or give an existing one another password and role. Raises StoreError."""
        self._put_account(name, role, password)

    def new_code(self, name: str, *, ends_at: datetime | None = None) -> str:
        """Create a class code for teachers, instead of an older one of the same name; shown only this once."""
        taken = {each.code for each in self.load().accounts}
        code = _new_code()
        while code[:4] in taken:
            code = _new_code()
        self._put_account(name, Role.TEACHER, _plain_code(code), code=code[:4], ends_at=ends_at)
        return code

    def remove_account(self, name: str) -> bool:
        kept = self.load()
        gone = kept.account(name)
        if gone is None:
            return False
        self._write(replace(kept, accounts=tuple(each for each in kept.accounts if each is not gone)))
        return True

    def _put_account(
        self, name: str, role: Role, secret: str, *, code: str = "", ends_at: datetime | None = None
    ) -> None:
        name = " ".join(name.split())
        if not _ACCOUNT_NAME.fullmatch(name) or name.casefold() == ADMIN:
            raise StoreError(
                f"not a name for an account: {name!r} (letters, digits, space, . @ _ -; not {ADMIN!r})"
            )
        fresh = Account(
            name=name,
            role=role,
            password=hash_password(secret, n=self._n),
            generation=secrets.token_hex(8),
            made_at=datetime.now(UTC),
            code=code,
            ends_at=ends_at,
        )
        kept = self.load()
        others = tuple(each for each in kept.accounts if each.name.casefold() != name.casefold())
        if len(others) >= MAX_ACCOUNTS:
            raise StoreError(f"limit of {len(others)} accounts reached; remove one first")
        self._write(replace(kept, accounts=(*others, fresh)))

    def _nobodys(self) -> PasswordHash:
        """A hash that no password has, for names that nobody has: their check takes as long as any other."""
        if self._nobody is None:
            self._nobody = hash_password(secrets.token_hex(16), n=self._n)
        return self._nobody

    def new_token(self, name: str, scopes: Collection[str] = ALL) -> str:
        """Create a token and replace an older one of the same name; it is shown only this once."""
        kept = self.load()
        token = _TOKEN_PREFIX + secrets.token_urlsafe(32)
        others = tuple(each for each in kept.tokens if each.name != name)
        if len(others) >= _MAX_TOKENS:
            raise StoreError(f"limit of {len(others)} tokens reached; remove one first")
        made = ApiToken(name=name, digest=_digest(token), made_at=datetime.now(UTC), scopes=tuple(scopes))
        self._write(replace(kept, tokens=(*others, made)))
        return token

    def remove_token(self, name: str) -> bool:
        kept = self.load()
        left = tuple(each for each in kept.tokens if each.name != name)
        if len(left) == len(kept.tokens):
            return False
        self._write(replace(kept, tokens=left))
        return True

    def find_token(self, token: str) -> ApiToken | None:
        """What is known of a token; None when it is unknown."""
        digest = _digest(token)
        known = [each for each in self.load().tokens if hmac.compare_digest(each.digest, digest)]
        return known[0] if known else None

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


def new_password() -> str:
    """A password to hand out on paper: nearly 100 random bits, in groups that can be typed."""
    letters = _LETTERS.lower()
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


def _new_code() -> str:
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(3))


def _plain_code(text: str) -> str:
    """A class code as people may type it: in small letters, with spaces or without dashes."""
    return re.sub(r"[\s-]", "", text[:MAX_LENGTH]).upper()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
