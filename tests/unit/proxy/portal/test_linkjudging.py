"""proxy.portal.linkjudging: which links lead nowhere, judged behind the page and remembered."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.portal.linkjudging import LinkJudge, LinkMark, mark_of
from repair.model import Alternative, BrokenLink, MissKind, RankedAlternatives, RankingOutcome
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import A_MOMENT

PAGE = f"{SITE}/page"
LINKS = ("/held", "/dead", "/moved", "/perhaps", "/cached")


def an_alternative(confidence, *, held=True, url=f"{SITE}/held"):
    return Alternative(url=url, title="Held", confidence=confidence, held=held)


class Ranker:
    """Has a good replacement for /moved, a doubtful one for /perhaps, and none for others."""

    def __init__(self):
        self.asked = []
        self.answers = {"/moved": (an_alternative(0.97),), "/perhaps": (an_alternative(0.3),)}

    async def rank(self, link, *, within_s=None):
        self.asked.append(link)
        found = RankedAlternatives(link=link, alternatives=self.answers.get(link.url.removeprefix(SITE), ()))
        return RankingOutcome(found=found, is_whole=True)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def collection(tmp_path):
    links = [a_link(path, f"about {path}") for path in LINKS]
    secret = a_link("/mail?token=8f14e45fceea167a5a36dedd4bea2543")
    with a_collection(tmp_path, a_document("/page", links=[*links, secret]), a_document("/held")) as made:
        yield made


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def judge(collection, threads):
    async def is_stored(url):
        return url.endswith("/cached")

    return LinkJudge(
        collection,
        Ranker(),
        threads,
        is_stored=is_stored,
        known_dead=lambda urls: frozenset({f"{SITE}/dead", f"{SITE}/other"}),
        is_hurried=lambda: False,
        clock=Clock(),
    )


async def opened(judge, *, offline=True, url=PAGE):
    """The marks that the second user who opens the page gets."""
    await judge.marks(url, offline)
    await judge.settle()
    return set(await judge.marks(url, offline))


NOWHERE = LinkMark(target=f"{SITE}/dead")
REPLACED = LinkMark(target=f"{SITE}/moved", replacement=f"{SITE}/held", title="Held")


async def test_the_first_user_does_not_wait_and_the_next_sees_all_marks(judge):
    assert await judge.marks(PAGE, True) == ()
    await judge.settle()
    assert set(await judge.marks(PAGE, True)) == {NOWHERE, REPLACED}
    assert not judge.waiting


async def test_saved_cached_and_secret_targets_are_not_ranked_and_doubtful_ones_not_marked(judge):
    await opened(judge)
    assert [link.url.removeprefix(SITE) for link in judge._ranker.asked] == ["/dead", "/moved", "/perhaps"]
    asked = judge._ranker.asked[0]
    assert (asked.source_url, asked.anchor) == (PAGE, "about /dead")


async def test_online_only_links_that_were_found_dead_are_marked(judge):
    assert await opened(judge, offline=False) == {NOWHERE}


async def test_a_verdict_is_kept_for_an_hour(judge):
    await opened(judge)
    asked = len(judge._ranker.asked)
    judge._clock.now = 3_599.0
    await opened(judge)
    assert len(judge._ranker.asked) == asked
    judge._clock.now = 3_601.0
    await opened(judge)
    assert len(judge._ranker.asked) == 2 * asked


async def test_a_page_that_was_saved_meanwhile_is_no_longer_marked(judge, collection):
    await opened(judge)
    collection.add(a_document("/dead"), fetched_at=A_MOMENT)
    assert await opened(judge) == {REPLACED}


async def test_a_replacement_that_is_gone_is_not_led_to(judge, collection):
    await opened(judge)
    collection.remove(f"{SITE}/held")
    assert REPLACED not in await judge.marks(PAGE, True)


async def test_links_of_an_unknown_page_are_not_marked(judge):
    assert await opened(judge, url="http://unknown.test/") == set()
    assert await opened(judge, url="about:blank") == set()


async def test_a_ranking_that_fails_costs_its_own_link(judge):
    async def fail(link, *, within_s=None):
        raise TimeoutError("too late")

    judge._ranker.rank = fail
    assert await opened(judge) == set()


async def test_closing_gives_up_what_waits(judge):
    await judge.marks(PAGE, True)
    await judge.close()
    assert judge.waiting == 0


@pytest.mark.parametrize(
    ("alternatives", "marked"),
    [
        ((), LinkMark(target=PAGE)),
        ((an_alternative(0.95),), LinkMark(target=PAGE, replacement=f"{SITE}/held", title="Held")),
        ((an_alternative(0.94),), None),
        ((an_alternative(0.99, held=False),), None),
        ((an_alternative(0.99, held=False), an_alternative(0.99)), None),
    ],
)
def test_only_a_saved_and_likely_page_replaces_and_only_nothing_at_all_leads_nowhere(alternatives, marked):
    link = BrokenLink(url=PAGE, kind=MissKind.OFFLINE)
    assert mark_of(RankedAlternatives(link=link, alternatives=alternatives)) == marked
    with_copy = RankedAlternatives(link=link, copy_at=A_MOMENT)
    assert mark_of(with_copy) is None
