"""How one part of an address became another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.moves.rewriting import PartRewrite, change_between


@pytest.mark.parametrize(
    ("old", "new", "other", "becomes"),
    [
        ("water.html", "water", "rain.html", "rain"),
        ("water.html", "water/", "rain.html", "rain/"),
        ("water.asp", "water.php", "rain.asp", "rain.php"),
        ("Water_Cycle", "water-cycle", "Rock_Cycle", "rock-cycle"),
        ("water_cycle", "water-cycle", "rock_cycle", "rock-cycle"),
        ("WATER", "water", "RAIN", "rain"),
        ("water_cycle", "watercycle", "rock_cycle", "rockcycle"),
        ("attr()", "attr", "calc()", "calc"),
        ("?id=4711", "4711", "?id=12", "12"),
        ("?id=4711&lang=en", "4711.html", "?id=12&lang=en", "12.html"),
        ("onclick", "click_event", "onblur", "blur_event"),
    ],
)
def test_a_learnt_change_can_be_applied_again(old, new, other, becomes):
    change = change_between(old, new)
    assert change is not None
    assert (change.apply(old), change.apply(other)) == (new, becomes)


def test_parts_with_little_in_common_were_not_rewritten():
    assert change_between("volcanoes", "rivers") is None
    assert change_between("a", "ab") is None


def test_a_part_without_what_is_cut_is_out_of_scope():
    change = change_between("onclick", "click_event")
    assert change is not None
    assert change.apply("click") is None
    assert change.apply("on") is None


@pytest.mark.parametrize(
    ("old", "new", "keeps"),
    [("water.html", "water/", True), ("?id=4711", "4711", True), ("onclick", "click_event", False)],
)
def test_suffixes_and_keys_are_no_part_of_the_name(old, new, keeps):
    change = change_between(old, new)
    assert change is not None
    assert change.keeps_name() is keeps


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_change_always_makes_the_new_of_the_old(old, new):
    change = change_between(old, new)
    assert change is None or change.apply(old) in (new, None)


@given(st.text(min_size=1, max_size=30))
def test_nothing_changed_is_no_change(part):
    assert change_between(part, part) == PartRewrite()
