"""What is known about the archived versions of a lost page: a value for pages and for the JSON response (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from proxy.pages.display import clean, link_target
from repair.memento.datetimes import as_timestamp
from repair.memento.model import Memento, MementoCopy, TimeMap
from repair.model import Alternative, BrokenLink
from repair.newversion import Suggestion

_MAX_JSON = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFindings:
    """What is known so far about the archived versions of a lost page.

    `taken` is the copy whose title and keywords are used; `titles` are the titles of the last mementos, "" where
    unknown, and whether the title is meaningless; `held` are the saved pages that suggestions find, by kind;
    `version` and `finished` as in `repair.memento.progress`.
    """

    link: BrokenLink
    found: TimeMap
    best: MementoCopy | None = None
    taken: MementoCopy | None = None
    titles: tuple[tuple[Memento, str, bool], ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    held: Mapping[str, tuple[Alternative, ...]] = field(default_factory=dict)
    version: int = 0
    finished: bool = False
    offline: bool = False


def as_json(findings: ArchiveFindings) -> dict[str, object]:
    """What is known about archived versions, for machines; lists the latest hundred."""
    best = findings.best
    mementos = [each for each in findings.found.mementos if link_target(each.url)]
    return {
        "count": len(mementos),
        "per_year": {str(year): count for year, count in findings.found.per_year().items()},
        "best": {**_as_json(best.memento), "title": clean(title_of(best), 500)}
        if best and link_target(best.memento.url)
        else None,
        "list": [_as_json(each) for each in mementos[-_MAX_JSON:]],
        "archives": {answer.archive: answer.outcome.value for answer in findings.found.answers},
    }


def lighter(findings: ArchiveFindings) -> ArchiveFindings:
    """The findings without what no page shows: bodies and texts of copies, and duplicate mementos."""
    answers = tuple(replace(answer, mementos=()) for answer in findings.found.answers)
    return replace(
        findings,
        found=replace(findings.found, answers=answers),
        best=_lighter(findings.best),
        taken=_lighter(findings.taken),
    )


def _lighter(copy: MementoCopy | None) -> MementoCopy | None:
    if copy is None:
        return None
    document = replace(copy.document, text="", links=()) if copy.document else None
    return replace(copy, page=replace(copy.page, body=b""), document=document)


def key_of(memento: Memento) -> str:
    """The name of a memento in an address: its time and its archive."""
    return f"{as_timestamp(memento.at)}-{memento.archive}"


def _as_json(memento: Memento) -> dict[str, object]:
    return {
        "url": memento.url,
        "datetime": memento.at.isoformat(),
        "archive": memento.archive,
        "status": memento.status,
    }


def title_of(copy: MementoCopy) -> str:
    return copy.document.title if copy.document else ""
