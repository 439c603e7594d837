"""The login sessions: random tokens, of which memory keeps only hashes. A restart logs everybody out."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from proxy.admin.roles import Role
from proxy.pages.desktexts import DeskText
from repair.bounded import BoundedDict

_AT_MOST = 200
_NOTICE_LENGTH = 500


@dataclass(slots=True, kw_only=True)
class AdminSession:
    """One browser that is logged in. `csrf` is the token in its forms; `generation` that of the password it logged in
    with. `account` is "" for the admin's own password.
    """

    ends_at: float
    generation: str
    client: str
    secure: bool
    account: str = ""
    role: Role = Role.ADMIN
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _notice: str = ""

    def leave_notice(self, text: str) -> None:
        """Show this on top of the next page."""
        self._notice = text if isinstance(text, DeskText) else text[:_NOTICE_LENGTH]

    def take_notice(self) -> str:
        notice, self._notice = self._notice, ""
        return notice


class Sessions:
    """At most so many sessions; the oldest is dropped. Times are those of a monotonic clock, passed by the caller."""

    def __init__(self) -> None:
        self._by_hash = BoundedDict[bytes, AdminSession](_AT_MOST)

    def begin(self, session: AdminSession) -> str:
        """Start a session and return its token, for the browser's cookie."""
        token = secrets.token_urlsafe(32)
        self._by_hash[_hash(token)] = session
        return token

    def find(
        self, token: str, *, generation_of: Callable[[str], str | None], secure: bool, now: float
    ) -> AdminSession | None:
        """The session of a cookie; None when it has ended, is of an older password or a removed account, or was begun
        on https and comes over http.
        """
        key = _hash(token)
        session = self._by_hash.get(key)
        if session is None:
            return None
        if session.ends_at <= now or session.generation != generation_of(session.account):
            del self._by_hash[key]
            return None
        return session if secure or not session.secure else None

    def end(self, token: str) -> None:
        self._by_hash.pop(_hash(token), None)

    def end_all(self) -> None:
        self._by_hash.clear()

    def knows(self, client: str) -> bool:
        """Whether somebody is logged in at this address."""
        return any(session.client == client for session in self._by_hash.values())


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
