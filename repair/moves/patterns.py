"""URLs as patterns: what is fixed in them, what varies, and every rewriting that turns one URL into another.

A URL is its host and parts. Leading parts, the head, are compared with a pattern; the tail below it is kept, its last
part rewritten. A part of a pattern is literal or a variable, which stands for one part of its kind: a year, another
number, a language, or anything. `{parts}` stands for any number of parts above the page's own name:

    /{year}/{number}/*                ->  /news/*             dates dropped
    /blog/{any}/*                     ->  /posts/*            a category dropped
    /{language}/docs/Elemento/*       ->  /{language}/docs/Reference/Elements/*
    /rest/reference/*                 ->  /rest/*/*           the name repeated

A URL has several readings: as it is; a date before the slug as parts of its own (`2018-10-11-rain`); names joined by
a sign as parts (`window.open`); without its query or a literal last part (`rain/index.html`). The new URL, too, may
have a date before its slug, or a literal part below its name. A URL has a bounded number of readings, patterns and
explanations, whatever it looks like.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from repair.moves.rewriting import STYLES, PartRewrite, change_between
from repair.text import urls
from repair.text.urlstructure import normalise_part

YEAR, NUMBER, LANGUAGE, ANY, PARTS = "{year}", "{number}", "{language}", "{any}", "{parts}"
"""Variables; no part in normal form has a brace."""
UNBOUND = frozenset({ANY, PARTS})
"""Variables that stand for more than one kind of part."""
_SAME_DIRECTORY = 0.6  # of the longer name's letters: "Element" may have become "Elements"
_TELLING_NAME = 12  # letters of a name that few pages of a site have
_MAX_PARTS = 24
_MAX_VARIED = 8  # leading parts that may be variables
_COPIED_STYLES = ("", "initial", "lower", "lower-", "lower_")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_](?:[A-Za-z]{2}|Han[st]|[0-9]{3}))?")
_DATED = re.compile(r"((?:19|20)[0-9]{2})([-_.]?)(0[1-9]|1[0-2])\2([0-3][0-9])([-_.])(?=[^0-9])(.+)")
_SUFFIX = re.compile(rf"(?i)\.(?:[xs]?html?|php[0-9]?|aspx?|jspx?|cgi|cfm|md|{urls.FILE_SUFFIXES})/?\Z")
_NAMES = re.compile(r"(?<=[\w)])[.:](?=[\w@])")
_MAX_NAMES = 4

Pattern: TypeAlias = "tuple[str, ...]"


class UrlPlace(NamedTuple):
    """A URL as a host and parts; a trailing slash belongs to the last part, the query is a part of its own."""

    origin: str
    host: str
    parts: tuple[str, ...]


class Scope(NamedTuple):
    """URLs of a host that, read in one way, begin with a pattern."""

    host: str
    reading: str
    head: Pattern


class CopiedPart(NamedTuple):
    """A part of the new URL that is one of the old, by its place in the old URL, restyled."""

    at: int
    style: str


class MoveRule(NamedTuple):
    """URLs within `scope` are now under `new_head` of `new_origin`, the last part changed.

    `date_joint` joins the last three parts of the new head to the slug; `below` is a literal part below it.
    """

    scope: Scope
    new_origin: str
    new_head: tuple[str | CopiedPart, ...]
    change: PartRewrite
    date_joint: str = ""
    below: str = ""

    def apply(self, parts: tuple[str, ...], size: int) -> str | None:
        """The new URL of one whose first `size` parts match the scope; None when the rest does not."""
        if len(parts) == size:
            # The directory itself moves with the pages under it, if the new one has a similar name.
            new = self._moved_directory()
        else:
            last = self.change.apply(parts[-1])
            if last is None or (self.relies_on_name() and len(normalise_part(parts[-1])) < _TELLING_NAME):
                return None
            head = [part if isinstance(part, str) else _copy(parts, part) for part in self.new_head]
            if self.date_joint:
                last = self.date_joint.join((*head[-3:], last))
                del head[-3:]
            new = (*head, *map(self.change.restyle, parts[size:-1]), last, *filter(None, [self.below]))
        return f"{self.new_origin}/" + "/".join(new).replace("/?", "?") if new else None

    def varies(self) -> bool:
        """Whether anything but a literal head and the name of the page is involved."""
        copies = any(isinstance(part, CopiedPart) for part in self.new_head)
        return bool(self.scope.reading or self.below or copies or any(map(is_variable, self.scope.head)))

    def relies_on_name(self) -> bool:
        """Whether only the name of the page says where it is now: what varies above it is dropped."""
        copied = {part.at for part in self.new_head if isinstance(part, CopiedPart)}
        return any(part in UNBOUND and at not in copied for at, part in enumerate(self.scope.head))

    def _moved_directory(self) -> tuple[str, ...]:
        literal = tuple(part for part in self.new_head if isinstance(part, str))
        head = self.scope.head
        if self.change != PartRewrite() or self.varies() or len(literal) < len(self.new_head):
            return ()
        old, new = (normalise_part(parts[-1]) if parts else "" for parts in (head, literal))
        short, long = sorted((old, new), key=len)
        keeps = bool(short) and short in long and len(short) >= _SAME_DIRECTORY * len(long)
        return literal if keeps else ()


class _DatedSlug(NamedTuple):
    """Year, month, day and slug, and the sign between all of them; "" when it is not always the same."""

    joint: str
    parts: tuple[str, ...]


def is_variable(part: str) -> bool:
    """Whether a part of a pattern stands for others."""
    return part.startswith("{")


def place_of(url: str) -> UrlPlace | None:
    """A URL taken apart; None when it is no web URL or too deep."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return None
    pieces = [piece for piece in parts.path.split("/") if piece]
    if pieces and parts.path.endswith("/"):
        pieces[-1] += "/"
    if parts.query:
        pieces.append(f"?{parts.query}")
    if len(pieces) > _MAX_PARTS:
        return None
    return UrlPlace(f"{parts.scheme}://{parts.authority}", parts.authority, tuple(pieces))


