"""addons.harvest: which passing pages are offered to the collection, and which moves are noted."""

import pytest

from addons.flowstate import AnsweredBy, BufferedBody, state_of
from addons.harvest import Harvest
from proxy.privacy.clients import ClientHasher
from proxy.privacy.recentpages import RecentPages
from proxy.settings import HarvestSettings
from tests.make import a_flow

PAGE = (200, [("Content-Type", "text/html")], b"<title>A page</title>")
BROWSER = [("Accept", "text/html"), ("Host", "school.test")]


class Basket:
    """What would be harvested."""

    def __init__(self):
        self.pages = []
        self.moves = []

    def offer(self, page):
        self.pages.append(page)
        return True

    def note_redirect(self, old, new):
        self.moves.append((old, new))


def harvest(*flows, enabled=True, basket=None):
    basket, recent_pages, hasher = basket or Basket(), RecentPages(), ClientHasher()
    addon = Harvest(
        HarvestSettings(enabled=enabled), basket, recent_pages=recent_pages, hasher=hasher, max_bytes=1000
    )
    for flow in flows:
        addon.response(flow)
    return [page.url for page in basket.pages], recent_pages.recent(hasher.hash("127.0.0.1"))


def test_a_shareable_page_is_offered_and_remembered_as_opened():
    assert harvest(a_flow(headers=BROWSER, response=PAGE)) == (
        ["http://school.test/page"],
        ("http://school.test/page",),
    )


@pytest.mark.parametrize(
    "flow",
    [
        a_flow(headers=[("Accept", "image/*")], response=PAGE),
        a_flow(headers=BROWSER, response=(404, [("Content-Type", "text/html")], b"")),
        a_flow(headers=BROWSER, response=(200, [("Cache-Control", "private")], b"")),
        a_flow(headers=BROWSER, response=(200, [("Set-Cookie", "a=1")], b"")),
        a_flow(headers=[*BROWSER, ("Cookie", "a=1")], response=PAGE),
        a_flow(headers=[*BROWSER, ("Authorization", "Basic YQ==")], response=PAGE),
        a_flow(headers=[("Accept", "text/html"), ("Host", "forged.test")], response=PAGE),
        a_flow(headers=BROWSER, response=(200, [("Content-Type", "text/html")], b"x" * 1001)),
    ],
    ids=["image", "error", "private", "sets cookie", "cookie", "signed in", "forged host", "too large"],
)
def test_what_is_private_false_or_no_page_is_not_offered(flow):
    assert harvest(flow)[0] == []


def _streamed(content_type, *, kept=True):
    flow = a_flow(headers=BROWSER, response=(200, [("Content-Type", content_type)], b""))
    flow.response.stream = True
    if kept:
        body = state_of(flow).kept_body = BufferedBody()
        body(b"%PDF-1.7")
    return flow


def test_a_file_that_was_streamed_is_offered_if_its_bytes_were_kept():
    basket = Basket()
    harvest(_streamed("application/pdf"), _streamed("application/pdf", kept=False), basket=basket)
    assert [page.body for page in basket.pages] == [b"%PDF-1.7"]


def test_a_page_that_was_streamed_was_not_judged_and_is_not_offered():
    assert harvest(_streamed("text/html"))[0] == []


def test_a_page_seen_with_a_cookie_is_offered_once_somebody_without_one_saw_the_same():
    with_cookie = [*BROWSER, ("Cookie", "session=1")]
    urls, _ = harvest(
        a_flow(headers=with_cookie, response=PAGE),
        a_flow(headers=BROWSER, response=PAGE),
        a_flow(headers=with_cookie, response=PAGE),
    )
    assert len(urls) == 2


def test_seeing_a_page_signed_in_does_not_make_it_everybodys():
    signed_in = [*BROWSER, ("Authorization", "Basic YQ==")]
    with_cookie = [*BROWSER, ("Cookie", "session=1")]
    urls, _ = harvest(a_flow(headers=signed_in, response=PAGE), a_flow(headers=with_cookie, response=PAGE))
    assert urls == []


def test_our_own_pages_are_not_harvested():
    flow = a_flow(headers=BROWSER, response=PAGE)
    state_of(flow).answered_by = AnsweredBy.REPAIR
    assert harvest(flow)[0] == []


def test_nothing_is_harvested_when_it_is_switched_off():
    assert harvest(a_flow(headers=BROWSER, response=PAGE), enabled=False)[0] == []


def moves(flow, **known):
    """The moves that are noted when this flow passes."""
    basket = Basket()
    harvest(flow, basket=basket, **known)
    return basket.moves


def a_redirect(location="/new", status=301, url="http://school.test/page", asked=BROWSER, said=()):
    return a_flow(url, headers=asked, response=(status, [("Location", location), *said], b""))


@pytest.mark.parametrize("status", [301, 308])
def test_a_page_that_moved_for_good_is_noted(status):
    assert moves(a_redirect("/new#part", status)) == [("http://school.test/page", "http://school.test/new")]


@pytest.mark.parametrize(
    "flow",
    [
        a_redirect(status=302),
        a_redirect(location=""),
        a_redirect(location="mailto:a@school.test"),
        a_redirect(location="/new?token=abcdef"),
        a_redirect(url="http://school.test/page?session=abcdef"),
        a_redirect(said=[("Cache-Control", "private")]),
        a_redirect(said=[("Set-Cookie", "a=1")]),
        a_redirect(asked=[*BROWSER, ("Cookie", "a=1")]),
        a_redirect(asked=[*BROWSER, ("Authorization", "Basic YQ==")]),
        a_redirect(asked=[("Accept", "image/*"), ("Host", "school.test")]),
        a_redirect(asked=[("Accept", "text/html"), ("Host", "forged.test")]),
    ],
    ids=[
        *("for now", "nowhere", "no page", "personal", "from a personal address", "private", "sets cookie"),
        *("cookie", "signed in", "image", "forged host"),
    ],
)
def test_what_is_private_false_or_for_now_is_no_move(flow):
    assert moves(flow) == []


def test_a_redirect_that_says_it_is_for_all_is_noted_whoever_asked():
    flow = a_redirect(asked=[*BROWSER, ("Cookie", "a=1")], said=[("Cache-Control", "public")])
    assert len(moves(flow)) == 1


def test_moves_are_not_noted_when_harvesting_is_switched_off_or_the_answer_is_ours():
    assert moves(a_redirect(), enabled=False) == []
    flow = a_redirect()
    state_of(flow).answered_by = AnsweredBy.CACHE
    assert moves(flow) == []
