"""The roles of people, and what each may do (pure).

An admin may do everything. A reviewer looks after dead links and the fetch queue. A teacher has the pages below
/teach and nothing else: no log, no figure and no list in which a pupil's reading shows. What changes something is for
admins until it is listed here.
"""

from enum import StrEnum

from proxy.pages.desktexts import tr


class Role(StrEnum):
    """What somebody may do who has logged in."""

    ADMIN = "admin"
    REVIEWER = "reviewer"
    TEACHER = "teacher"


ABOUT_ROLES = {
    Role.ADMIN: tr("everything, accounts and rules included"),
    Role.REVIEWER: tr("dead links, the fetch queue, and reading the rest of the desk"),
    Role.TEACHER: tr("lesson checks; nothing of what pupils read"),
}
ADMIN = "admin"
"""The name of who has the desk's own password; no account may have it."""
TEACH = "/teach"
_LOGOUT = "/admin/logout"
_ADMIN_ONLY = (
    "/admin/access",
    "/admin/users",
    "/admin/audit",
    "/admin/requests",
    "/admin/setup",
    "/admin/district",
)
_REVIEWS = (
    "pin",
    "unpin",
    "ignore",
    "heed",
    "wrong",
    "right",
    "fetch",
    "forget-choice",
    "several",
    "filters",
)
_REVIEW_CHANGES = (
    *(f"/admin/misses/{name}" for name in _REVIEWS),
    *(f"/admin/api/misses/{name}" for name in ("pins", "choices", "marks")),
    "/admin/fetch",
    "/admin/api/fetches",
    "/admin/proposals",
    "/admin/suggestions",
)


def may(role: Role, method: str, path: str) -> bool:
    """Whether a role allows a method of a declared path, such as `/admin/api/fetches/{id}`."""
    if role is Role.ADMIN or _is_below(path, TEACH) or path == _LOGOUT:
        return True
    if role is Role.TEACHER or _is_below(path, *_ADMIN_ONLY):
        return False
    if method in ("GET", "HEAD"):
        return True
    return _is_below(path, *_REVIEW_CHANGES)


def home_of(role: Role) -> str:
    """Where a person of this role begins."""
    return TEACH if role is Role.TEACHER else "/admin"


def _is_below(path: str, *starts: str) -> bool:
    return any(path == start or path.startswith(start + "/") for start in starts)
