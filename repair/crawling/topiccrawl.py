"""The crawl of one topic as decisions: which link next, what a page brought, when to stop.

    choose() ─► fetch (elsewhere) ─► read() ─► note_page() ─► more links in the frontier

Best first by what a link is probably worth (`repair.crawling.linkworth`), with a small share of links drawn at
random: what looks bad beside what is known may be good elsewhere. No host gets more than its share of the budget,
unless all seeds are there. Nothing here touches the network, a clock or a disk; the simulated web of the benchmark
and the real crawler drive the same code.
"""

import random
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from repair.crawling.classifier import learn_link_weights, learn_link_words
from repair.crawling.frontier import Frontier, FrontierLink
from repair.crawling.linkworth import HostRecord, LinkWorth
from repair.crawling.pagejudge import BELONGS, PageJudge
from repair.crawling.termcodes import CountedTerms
from repair.crawling.topicmodel import Terms
from repair.crawling.topics import Topic
from repair.crawling.traps import ShapeLimits, trap_in
from repair.model import Link
from repair.text import urls
from repair.text.fingerprints import SamePages, fingerprint

SEED_WORTH = 2.0
"""More than any link has: seeds come first."""
_LINKS_OF_A_PAGE = 300
_MAX_DEPTH = 20
_WEIGH_ALL_EVERY = 10  # pages, at first; weighing takes time, and the more is known, the less a page changes
_WEIGH_ALL_SHARE = 20  # then whenever there are a twentieth more pages, however many links wait
_PATIENCE = 40  # pages over which the yield is looked at, at least
_LEAST_YIELD = 0.05
_OTHER_LANGUAGE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlPolicy:
    """How a topic is crawled. `host_share` is the part of the budget that one host may have; `explore` is the share
    of links drawn at random; with `stop_early` a crawl ends when it brings too little."""

    max_pages: int
    max_bytes: int
    host_share: float = 0.5
    explore: float = 0.05
    stop_early: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPage:
    """What was made of a page. `counted` are its terms by the judges' vocabulary; `promise` is its probability as the
    scout sees it, which decides how its links count; `duplicate` when the crawl has had the same text under another
    address."""

    terms: Terms
    counted: CountedTerms
    probability: float
    promise: float
    fingerprint: int | None
    duplicate: bool

    @property
    def belongs(self) -> bool:
        """Whether it is a page of the topic, and a new one."""
        return self.probability >= BELONGS and not self.duplicate

    @property
    def promising(self) -> bool:
        """Whether the scout takes it for a new page of the topic."""
        return self.promise >= BELONGS and not self.duplicate


