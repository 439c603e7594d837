"""proxy.lateoffers: which pages of a wider list are added to a page that a reader has."""

from html import escape

import pytest

from proxy.lateoffers import LateOffers
from proxy.portal.addresses import copy_path
from proxy.portal.routemodel import LateOffersRoute
from repair.model import RankedAlternatives
from tests.make import a_broken_link
from tests.offers import a_context, a_snippet, an_alternative

LINK = a_broken_link("http://school.test/lost")
OWN = an_alternative("http://school.test/own", "Own", snippet=a_snippet())
MISS_ID = "m" * 22


def listed(*alternatives, link=LINK, **known):
    return RankedAlternatives(link=link, alternatives=alternatives, **known)


def many(count):
    return [an_alternative(f"http://other.test/{number}", f"Page {number}") for number in range(count)]


async def added(*alternatives, shown=(OWN,), **known):
    """What is added to a page with `shown`, and the number of the first."""
    told = []

    async def rank(key, device):
        return listed(*alternatives)

    late = LateOffers(rank, lambda miss_id, client, first, urls: told.append((first, *urls)))
    late.note(a_context(miss_id=MISS_ID), "reader", listed(*shown, **known), "key", "device")
    await late.answer(LateOffersRoute(miss_id=MISS_ID, part=True), "en", "reader")
    return told


async def test_only_pages_among_the_first_are_added():
    assert await added(*many(5)) == [(2, *(f"http://other.test/{number}" for number in range(3)))]
    assert await added(many(1)[0], OWN, *many(5)[1:]) == [(2, "http://other.test/0", "http://other.test/1")]


@pytest.mark.parametrize("shown", [(OWN,), ()])
async def test_what_is_on_the_page_is_not_added_again_nor_what_looks_the_same(shown):
    same = an_alternative("http://other.test/copy", OWN.title, snippet=OWN.snippet)
    assert await added(same, shown=shown) == ([] if shown else [(1, "http://other.test/copy")])
    assert await added(OWN) == []


async def test_the_lost_page_itself_is_never_added():
    assert await added(an_alternative(LINK.url)) == []


async def test_numbers_follow_those_of_the_miss_log():
    assert await added(*many(1), shortened=("http://school.test/",)) == [(3, "http://other.test/0")]


async def test_a_number_stands_for_the_same_page_however_often_a_reader_asks():
    first, second, third = many(3)
    lists, told = [(second,), (first, third, second), (first, third)], []

    async def rank(key, device):
        return listed(*lists.pop(0))

    late = LateOffers(rank, lambda miss_id, client, number, urls: told.append((number, *urls)))
    late.note(a_context(miss_id=MISS_ID), "reader", listed(OWN), "key", "device")
    call = LateOffersRoute(miss_id=MISS_ID, part=True)
    answers = [(await late.answer(call, "en", "reader")).body.decode() for _ in range(3)]
    assert told == [(2, second.url)]
    assert [(f"n={2}" in each, first.url in each, third.url in each) for each in answers] == [
        (True, False, False),
        (True, False, False),
        (False, False, False),
    ]


async def test_while_offline_what_is_added_leads_to_saved_copies_or_says_that_it_needs_the_internet():
    held, elsewhere = (
        an_alternative("http://school.test/a"),
        an_alternative("http://other.test/b", held=False),
    )

    async def rank(key, device):
        return listed(held, elsewhere)

    late = LateOffers(rank, lambda *told: None)
    late.note(a_context(miss_id=MISS_ID, offline=True), "reader", listed(OWN), "key", "device")
    page = await late.answer(LateOffersRoute(miss_id=MISS_ID, part=True), "en", "reader")
    assert escape(copy_path(held.url)) in page.body.decode()
    assert escape(copy_path(elsewhere.url)) not in page.body.decode()
    assert page.body.decode().count("soft") == 2, "the note above, and that one is online only"


async def test_of_a_lost_page_with_a_secret_in_its_address_nothing_is_noted():
    secret = a_broken_link("http://school.test/lost?token=6b3a55e0261b03")
    assert await added(*many(1), link=secret) == []
