"""Site moves, learnt from known pairs old -> new: how a site rewrote its URLs, applied to one that is missing.

As in FABLE, no page is fetched: a site that moved `/css/*` to `/reference/css/*`, or `show.php?id=7` to
`articles/7`, did so for many pages at once. For each known pair every rewriting that explains it is recorded
(`repair.moves.patterns`), from the narrowest scope (its own directory) to the widest (the whole host), with literal
directories and with variables in their place. A rewriting with variables needs two pairs, in which they differ.

A rewriting is trusted by how many pairs it explains against how many it gets wrong, and its answer only counts when
that page is saved. One that leads to another site needs pairs from two places within its scope: on a shared host,
one author could otherwise send the pages of all others to a site of theirs. There is no answer when nothing
trusted answers, or two answers are about as good.

Pairs come from strangers: rewritings are tried on pairs, and on a missing URL, a limited number of times.
"""

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from repair.knowntargets import KnownTarget, TargetKind
from repair.moves.patterns import (
    LANGUAGE,
    UNBOUND,
    CopiedPart,
    MoveRule,
    Scope,
    UrlPlace,
    explanations,
    is_variable,
    place_of,
    readings,
    scopes,
)
from repair.text import urls

T = TypeVar("T")

TRUSTED = 0.6
"""The least confidence of an answer."""
_AMBIGUOUS = 0.9  # a second answer this close to the best makes both doubtful
# Pseudo-counts of wrong answers: one pair suffices where pages keep their names and nothing varies, else two;
# three where a page is said to be in the one above it.
_PSEUDO_WRONG = 0.5
_PSEUDO_WRONG_RENAMING = 1.0
_PSEUDO_WRONG_ABOVE = 1.5
_PLACES_TO_LEAVE_SITE = 2  # pages or directories directly below a scope that moved to the same other site
_MAX_PAIRS = 20_000  # of one site; the first ones
_MAX_RULES_AT = 40  # rewritings of one scope, the best supported
_MAX_TRIALS = 200_000  # of rewritings on known pairs: a second or two
_MAX_TRIED = 1_000  # rewritings tried on one missing URL
_MAX_LOOKED_UP = 100  # URLs that they give and that are looked up
_LEVELS_UP = 3  # a page's own directory and two above it
_MAX_DIRECTORIES = 8
_PSEUDO_PAGES = 1.0  # pseudo-count of pages that did not move


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


class MoveTally(NamedTuple):
    """How often a rewriting led to the right page, and to another saved page; `fixed` are parts that never varied."""

    right: int
    wrong: int
    fixed: tuple[tuple[int, str], ...] = ()

    def covers(self, parts: tuple[str, ...]) -> bool:
        """Whether a URL is in the one language that all known pairs have, if they have one."""
        return all(parts[at] == value for at, value in self.fixed)

    def confidence(self, rule: MoveRule) -> float:
        """The expected share of right answers."""
        before = _PSEUDO_WRONG_RENAMING if rule.varies() or not rule.change.keeps_name() else _PSEUDO_WRONG
        if rule.scope.reading.startswith("/"):
            before = _PSEUDO_WRONG_ABOVE
        return self.right / (self.right + self.wrong + before)


@dataclass(slots=True)
class _Trial:
    """What a rewriting did to known pairs."""

    right: int = 0
    wrong: int = 0
    places: set[str] = field(default_factory=set)
    values: dict[int, set[str]] = field(default_factory=dict)

    def note_right(self, rule: MoveRule, parts: tuple[str, ...], size: int) -> None:
        self.right += 1
        head = rule.scope.head
        first = next((at for at, part in enumerate(head) if is_variable(part)), size)
        _add(self.places, _name_of_place(parts, first))
        for at, part in enumerate(head):
            if is_variable(part):
                # Of several parts the first must vary: else that one is fixed, and the pattern too wide.
                _add(self.values.setdefault(at, set()), parts[at])

    def is_learnt(self, rule: MoveRule) -> bool:
        """Whether the pairs show that variables vary, and that whoever leads to another site speaks for it."""
        if self.right < (2 if rule.varies() else 1):
            return False
        if len(self.places) < _PLACES_TO_LEAVE_SITE and _leads_elsewhere(rule):
            return False
        head = rule.scope.head
        if any(head[at] in UNBOUND and len(seen) < 2 for at, seen in self.values.items()):
            return False
        copied = {part.at for part in rule.new_head if isinstance(part, CopiedPart)}
        dropped = [seen for at, seen in self.values.items() if head[at] not in UNBOUND and at not in copied]
        return not dropped or any(len(seen) > 1 for seen in dropped)

    def tally(self, rule: MoveRule) -> MoveTally:
        """The counts, and the languages that never varied."""
        languages = {at: seen for at, seen in self.values.items() if rule.scope.head[at] == LANGUAGE}
        fixed = tuple((at, min(seen)) for at, seen in languages.items() if len(seen) == 1)
        return MoveTally(self.right, self.wrong, fixed)


def _add(seen: set[str], value: str) -> None:
    if len(seen) < _PLACES_TO_LEAVE_SITE:
        seen.add(value)


