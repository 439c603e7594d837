"""What a program's token opens: which scope each call needs (pure).

A token opens what is listed here and nothing else. Making and removing tokens, passwords and sessions are not listed:
for those an admin has to log in with the password. A call that is added later is closed to tokens until it is listed.
"""

from collections.abc import Collection
from enum import StrEnum


class Scope(StrEnum):
    """What a token may be made for."""

    READ = "read"
    REVIEW = "review"
    FETCH = "fetch"
    RULES = "rules"
    REMOVE = "remove"


ABOUT = {
    Scope.READ: "read all that the desk shows",
    Scope.REVIEW: "choose alternatives for missed pages, and mark them",
    Scope.FETCH: "have pages fetched",
    Scope.RULES: "change rules",
    Scope.REMOVE: "remove pages from the collection, and misses from the log",
}
ALL: tuple[str, ...] = tuple(Scope)

_API = "/admin/api/"
_ACCESS = "/admin/access"
# By the first parts of what follows /admin/api/, the longest first.
_CHANGES: tuple[tuple[str, Scope], ...] = (
    ("misses/erase", Scope.REMOVE),
    ("misses/redirects", Scope.RULES),
    ("misses", Scope.REVIEW),
    ("fetches", Scope.FETCH),
    ("rules", Scope.RULES),
    ("collection/page", Scope.REMOVE),
)


def scope_of(method: str, path: str) -> Scope | None:
    """The scope that a token needs for a method of an address, as it was declared; None where no token will do."""
    if path.startswith(_ACCESS):
        return None
    if method in ("GET", "HEAD"):
        return Scope.READ
    if not path.startswith(_API):
        return None
    rest = path.removeprefix(_API)
    return next((scope for start, scope in _CHANGES if rest == start or rest.startswith(start + "/")), None)


def refusal(method: str, path: str, scopes: Collection[str]) -> str:
    """Why a token with these scopes is not let through; "" when it is."""
    needed = scope_of(method, path)
    if needed is None:
        return "no token opens this: log in with the password"
    return "" if needed in scopes else f"the token has no scope {needed!s}"
