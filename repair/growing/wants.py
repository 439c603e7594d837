"""Wants: misses that belong together, because they are about one topic of the school or about the same words.

A miss is known by few words: those of the repair page's query (anchor, context, address), or those that were typed
into the search box. They are compared with the words and the saved pages of each topic. What fits none is grouped
among itself: several addresses that were missed for the same words are a topic that nobody wrote down yet.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from repair.crawling.topicmodel import Terms
from repair.crawling.topics import Topic
from repair.growing.termvectors import TermWeights, Vector, cosine, total
from repair.text import urls, words

_OF_TOPIC = 0.12  # from this cosine on, a miss belongs to a topic
_ALIKE = 0.25  # and two misses belong together
_OWN_WORDS = 2.0  # what the topic's own words weigh against its saved pages
_SHOWN_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedMiss:
    """All misses of one address, or of one search when `url` is "". `answered` of the `times` a user opened what was
    offered; `readers` counts client codes, which change every day; `sources` are pages that link there."""

    url: str
    words: str
    times: int
    readers: int
    answered: int = 0
    sources: tuple[str, ...] = ()
    last_at: float = 0.0

    @property
    def unanswered(self) -> int:
        """How often nobody opened what was offered."""
        return self.times - self.answered


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicProfile:
    """A topic as a vector: its own words, and those of its saved pages."""

    topic: Topic
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Misses that belong together, the most missed first. `topic` is None where no topic of the school fits."""

    topic: Topic | None
    words: tuple[str, ...]
    misses: tuple[WantedMiss, ...]

    @property
    def name(self) -> str:
        """What people call it."""
        return self.topic.name if self.topic else ", ".join(self.words)

    @property
    def times(self) -> int:
        """How often something of it was missed."""
        return sum(miss.times for miss in self.misses)

    @property
    def unanswered(self) -> int:
        """How often nobody opened what was offered."""
        return sum(miss.unanswered for miss in self.misses)


@dataclass(slots=True)
class _Group:
    vectors: list[Vector]
    misses: list[WantedMiss] = field(default_factory=list)
    centre: Vector = field(default_factory=dict)


def profile(topic: Topic, pages: Iterable[Terms], weights: TermWeights) -> TopicProfile:
    """A topic with some of its saved pages."""
    own = weights.vector(term for query in topic.queries for term in words.terms(query, topic.language))
    saved = total(weights.vector(page) for page in pages)
    heavier = {term: value * _OWN_WORDS for term, value in own.items()}
    return TopicProfile(topic=topic, vector=total([heavier, saved]))


def miss_terms(miss: WantedMiss) -> list[str]:
    """The terms by which a miss is known."""
    return words.terms(_text(miss))


def group_into_wants(
    misses: Sequence[WantedMiss], profiles: Sequence[TopicProfile], weights: TermWeights
) -> tuple[Want, ...]:
    """Wants, those with the most unanswered misses first; each miss is in one."""
    by_topic: dict[str, _Group] = {}
    rest: list[_Group] = []
    ordered = sorted(misses, key=lambda miss: (-miss.unanswered, miss.url, miss.words))
    for miss in ordered:
        vector = weights.vector(miss_terms(miss))
        found = best_topic(vector, profiles)
        group = by_topic.setdefault(found.topic.name, _Group([])) if found else _nearest(vector, rest)
        group.misses.append(miss)
        group.vectors.append(vector)
        group.centre = total(group.vectors)
    topics = {each.topic.name: each.topic for each in profiles}
    wants = [_want(topics[name], group) for name, group in by_topic.items()]
    wants += [_want(None, group) for group in rest]
    return tuple(sorted(wants, key=lambda want: (-want.unanswered, want.name)))


def best_topic(vector: Vector, profiles: Iterable[TopicProfile]) -> TopicProfile | None:
    """The topic that a miss belongs to; None when it fits none."""
    scored = [(cosine(vector, each.vector), each.topic.name, each) for each in profiles]
    best = max(scored, key=lambda each: (each[0], each[1]), default=None)
    return best[2] if best and best[0] >= _OF_TOPIC else None


def _nearest(vector: Vector, groups: list[_Group]) -> _Group:
    """The group that a miss is alike; a new one when there is none."""
    scored = [(cosine(vector, group.centre), -place) for place, group in enumerate(groups)]
    score, place = max(scored, default=(0.0, 0))
    if score >= _ALIKE:
        return groups[-place]
    groups.append(_Group([]))
    return groups[-1]


def _want(topic: Topic | None, group: _Group) -> Want:
    return Want(topic=topic, words=_shown_words(group), misses=tuple(group.misses))


def _shown_words(group: _Group) -> tuple[str, ...]:
    """The words, as they were written, that say most about a group."""
    written: dict[str, str] = {}
    for miss in group.misses:
        text = _text(miss)
        for start, end, term in words.located_terms(text):
            written.setdefault(term, text[start:end].lower())
    heaviest = sorted(group.centre.items(), key=lambda item: (-item[1], item[0]))
    return tuple(written[term] for term, _ in heaviest if term in written)[:_SHOWN_WORDS]


def _text(miss: WantedMiss) -> str:
    """The words of a miss and of its address; not of the host, which is the same for pages about anything."""
    if not miss.url:
        return miss.words
    host = urls.path_words(f"http://{urls.parse(miss.url).authority}/")
    path = (word for word in urls.path_words(miss.url)[len(host) :] if len(word) > 1 and not word.isdigit())
    return f"{miss.words} {' '.join(path)}"


def weight_of(want: Want) -> float:
    """How much of the night a want deserves: more for more misses, less than in proportion."""
    return math.sqrt(want.unanswered)