class TopicCrawl:
    """The state of one crawl. For one thread at a time."""

    def __init__(
        self,
        topic: Topic,
        judge: PageJudge,
        policy: CrawlPolicy,
        *,
        verdicts: Mapping[str, bool] | None = None,
        seed: int = 0,
    ) -> None:
        """`verdicts` is what people said of pages; the topic's seeds belong to it unless somebody said no."""
        self.topic = topic
        self._verdicts = {**dict.fromkeys(topic.seeds, True), **(verdicts or {})}
        self.judge, self._scout = judge, judge.scout()
        self.frontier = Frontier()
        self._since_weighing = 0
        self._unweighed: dict[str, FrontierLink] = {}
        self._has_news = False
        self.fetched = self.received = self.belonging = 0
        """Pages and bytes fetched so far, and how many of the pages belong to the topic."""
        self._policy = policy
        self._hosts = HostRecord()
        self._worth = LinkWorth(self._scout, self._hosts, learn_link_weights, learn_link_words)
        self._shapes = ShapeLimits()
        self._known: set[str] = set()
        self._fingerprints = SamePages()
        self._recent: deque[bool] = deque(maxlen=max(_PATIENCE, policy.max_pages // 5))
        self._random = random.Random(seed)  # noqa: S311  (which link to try is no secret)
        self._one_host = len({urls.parse(url).authority for url in topic.seeds}) == 1

    def add_seeds(self, addresses: Iterable[str]) -> tuple[FrontierLink, ...]:
        """Put addresses first in the frontier; returns those that are new."""
        fresh = [
            url for url in dict.fromkeys(addresses) if url not in self._known and not self.frontier.get(url)
        ]
        links = tuple(
            FrontierLink(url=url, host=urls.parse(url).authority, worth=SEED_WORTH) for url in fresh
        )
        for link in links:
            self.frontier.put(link)
        return links

    def choose(self, *, busy_hosts: Collection[str] = ()) -> FrontierLink | None:
        """Take the next link out of the frontier, at a host that is not busy; None when there is none now."""
        if self._has_news:
            self.weigh_links()
        link = self._choose({*busy_hosts, *self._full_hosts()})
        while link is not None and self._shapes.is_exhausted(link.url):
            self._take(link)
            link = self._choose({*busy_hosts, *self._full_hosts()})
        if link is not None:
            self._take(link)
        return link

    def put_back(self, link: FrontierLink) -> None:
        """Return a link that was chosen and not fetched."""
        self._known.discard(link.url)
        self.frontier.put(link)

    def knows(self, url: str) -> bool:
        """Whether an address was chosen before, or a page came from it."""
        return url in self._known

    def read(
        self,
        terms: Terms,
        *,
        url: str = "",
        title: str = "",
        language: str = "",
        known_fingerprint: int | None = None,
    ) -> JudgedPage:
        """Judge a page by its terms; a person's word on it counts more, and so does a language of the topic."""
        found = fingerprint(terms) if known_fingerprint is None else known_fingerprint
        if found is not None and title:
            found ^= _title_bits(title)
        counted = self.judge.vocabulary.count(terms)
        probability, promise = self.judge.judge(counted), self._scout.judge(counted)
        if self.topic.language and language and language != self.topic.language:
            probability, promise = probability * _OTHER_LANGUAGE, promise * _OTHER_LANGUAGE
        if (told := self._verdicts.get(url)) is not None:
            probability, promise = (max(each, BELONGS) if told else 0.0 for each in (probability, promise))
        return JudgedPage(
            terms=terms,
            counted=counted,
            probability=probability,
            promise=promise,
            fingerprint=found,
            duplicate=found is not None and self._fingerprints.has_near(found),
        )

    def note_page(
        self,
        link: FrontierLink,
        page: JudgedPage,
        links: Sequence[Link],
        *,
        final_url: str,
        received: int = 0,
        held: bool = False,
    ) -> tuple[FrontierLink, ...]:
        """Take in a page and its links; returns the links that are new or better known, which `weigh_links` weighs. A
        page that was `held` costs nothing."""
        self._note_outcome(link, page.belongs, page.promising, held=held)
        self.received += received
        self._known.add(final_url)
        self.frontier.take(final_url)
        changed: tuple[FrontierLink, ...] = ()
        if not page.duplicate:
            if page.fingerprint is not None:
                self._fingerprints.add(page.fingerprint)
            if (told := self._verdicts.get(link.url)) is None:
                self.judge.note_page(final_url, page.counted, page.probability)
                self._scout.note_page(final_url, page.counted, page.promise)
                self._scout.odds.add(page.counted, belongs=page.promise >= BELONGS)
            else:
                self.judge.note_verdict(final_url, page.terms, told)
                self._scout.note_verdict(final_url, page.terms, told)
            changed = self._add_links(links, depth=link.depth, promise=page.promise)
        self._unweighed |= {each.url: each for each in changed}
        self._since_weighing += 1
        self._has_news = True
        return changed

    def add_links(self, links: Sequence[Link], *, promise: float, depth: int = 0) -> tuple[FrontierLink, ...]:
        """Take in links of a page that this crawl did not choose; returns the links that are new or better known."""
        changed = self._add_links(links, depth=depth, promise=promise)
        self._weigh(changed)
        return changed

    def weigh_links(self) -> None:
        """Weigh links anew: all of them when something was learnt, else those that pages brought since."""
        changed = [link for url, link in self._unweighed.items() if self.frontier.get(url) is link]
        self._unweighed.clear()
        self._has_news = False
        due = max(_WEIGH_ALL_EVERY, self.fetched // _WEIGH_ALL_SHARE)
        self.judge.learn()
        if self._scout.learn() or self._since_weighing >= due:
            self._weigh_all()
        else:
            self._weigh(changed)

    def note_failure(self, link: FrontierLink, *, received: int = 0) -> None:
        """A link brought nothing."""
        self.received += received
        self._recent.append(False)
        self._shapes.note(link.url, good=False)
        self._hosts.note(link.host, belongs=False)

    def recall(
        self,
        link: FrontierLink,
        final_url: str,
        probability: float | None,
        print_: int | None,
        *,
        received: int,
        held: bool,
        refused: bool = False,
    ) -> None:
        """Take in what an earlier run visited; no `probability`: it brought no page. A link that was `refused` says
        nothing of others."""
        self._known |= {link.url, final_url or link.url}
        self.frontier.take(link.url)
        if probability is None:
            if not refused:
                self.note_failure(link, received=received)
            return
        self.received += received
        belongs = probability >= BELONGS
        self._note_outcome(link, belongs, belongs, held=held)
        if print_ is not None:
            self._fingerprints.add(print_)

    def recall_waiting(self, links: Iterable[FrontierLink]) -> None:
        """Take in the frontier of an earlier run."""
        for link in links:
            self.frontier.put(link)
        self.judge.learn()
        self._scout.learn()
        self._weigh_all()

    def take_up(self, links: Iterable[FrontierLink]) -> None:
        """Take in links that another machine found or knows more of."""
        for link in links:
            if link.url in self._known:
                continue
            own = self.frontier.get(link.url)
            if own is None or own.parents < link.parents:
                self.frontier.put(link)
                if link.worth < SEED_WORTH:
                    self._unweighed[link.url] = link
                    self._has_news = True

    def give_up(self, url: str) -> None:
        """Another machine fetches this link; it may come back."""
        self.frontier.take(url)
        self._known.discard(url)

    def has_open_links(self, *, closed: Collection[str] = ()) -> bool:
        """Whether a link waits at a host that has not had its share and is not `closed`."""
        return bool(self.frontier.hosts() - self._full_hosts() - set(closed))

    def reason_to_stop(self, *, under_way: int = 0, postponed: int = 0) -> str | None:
        """Why no more links should be chosen, with so many being fetched or due later; None to go on."""
        policy, recent = self._policy, self._recent
        if self.fetched + under_way >= policy.max_pages:
            return "budget of pages reached"
        if self.received >= policy.max_bytes:
            return "budget of bytes reached"
        if policy.stop_early and len(recent) == recent.maxlen and sum(recent) < len(recent) * _LEAST_YIELD:
            return "too few pages of the topic among the latest"
        if not under_way and not postponed and not self.has_open_links():
            return "no more links"
        return None

    def _choose(self, closed: Collection[str]) -> FrontierLink | None:
        best = self.frontier.best(without_hosts=closed)
        if best is None or best.worth >= SEED_WORTH or self._random.random() >= self._policy.explore:
            return best
        others = [link for link in self.frontier if link.host not in closed]
        return self._random.choice(others)

    def _take(self, link: FrontierLink) -> None:
        self.frontier.take(link.url)
        self._known.add(link.url)

    def _full_hosts(self) -> frozenset[str]:
        """Hosts that have had their share of the budget."""
        if self._one_host:
            return frozenset()
        most = max(1.0, self._policy.host_share * self._policy.max_pages)
        return frozenset(host for host, count in self._hosts.fetched.items() if count >= most)

    def _note_outcome(self, link: FrontierLink, belongs: bool, promising: bool, *, held: bool) -> None:
        if link.parents:
            self._worth.note_outcome(link, belongs=promising)
        self.belonging += belongs
        if held:
            return
        self.fetched += 1
        self._recent.append(belongs)
        self._hosts.note(link.host, belongs=belongs)
        self._shapes.note(link.url, good=belongs)

    def _add_links(self, links: Sequence[Link], *, depth: int, promise: float) -> tuple[FrontierLink, ...]:
        changed: dict[str, FrontierLink] = {}
        targets: dict[str, Link] = {}
        for link in links if depth < _MAX_DEPTH else ():
            targets.setdefault(link.target_url, link)
        for url, found in islice(targets.items(), _LINKS_OF_A_PAGE):
            if url in self._known:
                continue
            entry = self.frontier.get(url)
            if entry is None:
                if trap_in(url):
                    continue
                entry = FrontierLink(url=url, host=urls.parse(url).authority, depth=depth + 1)
                self.frontier.put(entry)
            entry.note_parent(found, promise, belongs=promise >= BELONGS)
            if entry.worth < SEED_WORTH:
                changed[url] = entry
        return tuple(changed.values())

    def _weigh_all(self) -> None:
        self._since_weighing = 0
        self._worth.learn()
        self._weigh([link for link in self.frontier if link.worth < SEED_WORTH])

    def _weigh(self, links: Sequence[FrontierLink]) -> None:
        self._worth.weigh(links)
        self.frontier.reorder(links)


def _title_bits(title: str) -> int:
    """What makes pages with different titles differ however much of their text is one menu."""
    return int.from_bytes(blake2b(" ".join(title.split()).encode("utf-8", "replace"), digest_size=8).digest())
