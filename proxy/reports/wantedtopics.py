"""What users looked for in vain, grouped: searches that share their rarest words are one topic (pure).

Words that most searches have in common say nothing of a topic, so each weighs by how few searches have it.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from repair.text.words import located_terms

_ALIKE = 0.3
_SHOWN_WORDS = 4
_MAX_WORDS = 40
_Vector = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class VainSearch:
    """The words by which a missing page was looked for, and who missed it (codes that change every day)."""

    words: str
    users: frozenset[str]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTopic:
    """A topic that the collection lacks: its words, how many users and how often."""

    words: tuple[str, ...]
    users: int
    times: int


def group_searches(searches: Iterable[VainSearch], *, few: int) -> tuple[WantedTopic, ...]:
    """Topics, those that most users wanted first. Each search is in one.

    Only topics of at least `few` users, described by words that as many of them used, are returned.
    """
    known = [(search, _terms(search.words)) for search in searches]
    held = Counter(term for _, terms in known for term in terms)
    groups: list[_SearchGroup] = []
    for search, terms in sorted(known, key=lambda each: (-len(each[0].users), each[0].words)):
        vector = {term: math.log(1 + len(known) / held[term]) for term in terms}
        if not vector:
            continue
        best = max(groups, key=lambda group: _cosine(vector, group.centre), default=None)
        if best is None or _cosine(vector, best.centre) < _ALIKE:
            best = _SearchGroup()
            groups.append(best)
        best.add(search, vector, terms)
    found = [group.topic(few) for group in groups]
    told = (topic for topic in found if topic.words and topic.users >= few)
    return tuple(sorted(told, key=lambda topic: (-topic.users, -topic.times, topic.words)))


class _SearchGroup:
    def __init__(self) -> None:
        self.centre: _Vector = {}
        self._users: set[str] = set()
        self._times = 0
        self._written: dict[str, str] = {}
        self._users_of: dict[str, set[str]] = {}

    def add(self, search: VainSearch, vector: _Vector, terms: dict[str, str]) -> None:
        for term, weight in vector.items():
            self.centre[term] = self.centre.get(term, 0.0) + weight * search.times
            self._written.setdefault(term, terms[term])
            self._users_of.setdefault(term, set()).update(search.users)
        self._users |= search.users
        self._times += search.times

    def topic(self, few: int) -> WantedTopic:
        common = (term for term, users in self._users_of.items() if len(users) >= few)
        heaviest = sorted(common, key=lambda term: (-self.centre[term], term))[:_SHOWN_WORDS]
        return WantedTopic(
            words=tuple(self._written[term] for term in heaviest), users=len(self._users), times=self._times
        )


def _terms(text: str) -> dict[str, str]:
    """The terms of a search, each as it was written."""
    found: dict[str, str] = {}
    for start, end, term in located_terms(text):
        if len(found) == _MAX_WORDS:
            break
        found.setdefault(term, text[start:end].lower())
    return found


def _cosine(one: _Vector, other: _Vector) -> float:
    shared = sum(weight * other[term] for term, weight in one.items() if term in other)
    lengths = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    return shared / lengths if lengths else 0.0
