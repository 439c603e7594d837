"""What is known of the archived versions of a lost page: a value for pages to show and machines to read (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from proxy.pages.display import clean, link_target
from repair.memento.datetimes import as_timestamp
from repair.memento.model import Copy, Memento, TimeMap
from repair.model import Alternative, BrokenLink
from repair.newversion import Suggestion

_MAX_JSON = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known of the archived versions of a lost page so far.

    `taken` is the copy of which title and keywords are; `titles` what the last mementos were called, "" where that is
    not known, and whether it says nothing; `held` the held pages that suggestions find, by their kind; `version` and
    `finished` as in `repair.memento.following`.
    """

    link: BrokenLink
    found: TimeMap
    best: Copy | None = None
    taken: Copy | None = None
    titles: tuple[tuple[Memento, str, bool], ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    held: Mapping[str, tuple[Alternative, ...]] = field(default_factory=dict)
    version: int = 0
    finished: bool = False
    offline: bool = False


def as_json(findings: Findings) -> dict[str, object]:
    """What is remembered of archived versions, for machines; the latest hundred are listed."""
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


def lighter(findings: Findings) -> Findings:
    """The findings without what no page shows: bodies and texts of copies, and mementos a second time."""
    answers = tuple(replace(answer, mementos=()) for answer in findings.found.answers)
    return replace(
        findings,
        found=replace(findings.found, answers=answers),
        best=_lighter(findings.best),
        taken=_lighter(findings.taken),
    )


def _lighter(copy: Copy | None) -> Copy | None:
    if copy is None:
        return None
    document = replace(copy.document, text="", links=()) if copy.document else None
    return replace(copy, page=replace(copy.page, body=b""), document=document)


def key_of(memento: Memento) -> str:
    """How an address names a memento: its moment and its archive."""
    return f"{as_timestamp(memento.at)}-{memento.archive}"


def _as_json(memento: Memento) -> dict[str, object]:
    return {
        "url": memento.url,
        "datetime": memento.at.isoformat(),
        "archive": memento.archive,
        "status": memento.status,
    }


def title_of(copy: Copy) -> str:
    return copy.document.title if copy.document else ""
