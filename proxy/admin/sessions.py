"""Who is logged in: random tokens, of which only hashes are kept, in memory. A restart logs everybody out."""

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

_AT_MOST = 200
_NOTICE_LENGTH = 500


@dataclass(slots=True, kw_only=True)
class Session:
    """One browser of the admin. `csrf` is what its forms carry; `generation` that of the password it came with."""

    ends_at: float
    generation: str
    client: str
    secure: bool
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _notice: str = ""

    def leave_notice(self, text: str) -> None:
        """What the next page says on top."""
        self._notice = text[:_NOTICE_LENGTH]

    def take_notice(self) -> str:
        notice, self._notice = self._notice, ""
        return notice


class Sessions:
    """At most so many sessions; the oldest goes. Times are those of a steady clock, given by the caller."""

    def __init__(self) -> None:
        self._by_hash: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, session: Session) -> str:
        """The token of a new session, for the browser's cookie."""
        token = secrets.token_urlsafe(32)
        self._by_hash[_hash(token)] = session
        while len(self._by_hash) > _AT_MOST:
            self._by_hash.popitem(last=False)
        return token

    def find(self, token: str, *, generation: str, secure: bool, now: float) -> Session | None:
        """The session of a cookie; None when it is over, of an older password, or of https and shown on http."""
        key = _hash(token)
        session = self._by_hash.get(key)
        if session is None:
            return None
        if session.ends_at <= now or session.generation != generation:
            del self._by_hash[key]
            return None
        return session if secure or not session.secure else None

    def end(self, token: str) -> None:
        self._by_hash.pop(_hash(token), None)

    def end_all(self) -> None:
        self._by_hash.clear()

    def knows(self, client: str) -> bool:
        """Whether an admin is logged in at this address."""
        return any(session.client == client for session in self._by_hash.values())


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
