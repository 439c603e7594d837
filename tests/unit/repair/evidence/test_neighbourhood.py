"""Lexical signatures from the pages that link to a lost one."""

import pytest

from repair.evidence.neighbourhood import WHOLE_PAGE, LinkNeighbourhood, NeighbourhoodLimits
from repair.model import HeldPage, InLink
from tests.holdings import SITE, a_link
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/gone"


class FakeCollection:
    """Links by target, pages by URL; `the` is everywhere, other terms are rare."""

    def __init__(self, links=(), pages=()):
        self._links = links
        self._pages = {page.url: page for page in pages}

    def inlinks(self, target_url, limit=100):
        return tuple(inlink for inlink in self._links if inlink.link.target_url == target_url)[:limit]

    def get(self, url):
        return self._pages.get(url)

    def document_frequency(self, term, name="body"):
        return 900 if term == "common" else 10

    def size(self):
        return 1000


def from_page(number, anchor, target=GONE, **known):
    return InLink(source_url=f"{SITE}/{number}", link=a_link(target, anchor, **known))


def a_held_page(number, text, language="en"):
    return HeldPage(
        url=f"{SITE}/{number}",
        title="",
        text=text,
        language=language,
        fetched_at=A_MOMENT,
        pinned=False,
        has_copy=False,
    )


def terms(links, pages=(), **reach):
    return [
        term
        for term, _ in LinkNeighbourhood(
            FakeCollection(links, pages), NeighbourhoodLimits(**reach)
        ).signature(GONE)
    ]


def test_the_words_that_most_link_with_come_first_and_only_four():
    links = [
        from_page(1, "water cycle"),
        from_page(2, "the water cycle"),
        from_page(3, "water rain snow hail"),
    ]
    assert terms(links) == ["water", "cycl", "hail", "rain"]


def test_words_that_are_everywhere_are_left_out():
    assert terms([from_page(1, "common water")]) == ["water"]


def test_stop_anchors_and_navigation_say_nothing():
    assert terms([from_page(1, "click here"), from_page(2, "home water", nav=True)]) == []


def test_only_so_many_backlinks_are_read():
    links = [from_page(number, f"word{number}") for number in range(9)]
    assert terms(links, backlinks=2) == ["word0", "word1"]


def test_all_links_of_one_page_count_as_one_backlink():
    assert terms([from_page(1, "rain"), from_page(1, "snow"), from_page(2, "hail")], backlinks=1) == [
        "rain",
        "snow",
    ]


@pytest.mark.parametrize(("radius", "found"), [(0, ["rain"]), (1, ["near", "next", "rain"])])
def test_the_radius_adds_words_around_the_anchor(radius, found):
    assert sorted(terms([from_page(1, "rain", before="far near", after="next last")], radius=radius)) == found


def test_the_second_level_is_links_to_the_backlinking_pages():
    links = [from_page(1, "rain"), from_page(2, "weather", target=f"{SITE}/1")]
    assert terms(links) == ["rain"]
    assert terms(links, levels=2) == ["rain", "weather"]


def test_whole_pages_must_be_long_and_in_the_usual_language():
    pages = [
        a_held_page(1, "water " * 60),
        a_held_page(2, "water rain " * 30),
        a_held_page(3, "regen " * 60, language="de"),
        a_held_page(4, "snow"),
    ]
    links = [from_page(number, "x") for number in range(1, 5)]
    assert terms(links, pages, radius=WHOLE_PAGE) == ["water", "rain"]


def test_the_page_of_the_broken_link_itself_does_not_count():
    source = LinkNeighbourhood(FakeCollection([from_page(1, "rain"), from_page(2, "snow")]))
    evidence = source.find(a_broken_link(GONE, source_url=f"{SITE}/1"))
    assert evidence is not None
    assert evidence.terms == (("snow", 1.0),)


def test_without_backlinks_there_is_no_evidence():
    assert LinkNeighbourhood(FakeCollection()).find(a_broken_link(GONE)) is None
