"""Lessons, their links, and what became of each link."""

from enum import StrEnum

from msgspec import Struct

from repair.model import MissKind
from repair.parse.formats.worksheets.model import WorksheetFormat


class CheckState(StrEnum):
    """What the class will see."""

    WAITING = "waiting"
    WORKS = "works"
    REDIRECTED = "redirected"
    DEAD = "dead"
    SOFT_404 = "soft_404"
    BLOCKED = "blocked"
    LOGIN = "login"
    TROUBLE = "trouble"
    """No proper answer now; later there may be one."""
    FORBIDDEN = "forbidden"
    """Nobody reaches this address through linkmend."""
    UNKNOWN = "unknown"
    """There is no internet connection: nothing is known."""


BROKEN = frozenset({CheckState.DEAD, CheckState.SOFT_404, CheckState.TROUBLE})
"""States for which replacements are looked for."""


class Replacement(Struct, kw_only=True, frozen=True):
    """A page that may stand in for a dead one; `reasons` are codes that the repair page puts in words."""

    url: str
    title: str
    reasons: tuple[str, ...] = ()
    confidence: float = 0.0


class LinkFinding(Struct, kw_only=True, frozen=True):
    """What was found out about an address."""

    state: CheckState
    kind: MissKind | None = None
    status: int = 0
    final_url: str = ""
    size: int = 0
    """Bytes of the page; 0 when unknown. With `larger`, there are more."""
    larger: bool = False
    rule: str = ""
    """The rule that blocks it."""
    detail: str = ""


class LessonLink(Struct, kw_only=True, frozen=True):
    """One link of a lesson. `written` is the address as the document has it, `url` as it is requested."""

    number: int
    written: str
    url: str
    anchor: str = ""
    before: str = ""
    after: str = ""
    found: LinkFinding = LinkFinding(state=CheckState.WAITING)
    held_on: str = ""
    """The day on which the saved copy was fetched; "" without one."""
    replacements: tuple[Replacement, ...] = ()
    taken: str = ""
    """The address that the teacher chose instead."""
    wish: str = ""
    """When it is fetched for offline use: now or night; "" for not asked."""
    asked: bool = False
    """Whether the admin was asked to unblock it."""
    fix: int = 0
    """The number of the proposal to replace it for everybody; 0 for none."""

    @property
    def target(self) -> str:
        """Where the lesson page leads."""
        return self.taken or self.url


class Lesson(Struct, kw_only=True, frozen=True):
    """A checked worksheet, or a page of the owner's whose links are checked every night. `code` is its short
    address, "" until it is published; `page` the address of that page, `fault` why it could not be opened last."""

    id: int
    owner: str
    title: str
    format: WorksheetFormat
    file_name: str
    made_at: float
    code: str = ""
    page: str = ""
    checked_at: float = 0.0
    fault: str = ""


class ProposalState(StrEnum):
    """What became of a proposal."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class Proposal(Struct, kw_only=True, frozen=True):
    """A teacher wants `target` offered first to everybody who misses `url`. `before` was pinned until then,
    and comes back when that is undone."""

    id: int
    url: str
    target: str
    by: str
    at: float
    state: ProposalState = ProposalState.WAITING
    decided_by: str = ""
    before: str = ""


class PupilSuggestion(Struct, kw_only=True, frozen=True):
    """What a pupil looked for at a dead link, in their words. Nothing says who it was."""

    id: int
    url: str
    words: str
    day: str


class UnblockRequest(Struct, kw_only=True, frozen=True):
    """A teacher asks the admin to unblock an address."""

    id: int
    url: str
    rule: str
    by: str
    asked_at: float
