"""A report as a page and as a table."""

import csv
import io
from datetime import date

import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.misses.lists import MissTally
from proxy.pages.language import LANGUAGES
from proxy.reports.figures import FetchFigures, ReportRow, SavedFigures, SchoolReport
from proxy.reports.period import ReportStep, period_with
from proxy.reports.render import COLUMNS, as_csv, as_html
from proxy.reports.wantedtopics import WantedTopic


def a_row(name, **known):
    return ReportRow(**{"name": name, "users": 4, "times": 9, "opened": 2, "addresses": 1, **known})


def a_report(**known):
    return SchoolReport(
        **{
            "period": period_with(ReportStep.WEEK, date(2026, 5, 5)),
            "few": 3,
            "missed": MissTally(times=1200, nothing=30, offered=1000, opened=170),
            "missed_addresses": 88,
            "users": 60,
            "networks": (a_row("Room 12"),),
            "sites": (a_row("a.test"),),
            "addresses": (a_row("http://a.test/<script>x</script>"),),
            "own_pages": (a_row("http://school.test/links"),),
            "topics": (WantedTopic(words=("volcano", "eruption"), users=5, times=8),),
            "fetched": FetchFigures(done=3, failed=1, waiting=2, received_bytes=4096),
            "saved": SavedFigures(fresh=10, total=45),
            **known,
        }
    )


def test_the_page_has_all_parts_and_nothing_from_elsewhere():
    text = as_html(a_report())
    page = LexborHTMLParser(text)
    assert page.css_first("h1").text() == "linkmend report, week 2026-W19"
    assert [heading.text() for heading in page.css("h2")] == [
        "Topics that the collection lacks",
        "Pages with dead links",
        "Missed pages",
        "Sites",
        "Networks",
    ]
    for words in ("1\u202f200", "170", "volcano, eruption", "4.1 KB; failed: 1, waiting: 2", "10", "of 45"):
        assert words in page.body.text()
    assert page.css("script, img, link, iframe, a") == []
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_in_the_language_of_the_school(language):
    page = LexborHTMLParser(as_html(a_report(), language))
    assert page.css_first("html").attributes["lang"] == language
    assert page.css_first("html").attributes["dir"] == ("rtl" if language == "ar" else "ltr")
    is_english = page.css_first("h2").text() == "Topics that the collection lacks"
    assert is_english == (language == "en")
    for text in ("http://school.test/links", "Room 12", "volcano, eruption"):
        assert text in page.body.text()


def test_one_user_is_not_one_users():
    text = LexborHTMLParser(as_html(a_report(users=1, missed_addresses=1))).body.text()
    assert "addresses: 1, users: 1" in text


def test_a_report_on_nothing_says_so():
    nothing = dict.fromkeys(("networks", "sites", "addresses", "own_pages", "topics"), ())
    text = as_html(a_report(**nothing, missed=MissTally(), fetched=None, saved=None))
    assert text.count("None.") == 4
    assert "Fetched" not in text


def test_the_table_can_be_opened_in_a_spreadsheet():
    rows = list(csv.reader(io.StringIO(as_csv(a_report(sites=(a_row("=cmd()"),))))))
    assert tuple(rows[0]) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert rows[1] == ["missed", "2026-W19", "60", "1200", "170", "88"]
    assert ["site", "'=cmd()", "4", "9", "2", "1"] in rows
    assert ["topic we lack", "volcano eruption", "5", "8", "", ""] in rows
    assert ["network", "Room 12", "4", "9", "2", "1"] in rows
    assert ["saved", "total", "", "45", "", ""] in rows
