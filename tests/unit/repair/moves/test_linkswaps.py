"""Moves that a page tells by replacing its links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.moves.linkswaps import LINKED, replaced_links
from repair.moves.rules import Move
from repair.text import words
from tests.holdings import SITE, a_link

OLD = a_link("/old/water-cycle.html", "the water cycle")
NEW = a_link("/lessons/water_cycle", "The water cycle")
KEPT = a_link("/clouds", "clouds")


def told(before, after):
    return [(move.old, move.new) for move in replaced_links(before, after, words.is_stop_anchor)]


def test_the_same_words_now_lead_to_a_page_of_a_similar_name():
    moves = replaced_links([OLD, KEPT], [KEPT, NEW], words.is_stop_anchor)
    assert moves == (Move(old=OLD.target_url, new=NEW.target_url, origin=LINKED),)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([OLD], [OLD]),
        ([OLD], [OLD, NEW]),
        ([OLD, NEW], [NEW]),
        ([OLD], []),
        ([], [NEW]),
    ],
    ids=["unchanged", "a link more", "a link fewer", "removed", "added"],
)
def test_links_that_were_not_replaced_tell_nothing(before, after):
    assert told(before, after) == []


def test_empty_words_tell_nothing():
    before, after = (a_link(link.target_url, "click here") for link in (OLD, NEW))
    assert told([before], [after]) == []


def test_another_page_tells_nothing():
    assert told([a_link("/clouds", "weather")], [a_link("/volcanoes", "weather")]) == []


def test_a_newer_release_is_no_move():
    before, after = (a_link(f"/docs/v1.{number}/setup", "set it up") for number in (2, 3))
    assert told([before], [after]) == []


def test_a_page_replaced_by_two_did_not_move():
    before = [a_link("/old/water-cycle", anchor) for anchor in ("rain", "snow")]
    after = [a_link(f"/new/{anchor}/water-cycle", anchor) for anchor in ("rain", "snow")]
    assert told(before, after) == []
    assert told(before[:1], after[:1]) == [(f"{SITE}/old/water-cycle", f"{SITE}/new/rain/water-cycle")]


def test_words_that_led_to_two_pages_tell_nothing():
    assert told([OLD, a_link("/old/water-cycles", "the water cycle")], [NEW]) == []


def test_one_page_tells_a_limited_number_of_moves():
    before, after = (
        [a_link(f"/{place}/{name}", f"{name} page") for name in map(str.swapcase, _names())]
        for place in ("old", "new")
    )
    assert 0 < len(told(before, after)) <= 50


def _names():
    return [first + second + "name" for first in "abcdefghij" for second in "abcdefghij"]


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=8))
def test_whatever_the_links_are_no_error_is_raised(links):
    before = [a_link(f"/{target}", anchor) for target, anchor in links]
    after = [a_link(f"/new/{target}", anchor) for target, anchor in links]
    replaced_links(before, after, words.is_stop_anchor)
