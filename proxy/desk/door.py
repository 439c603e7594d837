"""How a request that came through the proxy is told from one that came to the desk's own port (pure).

The proxy passes on what is asked of http://linkmend.internal/admin and says for whom, in headers that only count
with a secret made at each start: whoever writes them without it is taken for what they are.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from proxy.portal.helper import PORTAL_HOST

SECRET_HEADER = "Linkmend-Door"  # noqa: S105
CLIENT_HEADER = "Linkmend-Door-Client"
SCHEME_HEADER = "Linkmend-Door-Scheme"
HEADERS = (SECRET_HEADER, CLIENT_HEADER, SCHEME_HEADER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Whom the proxy asks for, and how they reached it."""

    client: str
    secure: bool

    @property
    def origin(self) -> str:
        return f"{'https' if self.secure else 'http'}://{PORTAL_HOST}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The secret that the proxy and the desk share."""

    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def headers_for(self, client: str, *, secure: bool) -> dict[str, str]:
        """What the proxy adds to a request that it passes on."""
        return {
            SECRET_HEADER: self.secret,
            CLIENT_HEADER: client,
            SCHEME_HEADER: "https" if secure else "http",
        }

    def passed(self, headers: Mapping[str, str]) -> Passed | None:
        """Whom the proxy asks for; None for whoever does not come through it."""
        told = headers.get(SECRET_HEADER, "")
        if not hmac.compare_digest(told.encode("utf-8", "replace"), self.secret.encode()):
            return None
        return Passed(client=headers.get(CLIENT_HEADER, ""), secure=headers.get(SCHEME_HEADER) == "https")
