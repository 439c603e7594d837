"""The scopes of API tokens: which scope each call needs (pure).

A token allows what is listed here and nothing else. Creating and removing tokens, passwords and sessions are not
listed: they need a login with the password. A new call is closed to tokens until it is listed.
"""

from collections.abc import Collection
from enum import StrEnum

from proxy.pages.desktexts import tr


class TokenScope(StrEnum):
    """What a token may be created for."""

    READ = "read"
    REVIEW = "review"
    FETCH = "fetch"
    RULES = "rules"
    REMOVE = "remove"


ABOUT = {
    TokenScope.READ: tr("read everything on the desk"),
    TokenScope.REVIEW: tr("pin pages for dead links, and mark them"),
    TokenScope.FETCH: tr("fetch pages, and change topics"),
    TokenScope.RULES: tr("change rules"),
    TokenScope.REMOVE: tr("remove pages and log entries"),
}
ALL: tuple[str, ...] = tuple(TokenScope)

_API = "/admin/api/"
_FOR_PEOPLE = ("/admin/access", "/admin/users", "/admin/audit", "/teach")
# By the beginning of what follows /admin/api/, the longest first.
_CHANGES: tuple[tuple[str, TokenScope], ...] = (
    ("misses/erase", TokenScope.REMOVE),
    ("misses/redirects", TokenScope.RULES),
    ("misses", TokenScope.REVIEW),
    ("fetches", TokenScope.FETCH),
    ("topics", TokenScope.FETCH),
    ("rules", TokenScope.RULES),
    ("collection/page", TokenScope.REMOVE),
)


def scope_of(method: str, path: str) -> TokenScope | None:
    """The scope that a token needs for a method of a declared path; None where no token is accepted."""
    if path.startswith(_FOR_PEOPLE):
        return None
    if method in ("GET", "HEAD"):
        return TokenScope.READ
    if not path.startswith(_API):
        return None
    rest = path.removeprefix(_API)
    return next((scope for start, scope in _CHANGES if rest == start or rest.startswith(start + "/")), None)


def refusal(method: str, path: str, scopes: Collection[str]) -> str:
    """Why a token with these scopes is refused; "" when it is accepted."""
    needed = scope_of(method, path)
    if needed is None:
        return tr("tokens can't open this page: log in with the password")
    return "" if needed in scopes else tr("the token lacks the scope {scope}", scope=str(needed))