def language_part(url: str) -> str:
    """The first directory of a URL that names a language; "" when none does."""
    place = place_of(url)
    return next(filter(_LANGUAGE.fullmatch, place.parts[:-1] if place else ()), "")


def readings(parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The ways to read a URL's parts, each with its name."""
    yield "", parts
    if not parts:
        return
    *head, last = parts
    if dated := _split_date(last):
        yield "date", (*head, *dated.parts)
    elif not last.startswith("?") and not _SUFFIX.search(last):
        names = _NAMES.split(last)
        if 1 < len(names) <= _MAX_NAMES and len(head) + len(names) <= _MAX_PARTS:
            yield "names", (*head, *names)
    if head:
        yield "query" if last.startswith("?") else f"/{last}", tuple(head)


def scopes(host: str, reading: str, parts: tuple[str, ...]) -> Iterator[tuple[Scope, int]]:
    """The patterns that a URL's head matches, the longest head first, and how many parts each of them covers."""
    for size in range(len(parts), -1, -1):
        for head in _patterns(parts[:size]):
            yield Scope(host, reading, head), size
    for size in range(min(len(parts), _MAX_VARIED + 1) - 2, -1, -1):
        yield Scope(host, reading, (*parts[:size], PARTS)), len(parts) - 1


def explanations(old: UrlPlace, new: UrlPlace) -> Iterator[MoveRule]:
    """Every rewriting that turns one URL into the other, the narrowest scope first."""
    for reading, parts in readings(old.parts):
        for date_joint, new_parts, below in _new_readings(new.parts):
            if parts and new_parts and not (reading and (date_joint or below)):
                yield from _explain(old.host, reading, parts, new, new_parts, date_joint, below)


def _explain(
    host: str,
    reading: str,
    parts: tuple[str, ...],
    new: UrlPlace,
    new_parts: tuple[str, ...],
    date_joint: str,
    below: str,
) -> Iterator[MoveRule]:
    change = change_between(parts[-1], new_parts[-1])
    if change is None or ((below or reading[:1] == "/") and not change.keeps_name()):
        return
    copies = _copies(parts, new_parts)
    least = 4 if date_joint else 1  # parts of the new URL that are the date and the slug
    for kept in range(1, min(len(parts), len(new_parts) - least + 1) + 1):
        if kept > 1 and (date_joint or change.restyle(parts[-kept]) != new_parts[-kept]):
            return
        size = len(parts) - kept
        heads = [*_patterns(parts[:size])]
        if kept == 1:
            heads += [(*parts[:fixed], PARTS) for fixed in range(min(size, _MAX_VARIED) - 1, -1, -1)]
        for head in heads:
            variable = {at for at, part in enumerate(head) if is_variable(part) and part != PARTS} | {-1}
            new_head = tuple(
                next((copy for copy in copies[at] if copy.at in variable), part)
                for at, part in enumerate(new_parts[: len(new_parts) - kept])
            )
            rule = MoveRule(Scope(host, reading, head), new.origin, new_head, change, date_joint, below)
            if rule.apply(parts, size) is not None:
                yield rule


def _patterns(head: tuple[str, ...]) -> Iterator[Pattern]:
    """A head as it is; with its dates, numbers and languages as variables; and with one more part as a variable."""
    yield head
    if len(head) > _MAX_VARIED:
        return
    kinds = [_kind(part) for part in head]
    typed = tuple(part if kind == ANY else kind for part, kind in zip(head, kinds, strict=True))
    if typed != head:
        yield typed
    for at, kind in enumerate(kinds):
        if kind == ANY:
            yield (*typed[:at], ANY, *typed[at + 1 :])


def _kind(part: str) -> str:
    if part.isdigit():
        return YEAR if _YEAR.fullmatch(part) else NUMBER
    return LANGUAGE if _LANGUAGE.fullmatch(part) else ANY


def _new_readings(parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The ways to read a new URL: what joins a date to its slug, the parts, a literal part below its name."""
    yield "", parts, ""
    if parts and (dated := _split_date(parts[-1])) and dated.joint:
        yield dated.joint, (*parts[:-1], *dated.parts), ""
    elif len(parts) > 1:
        yield "", parts[:-1], parts[-1]


def _split_date(part: str) -> _DatedSlug | None:
    found = _DATED.fullmatch(part)
    if found is None:
        return None
    return _DatedSlug(found[2] if found[2] == found[5] else "", (found[1], found[3], found[4], found[6]))


def _copies(parts: tuple[str, ...], new_parts: tuple[str, ...]) -> list[list[CopiedPart]]:
    """For each part of the new URL, the parts of the old that it may be a copy of."""
    styled: dict[str, list[CopiedPart]] = {}
    for at in (*range(min(len(parts) - 1, _MAX_VARIED)), -1):
        for style in _COPIED_STYLES:
            part = _copy(parts, CopiedPart(at, style))
            known = styled.setdefault(part, [])
            if all(copy.at != at for copy in known):
                known.append(CopiedPart(at, style))
    return [styled.get(part, []) for part in new_parts]


def _copy(parts: tuple[str, ...], copied: CopiedPart) -> str:
    part = parts[copied.at]
    return STYLES[copied.style](_SUFFIX.sub("", part).rstrip("/") if copied.at < 0 else part)
