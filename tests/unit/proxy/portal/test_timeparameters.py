"""proxy.portal.timeparameters: the view that an address describes."""

import pytest

from proxy.portal.timeparameters import TimeView, parameters, view_of


def test_parameters_round_trip():
    view = TimeView(archive="a", year=2013, month=3, take="x", titles=True, terms=5, radius=-1, levels=2)
    assert view_of(parameters(view)) == view


def test_default_parameters_are_left_out():
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
def test_invalid_parameters_are_ignored(fields):
    assert view_of(fields) == TimeView()