class LearntMoves:
    """The rewritings of one or more sites."""

    def __init__(
        self,
        rules: Iterable[tuple[MoveRule, MoveTally]] = (),
        directories: Mapping[tuple[str, tuple[str, ...]], Counter[str]] | None = None,
    ) -> None:
        self._rules: dict[Scope, list[tuple[MoveRule, MoveTally]]] = defaultdict(list)
        self._directories = directories or {}
        for rule, tally in rules:
            self._rules[rule.scope].append((rule, tally))

    @classmethod
    def learn(cls, moves: Iterable[Move], holds: Callable[[str], bool]) -> "LearntMoves":
        """The rewritings that explain known moves, each tested on all of them; `holds` says which pages are saved."""
        pairs = [pair for pair in map(_places, moves) if pair is not None][:_MAX_PAIRS]
        at = _promising(pairs)
        is_saved = functools.cache(holds)  # rewritings of many scopes lead to the same pages
        trials: dict[MoveRule, _Trial] = defaultdict(_Trial)
        for old, answer, _ in pairs:
            for rule, parts, size in _matching(old, at):
                url = rule.apply(parts, size)
                if url == answer:
                    trials[rule].note_right(rule, parts, size)
                elif url is not None and is_saved(url):  # pages that are not saved are never answers
                    trials[rule].wrong += 1
        learnt = ((rule, trial.tally(rule)) for rule, trial in trials.items() if trial.is_learnt(rule))
        return cls(learnt, _directories(pairs))

    def guesses(self, url: str, holds: Callable[[str], bool]) -> tuple[MoveGuess, ...]:
        """Saved pages that rewriting leads to, each once, the most trusted first."""
        place = place_of(url)
        best: dict[str, MoveGuess | None] = {}
        tried = _matching(place, self._rules) if place else ()
        for (rule, tally), parts, size in itertools.islice(tried, _MAX_TRIED):
            new = rule.apply(parts, size) if tally.covers(parts) else None
            if new is None or new == url:
                continue
            if new not in best:
                if len(best) == _MAX_LOOKED_UP:
                    break
                best[new] = MoveGuess(url=new, confidence=0.0, support=0) if holds(new) else None
            known, confidence = best[new], tally.confidence(rule)
            if known is not None and known.confidence < confidence:
                best[new] = MoveGuess(url=new, confidence=confidence, support=tally.right)
        return tuple(sorted(filter(None, best.values()), key=lambda guess: (-guess.confidence, guess.url)))

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
        above = _directories_above(place) if place else ()
        went = next((found for each in above if (found := self._directories.get(each))), Counter[str]())
        total = went.total() + _PSEUDO_PAGES
        return {directory: count / total for directory, count in went.most_common(_MAX_DIRECTORIES)}

    def rules(self) -> Iterator[tuple[MoveRule, MoveTally]]:
        """The learnt rewritings, in no order."""
        for found in self._rules.values():
            yield from found


def _promising(pairs: Iterable[tuple[UrlPlace, str, UrlPlace]]) -> dict[Scope, list[MoveRule]]:
    """The rewritings worth trying on all pairs: the best supported, as many as there is time for."""
    pairs = list(pairs)
    support = Counter(rule for old, _, new in pairs for rule in explanations(old, new))
    within = Counter(
        scope
        for old, _, _ in pairs
        for name, parts in readings(old.parts)
        for scope, _ in scopes(old.host, name, parts)
    )
    found: dict[Scope, list[MoveRule]] = defaultdict(list)
    trials = 0
    worthwhile = [rule for rule, count in support.items() if count > 1 or not rule.varies()]
    for rule in sorted(worthwhile, key=lambda rule: (-support[rule] / within[rule.scope], -support[rule])):
        if len(found[rule.scope]) < _MAX_RULES_AT and trials + within[rule.scope] <= _MAX_TRIALS:
            found[rule.scope].append(rule)
            trials += within[rule.scope]
    return found


def _leads_elsewhere(rule: MoveRule) -> bool:
    """Whether a rewriting leads to another site."""
    return urls.site(f"http://{rule.scope.host}/") != urls.site(f"{rule.new_origin}/")


def _name_of_place(parts: tuple[str, ...], at: int) -> str:
    """The first part that a rewriting leaves open; all queries of one page are one place."""
    part = parts[at].rstrip("/") if len(parts) > at else ""
    return "?" if part.startswith("?") else part


def _places(move: Move) -> tuple[UrlPlace, str, UrlPlace] | None:
    old, new = place_of(move.old), place_of(move.new)
    if old is None or new is None or (old.host, old.parts) == (new.host, new.parts):
        return None
    return old, urls.normal(move.new), new


def _matching(
    place: UrlPlace, known: Mapping[Scope, Iterable[T]]
) -> Iterator[tuple[T, tuple[str, ...], int]]:
    """What is known of the scopes that a URL is in, with the parts it was read as and how many the scope covers."""
    for reading, parts in readings(place.parts):
        for scope, size in scopes(place.host, reading, parts):
            for each in known.get(scope, ()):
                yield each, parts, size


def _directories(
    pairs: Iterable[tuple[UrlPlace, str, UrlPlace]],
) -> dict[tuple[str, tuple[str, ...]], Counter[str]]:
    """By directory left, and by those above it, how many pages moved to which directory."""
    found: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for old, answer, _ in pairs:
        for above in _directories_above(old):
            found[above][urls.directory(answer)] += 1
    return dict(found)


def _directories_above(place: UrlPlace) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A page's host and directory, then those above it."""
    for size in range(len(place.parts) - 1, max(-1, len(place.parts) - 1 - _LEVELS_UP), -1):
        yield place.host, place.parts[:size]
