"""Charts: the numbers are also text, and untrusted text never becomes markup."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.admin.charts import Chart, ChartColumn, ChartSeries, meter, round_up

SERIES = (ChartSeries(name="opened", tone="tone0"), ChartSeries(name="not opened", tone="tone1"))


def a_chart(*columns, title="Misses"):
    named = tuple(ChartColumn(label=label, counts=counts) for label, counts in columns)
    return Chart(key="trend", title=title, series=SERIES, columns=named)


def parsed(markup):
    return LexborHTMLParser(str(markup)).css_first("svg")


def test_bars_are_stacked_in_proportion():
    svg = parsed(a_chart(("Mon", (1, 3)), ("Tue", (0, 0)), ("Wed", (2, 0))).svg())
    bars = [
        (rect.attributes["class"], rect.attributes["y"], rect.attributes["height"])
        for rect in svg.css("rect:not(.area)")
    ]
    assert bars == [
        ("tone0", "75.00", "25.00"),
        ("tone1", "0.00", "75.00"),
        ("tone0", "50.00", "50.00"),
    ]


def test_chart_has_a_title_a_description_and_a_tooltip_for_each_bar():
    svg = parsed(a_chart(("Mon", (1, 3)), ("Tue", (0, 0))).svg())
    assert svg.attributes["role"] == "img"
    for part in svg.attributes["aria-labelledby"].split():
        assert svg.css_first(f"#{part}").text()
    assert svg.css_first("desc").text() == "4 in total, from Mon to Tue; peak: 4, Mon."
    assert [title.text() for title in svg.css("g > title")] == [
        "Mon: opened: 1, not opened: 3",
        "Tue: None",
    ]


def test_a_chart_of_nothing_says_so():
    for chart in (a_chart(), a_chart(("Mon", (0, 0)))):
        assert "Nothing in this period." in str(chart.svg())
    assert a_chart().ticks == ()


def test_hostile_names_stay_text():
    hostile = '"><script>alert(1)</script>'
    svg = str(a_chart((hostile, (1, 0)), title=hostile).svg())
    assert "<script" not in svg
    assert parsed(svg).css_first("title").text() == hostile


def test_labels_are_at_the_beginning_middle_and_end():
    assert a_chart(*((str(day), (1, 0)) for day in range(9))).ticks == ("0", "4", "8")
    assert a_chart(("a", (1, 0)), ("b", (1, 0))).ticks == ("a", "b")


def test_meter_is_as_long_as_its_share_and_hidden_from_screen_readers():
    svg = parsed(meter((1, 2), ("tone0", "tone1"), 10))
    assert [rect.attributes["width"] for rect in svg.css("rect")] == ["10.00", "20.00"]
    assert svg.attributes["aria-hidden"] == "true"
    assert parsed(meter((0,), ("tone0",), 0)).css("rect") == []


@pytest.mark.parametrize(("number", "top"), [(0, 2), (2, 2), (3, 4), (9, 10), (70, 80), (101, 200)])
def test_the_top_of_a_chart_is_a_round_number(number, top):
    assert round_up(number) == top
