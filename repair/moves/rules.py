"""Site moves, learnt from known pairs old -> new: how a site rewrote its URLs, applied to one that is missing.

As in FABLE, no page is fetched: a site that moved `/css/*` to `/reference/css/*`, or `show.php?id=7` to
`articles/7`, did so for many pages at once. For each known pair every rewriting that explains it is recorded,
from the narrowest scope (its own directory) to the widest (the whole host):

    host + head directories + tail   ->   new host + new head directories + tail, its last part rewritten

The last part may lose and gain prefixes and suffixes (file suffixes, slashes, query keys around an id) and change
its separators and case. A rewriting is trusted by how many pairs it explains against how many it gets wrong, and
its answer only counts when that page is saved. One that leads to another site needs pairs from two places within
its scope: on a shared host, one author could otherwise send the pages of all others to a site of theirs. There is
no answer when nothing trusted answers, or two answers are about as good.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from repair.knowntargets import KnownTarget, TargetKind
from repair.moves.rewriting import PartRewrite, change_between
from repair.text import urls
from repair.text.urlstructure import normalise_part

TRUSTED = 0.6
"""The least confidence of an answer."""
_AMBIGUOUS = 0.9  # a second answer this close to the best makes both doubtful
# Pseudo-counts of wrong answers: one pair suffices where pages keep their names, else two.
_PSEUDO_WRONG = 0.5
_PSEUDO_WRONG_RENAMING = 1.0
_PLACES_TO_LEAVE_SITE = 2  # pages or directories directly below a scope that moved to the same other site
_SAME_DIRECTORY = 0.6  # of the longer name's letters: "Element" may have become "Elements"
_MAX_PARTS = 24
_MAX_PAIRS = 20_000  # of one site; the first ones
_MAX_RULES_AT = 100  # rewritings of one scope, the best supported
_LEVELS_UP = 3  # a page's own directory and two above it
_MAX_DIRECTORIES = 8
_PSEUDO_PAGES = 1.0  # pseudo-count of pages that did not move

Scope: TypeAlias = "tuple[str, tuple[str, ...]]"
"""A host and leading parts of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A page known to have moved; `origin` says how we know: redirect, canonical, repair, duplicate."""

    old: str
    new: str
    origin: str = "redirect"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveGuess:
    """The new URL of a missing page; `support` is how many known pairs were rewritten in the same way."""

    url: str
    confidence: float
    support: int


class UrlPlace(NamedTuple):
    """A URL as a host and parts; a trailing slash belongs to the last part, the query is a part of its own."""

    origin: str
    host: str
    parts: tuple[str, ...]


class MoveRule(NamedTuple):
    """URLs of `host` under `head` are now under `new_head` of `new_origin`, the last part changed."""

    host: str
    head: tuple[str, ...]
    new_origin: str
    new_head: tuple[str, ...]
    change: PartRewrite

    def apply(self, place: UrlPlace) -> str | None:
        """The new URL; None when the URL is out of scope or does not change."""
        tail = place.parts[len(self.head) :]
        if place.host != self.host or place.parts[: len(self.head)] != self.head:
            return None
        if not tail:
            # The directory itself moves with the pages under it, if the new one has a similar name.
            parts = self.new_head if self.change == PartRewrite() and self._keeps_directory() else ()
        else:
            last = self.change.apply(tail[-1])
            parts = (*self.new_head, *map(self.change.restyle, tail[:-1]), last) if last else ()
        if not parts or (self.new_origin.endswith(f"//{place.host}") and parts == place.parts):
            return None
        return self.new_origin + "/" + "/".join(parts).replace("/?", "?")

    def confidence(self, tally: "MoveTally") -> float:
        """The expected share of right answers."""
        before = _PSEUDO_WRONG if self.change.keeps_name() else _PSEUDO_WRONG_RENAMING
        return tally.right / (tally.right + tally.wrong + before)

    def _keeps_directory(self) -> bool:
        old, new = (normalise_part(head[-1]) if head else "" for head in (self.head, self.new_head))
        short, long = sorted((old, new), key=len)
        return bool(short) and short in long and len(short) >= _SAME_DIRECTORY * len(long)


class MoveTally(NamedTuple):
    """How often a rewriting led to the right page, and to another saved page."""

    right: int
    wrong: int


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


def explanations(old: UrlPlace, new: UrlPlace) -> Iterator[MoveRule]:
    """Every rewriting that turns one URL into the other, the narrowest scope first."""
    if not old.parts or not new.parts:
        return
    change = change_between(old.parts[-1], new.parts[-1])
    if change is None:
        return
    for kept in range(1, min(len(old.parts), len(new.parts)) + 1):
        if kept > 1 and change.restyle(old.parts[-kept]) != new.parts[-kept]:
            return
        rule = MoveRule(old.host, old.parts[:-kept], new.origin, new.parts[:-kept], change)
        if rule.host != new.host or rule.head != rule.new_head or change != PartRewrite():
            yield rule


class LearntMoves:
    """The rewritings of one or more sites."""

    def __init__(
        self,
        rules: Iterable[tuple[MoveRule, MoveTally]] = (),
        directories: Mapping[Scope, Counter[str]] | None = None,
    ) -> None:
        self._rules: dict[Scope, list[tuple[MoveRule, MoveTally]]] = defaultdict(list)
        self._directories = directories or {}
        for rule, tally in rules:
            self._rules[rule.host, rule.head].append((rule, tally))

    @classmethod
    def learn(cls, moves: Iterable[Move], holds: Callable[[str], bool]) -> "LearntMoves":
        """The rewritings that explain known moves, each tested on all of them; `holds` says which pages are saved."""
        pairs = [pair for pair in map(_places, moves) if pair is not None][:_MAX_PAIRS]
        support = Counter(rule for old, _, new in pairs for rule in explanations(old, new))
        at: dict[Scope, list[MoveRule]] = defaultdict(list)
        for rule, _ in support.most_common():
            if len(at[rule.host, rule.head]) < _MAX_RULES_AT:
                at[rule.host, rule.head].append(rule)
        right, wrong = Counter[MoveRule](), Counter[MoveRule]()
        left: dict[MoveRule, set[str]] = defaultdict(set)
        for old, answer, _ in pairs:
            for rule in (rule for scope in _scopes(old) for rule in at.get(scope, ())):
                url = rule.apply(old)
                if url == answer:
                    right[rule] += 1
                    left[rule].add(_first_below(old, rule.head))
                elif url is not None and holds(url):  # pages that are not saved are never answers
                    wrong[rule] += 1
        trusted = (
            rule for rule in right if len(left[rule]) >= _PLACES_TO_LEAVE_SITE or not _leads_elsewhere(rule)
        )
        return cls(((rule, MoveTally(right[rule], wrong[rule])) for rule in trusted), _directories(pairs))

    def guesses(self, url: str, holds: Callable[[str], bool]) -> tuple[MoveGuess, ...]:
        """Saved pages that rewriting leads to, each once, the most trusted first."""
        place = place_of(url)
        best: dict[str, MoveGuess] = {}
        for scope in _scopes(place) if place else ():
            for rule, tally in self._rules.get(scope, ()):
                new = rule.apply(place) if place else None
                if new is None or new == url:
                    continue
                known = best.get(new)
                if known is None and not holds(new):
                    continue
                confidence = rule.confidence(tally)
                if known is None or known.confidence < confidence:
                    best[new] = MoveGuess(url=new, confidence=confidence, support=tally.right)
        return tuple(sorted(best.values(), key=lambda guess: (-guess.confidence, guess.url)))

    def known_targets(self, url: str, holds: Callable[[str], bool]) -> tuple[KnownTarget, ...]:
        """The same as known targets, for ranking among other evidence."""
        return tuple(
            KnownTarget(
                url=guess.url, kind=TargetKind.MOVE, confidence=guess.confidence, support=guess.support
            )
            for guess in self.guesses(url, holds)
        )

    def answer(self, url: str, holds: Callable[[str], bool]) -> MoveGuess | None:
        """The new URL of a missing page; None when that is not sure enough."""
        guesses = self.guesses(url, holds)
        if not guesses or guesses[0].confidence < TRUSTED:
            return None
        if len(guesses) > 1 and guesses[1].confidence >= guesses[0].confidence * _AMBIGUOUS:
            return None
        return guesses[0]

    def directories(self, url: str) -> dict[str, float]:
        """Directories to which pages of the missing page's directory moved, with their shares.

        If none did, those of the nearest directory above it: where to look when no rewriting answers.
        """
        place = place_of(url)
        scopes = itertools.islice(_scopes(place), 1, 1 + _LEVELS_UP) if place else ()
        went = next((found for scope in scopes if (found := self._directories.get(scope))), Counter[str]())
        total = went.total() + _PSEUDO_PAGES
        return {directory: count / total for directory, count in went.most_common(_MAX_DIRECTORIES)}

    def rules(self) -> Iterator[tuple[MoveRule, MoveTally]]:
        """The learnt rewritings, in no order."""
        for found in self._rules.values():
            yield from found


def _leads_elsewhere(rule: MoveRule) -> bool:
    """Whether a rewriting leads to another site."""
    return urls.site(f"http://{rule.host}/") != urls.site(f"{rule.new_origin}/")


def _first_below(place: UrlPlace, head: tuple[str, ...]) -> str:
    """The part directly below a scope; all queries of one page are one place."""
    below = place.parts[len(head)].rstrip("/") if len(place.parts) > len(head) else ""
    return "?" if below.startswith("?") else below


def _places(move: Move) -> tuple[UrlPlace, str, UrlPlace] | None:
    old, new = place_of(move.old), place_of(move.new)
    if old is None or new is None or (old.host, old.parts) == (new.host, new.parts):
        return None
    return old, urls.normal(move.new), new


def _directories(pairs: Iterable[tuple[UrlPlace, str, UrlPlace]]) -> dict[Scope, Counter[str]]:
    """By directory left, and by those above it, how many pages moved to which directory."""
    found: dict[Scope, Counter[str]] = defaultdict(Counter)
    for old, answer, _ in pairs:
        for scope in itertools.islice(_scopes(old), 1, 1 + _LEVELS_UP):
            found[scope][urls.directory(answer)] += 1
    return dict(found)


def _scopes(place: UrlPlace) -> Iterator[Scope]:
    """Host and leading directories, the narrowest first; the URL itself may be a directory that moved."""
    for length in range(len(place.parts), -1, -1):
        yield place.host, place.parts[:length]
