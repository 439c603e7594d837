"""proxy.pages.timeview: what an address says a reader wants to see."""

import pytest

from proxy.pages.timeview import TimeView, parameters, view_of


def test_what_is_asked_for_is_what_is_seen():
    view = TimeView(archive="a", year=2013, month=3, take="x", titles=True, terms=5, radius=-1, levels=2)
    assert view_of(parameters(view)) == view


def test_what_is_usual_is_not_said():
    assert parameters(TimeView()) == {}
    assert parameters(TimeView(year=2013, month=3), month=0) == {"year": "2013"}


@pytest.mark.parametrize(
    "fields",
    [
        {"year": "x", "month": "3"},
        {"year": "-5"},
        {"year": "99999999999999999999"},
        {"month": "3"},
        {"terms": "1000", "radius": "7", "levels": "9", "backlinks": "0"},
        {"weighting": "<script>"},
        {"titles": "yes"},
    ],
)
def test_what_makes_no_sense_counts_as_not_given(fields):
    assert view_of(fields) == TimeView()
