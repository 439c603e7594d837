"""How much fetching a link is worth: the probability that the page behind it belongs to the topic.

Known beforehand are the pages that link there, the link's own words (anchor, twenty words each side, address) as the
page classifier reads them, and what its host brought so far. Fixed weights combine them at first; logistic regression
learns the weights from the links that were fetched, which say what came of them, and takes over by and by.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from repair.crawling.frontier import FrontierLink, LinkReading
from repair.crawling.pagejudge import PageJudge
from repair.crawling.termcodes import CountedTerms, ModelTable, Numbers, TextBatch, join
from repair.crawling.topicmodel import Terms, TopicModel
from repair.text import urls, words

_LEAST_OUTCOMES = 30
_MOST_OUTCOMES = 2_000
_TRUST = 40  # outcomes after which what was learnt counts as much as the fixed weights
_LEAST_TEXTS = 20  # of good and of bad links, before their words are learnt from
_MOST_TEXTS = 400
_GROWTH = 1.25  # their words are learnt again when there are so many times as many
_FIXED = np.array([1.0, 1.0, 0.2, 1.0, 0.8, 0.6, 1.0, 0.8, 0.4, 0.5, 1.0, -0.5])
_FIXED_BIAS = -2.0
_TEXTS = 3  # anchor, context, address
_AT_ONCE = 2_000  # links: more at once take more memory, not less time

LearnTexts = Callable[[Sequence[Terms], Sequence[Terms]], TopicModel]
LearnWeights = Callable[[Numbers, Sequence[bool]], tuple[Numbers, float]]
"""Makes weights and a bias out of rows of features and what came of them."""


class HostRecord:
    """How many pages of each host were fetched, and how many belonged to the topic."""

    def __init__(self) -> None:
        self.fetched: Counter[str] = Counter()
        self.good: Counter[str] = Counter()

    def note(self, host: str, *, belongs: bool) -> None:
        """Count one page."""
        self.fetched[host] += 1
        self.good[host] += belongs

    def share(self, host: str) -> float:
        """The share of good pages, near the average of all hosts while little is known of one."""
        average = (self.good.total() + 1) / (self.fetched.total() + 2)
        return (self.good[host] + 2 * average) / (self.fetched[host] + 2)


class LinkWorth:
    """Weighs links for one topic, and learns how from outcomes: which clues to trust, and which words links have that
    lead to pages of the topic (the apprentice of Chakrabarti et al. 2002)."""

    def __init__(
        self, judge: PageJudge, hosts: HostRecord, learn: LearnWeights, learn_texts: LearnTexts
    ) -> None:
        self._judge = judge
        self._hosts = hosts
        self._learn = learn
        self._learn_texts = learn_texts
        self._texts: tuple[deque[CountedTerms], deque[CountedTerms]] = (
            deque(maxlen=_MOST_TEXTS),
            deque(maxlen=_MOST_TEXTS),
        )
        self._apprentice: ModelTable | None = None
        self._learnt_from = self._noted = 0
        self._seen: deque[Numbers] = deque(maxlen=_MOST_OUTCOMES)
        self._outcomes: deque[bool] = deque(maxlen=_MOST_OUTCOMES)
        self._learnt: tuple[Numbers, float] | None = None

    def weigh(self, links: Sequence[FrontierLink]) -> None:
        """Set the worth of links."""
        for start in range(0, len(links), _AT_ONCE):
            self._weigh(links[start : start + _AT_ONCE])

    def _weigh(self, links: Sequence[FrontierLink]) -> None:
        features = self._features(links)
        worth = _logistic(features @ _FIXED + _FIXED_BIAS)
        if self._learnt is not None:
            trust = self._noted / (self._noted + _TRUST)
            weights, bias = self._learnt
            worth = (1 - trust) * worth + trust * _logistic(features @ weights + bias)
        for link, value, row in zip(links, worth.tolist(), features, strict=True):
            link.worth, link.features = value, row

    def note_outcome(self, link: FrontierLink, *, belongs: bool) -> None:
        """Remember what came of a link, beside what was known when it was weighed."""
        self._seen.append(self._features([link])[0] if link.features is None else link.features.copy())
        self._outcomes.append(belongs)
        self._noted += 1
        self._texts[belongs].append(join(self._read(link).texts))

    def learn(self) -> None:
        """Learn from the outcomes, once there are enough of both kinds."""
        if min(map(len, self._texts)) >= _LEAST_TEXTS and self._noted >= self._learnt_from * _GROWTH:
            self._learnt_from = self._noted
            vocabulary = self._judge.vocabulary
            bad, good = ([vocabulary.terms(text) for text in texts] for texts in self._texts)
            self._apprentice = ModelTable(self._learn_texts(good, bad), vocabulary)
        if len(self._outcomes) >= _LEAST_OUTCOMES and len(set(self._outcomes)) == 2:
            self._learnt = self._learn(np.array(self._seen), tuple(self._outcomes))

    def _features(self, links: Sequence[FrontierLink]) -> Numbers:
        """A row of numbers for each link."""
        readings = [
            reading
            if (reading := link.reading) and reading.anchor is link.anchor and reading.context is link.context
            else self._read(link)
            for link in links
        ]
        texts = TextBatch(tuple(chain.from_iterable(reading.texts for reading in readings)))
        judge = self._judge
        decided, odds = judge.read_links(texts), judge.odds.scores(texts).reshape(-1, _TEXTS)
        is_named = texts.lengths[::_TEXTS] > 0
        shares = {host: self._hosts.share(host) for host in {link.host for link in links}}
        known = np.array(
            [
                (link.best, link.total / max(1, link.parents), link.good_parents, shares[link.host], link.nav)
                for link in links
            ],
            dtype=np.float64,
        )
        return np.column_stack(
            (
                known[:, 0],
                known[:, 1],
                np.log1p(known[:, 2]),
                decided.reshape(-1, _TEXTS),
                np.where(is_named, odds[:, 0], odds[:, 2]),
                odds[:, 1],
                self._apprentice.decide(texts.joined(_TEXTS)) if self._apprentice else np.zeros(len(links)),
                [reading.match for reading in readings],
                known[:, 3],
                known[:, 4],
            )
        )

    def _read(self, link: FrontierLink) -> LinkReading:
        """What its words are; what a page says anew of it is read anew."""
        judge, known = self._judge, link.reading
        if known is not None and known.anchor == link.anchor and known.context == link.context:
            return known
        if known is None:
            path = words.terms(" ".join(urls.path_words(link.url)))
            address, named = judge.vocabulary.count(path), judge.words.among(path)
        else:
            address, named = known.texts[2], known.named
        if known is not None and known.anchor == link.anchor:
            anchor, match = known.texts[0], known.match
        else:
            terms = words.terms(link.anchor)
            anchor = judge.vocabulary.count(terms)
            match = judge.words.score([*terms, *named], saturation=0.2)
        if known is not None and known.context == link.context:
            context = known.texts[1]
        else:
            context = judge.vocabulary.count(words.terms(link.context))
        link.reading = LinkReading(
            anchor=link.anchor,
            context=link.context,
            texts=(anchor, context, address),
            named=named,
            match=match,
        )
        return link.reading


def _logistic(values: Numbers) -> Numbers:
    found: Numbers = 1.0 / (1.0 + np.exp(-np.clip(values, -50.0, 50.0)))
    return found
