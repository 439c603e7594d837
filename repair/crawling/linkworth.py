"""How much fetching a link is worth: the probability that the page behind it belongs to the topic.

Known beforehand are the pages that link there, the link's own words (anchor, twenty words each side, address) as the
page classifier reads them, and what its host brought so far. Fixed weights combine them at first; logistic regression
learns the weights from the links that were fetched, which say what came of them, and takes over by and by.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from repair.crawling.frontier import FrontierLink, LinkReading
from repair.crawling.pagejudge import PageJudge
from repair.crawling.termcodes import CountedTerms, ModelTable, Numbers, TextBatch, join
from repair.crawling.topicmodel import Terms, TopicModel

_LEAST_OUTCOMES = 30
_MOST_OUTCOMES = 2_000
_TRUST = 40  # outcomes after which what was learnt counts as much as the fixed weights
_LEAST_TEXTS = 20  # of good and of bad links, before their words are learnt from
_MOST_TEXTS = 400
_GROWTH = 1.25  # their words are learnt again when there are so many times as many
_FIXED = np.array([1.0, 1.0, 0.2, 1.0, 0.8, 0.6, 1.0, 0.8, 0.4, 0.5, 1.0, -0.5])
_FIXED_BIAS = -2.0
_TEXTS = 5  # anchor, context, address; anchor or else address; all together

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
        self._texts: tuple[list[CountedTerms], list[CountedTerms]] = ([], [])
        self._apprentice: ModelTable | None = None
        self._learnt_from = 0
        self._seen: list[Numbers] = []
        self._outcomes: list[bool] = []
        self._learnt: tuple[Numbers, float] | None = None

    def weigh(self, links: Sequence[FrontierLink]) -> None:
        """Set the worth of links."""
        if not links:
            return
        features = self._features(links)
        worth = _logistic(features @ _FIXED + _FIXED_BIAS)
        if self._learnt is not None:
            trust = len(self._outcomes) / (len(self._outcomes) + _TRUST)
            weights, bias = self._learnt
            worth = (1 - trust) * worth + trust * _logistic(features @ weights + bias)
        for link, value, row in zip(links, worth.tolist(), features, strict=True):
            link.worth, link.features = value, row

    def note_outcome(self, link: FrontierLink, *, belongs: bool) -> None:
        """Remember what came of a link, beside what was known when it was weighed."""
        self._seen.append(self._features([link])[0] if link.features is None else link.features.copy())
        self._outcomes.append(belongs)
        self._texts[belongs].append(self._read(link).texts[-1])

    def learn(self) -> None:
        """Learn from the outcomes, once there are enough of both kinds."""
        if min(map(len, self._texts)) >= _LEAST_TEXTS and len(self._outcomes) >= self._learnt_from * _GROWTH:
            self._learnt_from = len(self._outcomes)
            words = self._judge.vocabulary
            bad, good = ([words.terms(text) for text in texts[-_MOST_TEXTS:]] for texts in self._texts)
            self._apprentice = ModelTable(self._learn_texts(good, bad), words)
        if len(self._outcomes) >= _LEAST_OUTCOMES and len(set(self._outcomes[-_MOST_OUTCOMES:])) == 2:
            self._learnt = self._learn(
                np.array(self._seen[-_MOST_OUTCOMES:]), self._outcomes[-_MOST_OUTCOMES:]
            )

    def _features(self, links: Sequence[FrontierLink]) -> Numbers:
        """A row of numbers for each link."""
        readings = [self._read(link) for link in links]
        anchors, contexts, addresses, names, texts = (
            TextBatch([reading.texts[field] for reading in readings]) for field in range(_TEXTS)
        )
        judge = self._judge
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
                judge.read_links(anchors),
                judge.read_links(contexts),
                judge.read_links(addresses),
                judge.odds.scores(names),
                judge.odds.scores(contexts),
                self._apprentice.decide(texts) if self._apprentice else np.zeros(len(links)),
                [reading.match for reading in readings],
                known[:, 3],
                known[:, 4],
            )
        )

    def _read(self, link: FrontierLink) -> LinkReading:
        """What its words are; kept until a page says something new of it."""
        if link.reading is None:
            terms = link.terms()
            anchor, _, address = texts = tuple(map(self._judge.vocabulary.count, terms))
            link.reading = LinkReading(
                texts=(*texts, anchor if len(anchor.codes) else address, join(texts)),
                match=self._judge.words.score([*terms[0], *terms[2]], saturation=0.2),
            )
        return link.reading


def _logistic(values: Numbers) -> Numbers:
    found: Numbers = 1.0 / (1.0 + np.exp(-np.clip(values, -50.0, 50.0)))
    return found
