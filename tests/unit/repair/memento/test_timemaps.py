import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.memento.datetimes import timestamp
from repair.memento.timemaps import CaptureList, listing

LINKS = """<http://lost.test/>; rel="original",
<http://archive.test/timemap/link/http://lost.test/>; rel="self"; type="application/link-format",
<http://archive.test/timemap/json/http://lost.test/>; rel="timemap"; type="application/json",
<http://archive.test/20100301000000/http://lost.test/>; rel="first memento"; datetime="Mon, 01 Mar 2010 00:00:00 GMT",
<http://archive.test/20140301000000/http://lost.test/>; rel="last memento"; datetime="Sat, 01 Mar 2014 00:00:00 GMT",
"""
MEMGATOR = {
    "original_uri": "http://lost.test/",
    "mementos": {
        "list": [
            {
                "datetime": "2010-03-01T00:00:00Z",
                "uri": "http://archive.test/20100301000000/http://lost.test/",
            },
            {
                "datetime": "2014-03-01T00:00:00Z",
                "uri": "http://archive.test/20140301000000/http://lost.test/",
            },
        ]
    },
    "timemap_uri": {"link_format": "http://memgator.test/timemap/link/http://lost.test/"},
}
CDX_ROWS = [
    ["timestamp", "original", "mimetype", "statuscode", "digest", "length"],
    ["20100301000000", "http://lost.test/", "text/html", "200", "AAA", "12"],
    ["20140301000000", "http://lost.test/", "warc/revisit", "-", "AAA", "12"],
]
CDXJ = """!context ["http://tools.ietf.org/html/rfc7089"]
!meta {"original_uri": "http://lost.test/"}
20100301000000 {"uri": "http://archive.test/20100301000000/http://lost.test/", "rel": "first memento"}
20140301000000 {"uri": "http://archive.test/20140301000000/http://lost.test/", "rel": "last memento"}
"""
PYWB_CDXJ = """test,lost)/ 20100301000000 {"url": "http://lost.test/", "mime": "text/html", "status": "200"}
test,lost)/ 20140301000000 {"url": "http://lost.test/", "mime": "text/html", "status": "404"}
"""
PYWB_JSON = """{"urlkey": "test,lost)/", "timestamp": "20100301000000", "url": "http://lost.test/", "status": "200"}
{"urlkey": "test,lost)/", "timestamp": "20140301000000", "url": "http://lost.test/", "status": "200"}
"""
PLAIN_CDX = """test,lost)/ 20100301000000 http://lost.test/ text/html 200 AAA 12
test,lost)/ 20140301000000 http://lost.test/ text/html 301 BBB 12
"""


@pytest.mark.parametrize(
    "text", [LINKS, json.dumps(MEMGATOR), json.dumps(CDX_ROWS), CDXJ, PYWB_CDXJ, PYWB_JSON, PLAIN_CDX]
)
def test_every_form_gives_the_same_captures_latest_first(text):
    found = listing(text, limit=10)
    assert [capture.at for capture in found.captures] == [timestamp("20140301"), timestamp("20100301")]
    assert all("lost.test" in (capture.url or capture.original) for capture in found.captures)
    assert found.pages == ()


def test_status_type_and_digest_of_a_capture_are_kept():
    last, first = listing(json.dumps(CDX_ROWS), limit=10).captures
    assert (first.status, first.media_type, first.digest) == (200, "text/html", "AAA")
    assert last.status is None


def test_the_availability_api_names_one_capture_or_none():
    closest = {
        "available": True,
        "url": "http://archive.test/web/20140301000000/http://lost.test/",
        "timestamp": "20140301000000",
        "status": "200",
    }
    (capture,) = listing(json.dumps({"archived_snapshots": {"closest": closest}}), limit=10).captures
    assert (capture.url, capture.status) == (closest["url"], 200)
    assert listing('{"archived_snapshots": {}}', limit=10) == CaptureList()


@pytest.mark.parametrize("text", ["", "[]", " \n", "!meta {}"])
def test_an_empty_list_is_a_list(text):
    assert listing(text, limit=10) == CaptureList()


@pytest.mark.parametrize(
    "text",
    [
        "<html><body>Please log in</body></html>",
        "Service unavailable",
        "null",
        "[1, 2]",
        "{",
        '{"a": 1}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "one line\n20140301000000 {\n another",
    ],
)
def test_text_that_is_no_list_gives_none(text):
    assert listing(text, limit=10) is None


def test_the_latest_captures_are_kept_over_the_limit():
    rows = [[f"20{year:02}0101000000", "http://lost.test/"] for year in range(100)]
    found = listing(json.dumps([["timestamp", "original"], *rows]), limit=3)
    assert [capture.at.year for capture in found.captures] == [2099, 2098, 2097]


def test_the_parts_of_a_paged_time_map_come_latest_first():
    text = LINKS + "".join(
        f'<http://archive.test/timemap/{year}/http://lost.test/>; rel="timemap"; type="application/link-format"'
        f'; from="Sun, 01 Jan {year} 00:00:00 GMT",\n'
        for year in (2006, 2017)
    )
    assert [page.split("/")[4] for page in listing(text, limit=10).pages] == ["2017", "2006"]


def test_an_index_of_timemaps_gives_their_addresses():
    text = '<http://lost.test/>; rel="original", <http://archive.test/timemap/1>; rel="timemap"'
    assert listing(text, limit=10).pages == ("http://archive.test/timemap/1",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("mementos", "list", "timestamp", "url", "uri", "status", "archived_snapshots", "closest")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.text(max_size=300) | JSON.map(json.dumps) | st.text(alphabet='<>[]{}",:;=!0123456789 \n', max_size=300)
)
def test_any_text_is_parsed_without_an_exception(text):
    found = listing(text, limit=5)
    assert found is None or len(found.captures) <= 5


@given(st.data())
def test_a_damaged_list_does_no_harm(data):
    text = data.draw(st.sampled_from((LINKS, json.dumps(MEMGATOR), json.dumps(CDX_ROWS), CDXJ, PYWB_CDXJ)))
    start = data.draw(st.integers(0, len(text)))
    listing(
        text[:start] + data.draw(st.text(max_size=5)) + text[start + data.draw(st.integers(0, 20)) :], limit=5
    )


@pytest.mark.parametrize(
    "piece",
    [
        "<a>;rel=memento;datetime=",
        "{",
        "[",
        '[["timestamp"],',
        "20140301000000 {\n",
        "! \n",
        "a b c d e f g h i j",
        "{}\n",
    ],
)
def test_time_is_linear_in_hostile_text(piece):
    started = time.process_time()
    listing(piece * (1_000_000 // len(piece)), limit=5_000)
    assert time.process_time() - started < 5.0
