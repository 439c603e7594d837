import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.archives import mementoserver
from proxy.archives.mementoserver import MementoOf, TimeGateTo, TimeMapOf, question
from proxy.pages.language import catalogue
from repair.collection.versions import HeldVersions
from repair.memento.datetimes import as_timestamp, timestamp
from repair.memento.timemaps import listing
from repair.memento.weblinks import weblinks
from repair.model import HeldCopy
from repair.text.urls import normal

BASE = "http://linkmend.internal"
URL = "http://school.test/water?x=1,2;y=3"
YEARS = tuple(datetime(year, 3, 1, 12, 30, 5, tzinfo=UTC) for year in (2021, 2023, 2025))
HELD = HeldVersions(url=URL, moments=YEARS)
ENGLISH = catalogue("en")


def a_version(at=YEARS[1], body=b"<p>water", content_type="text/html; charset=utf-8"):
    return HeldCopy(url=URL, content_type=content_type, body=body, fetched_at=at)


def rels(header):
    """The addresses of a Link header by relation."""
    return {rel: link.target for link in weblinks(header) for rel in link.rels}


def place(at, modifier=""):
    return f"{BASE}/memento/{as_timestamp(at)}{modifier}/{URL}"


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        (
            "/timemap/link/http://a.test/b?c=d&e=%C3%A9",
            TimeMapOf(url="http://a.test/b?c=d&e=%C3%A9", form="link"),
        ),
        ("/timemap/json/https://a.test/", TimeMapOf(url="https://a.test/", form="json")),
        ("/timegate/http://A.test:80/b/../c", TimeGateTo(url="http://a.test/c")),
        ("/timegate/http%3A%2F%2Fa.test%2Fb%3Fc%3Dd", TimeGateTo(url="http://a.test/b?c=d")),
        ("/timegate/http:/a.test/b", TimeGateTo(url="http://a.test/b")),
        ("/timegate/a.test/b", TimeGateTo(url="http://a.test/b")),
        ("/timegate/a.test:8080/b", TimeGateTo(url="http://a.test:8080/b")),
        (
            "/memento/20210301123005/http://a.test/",
            MementoOf(url="http://a.test/", at=YEARS[0], raw=False),
        ),
        (
            "/memento/20210301123005id_/http://a.test/?/timegate/x",
            MementoOf(url="http://a.test/?/timegate/x", at=YEARS[0], raw=True),
        ),
        ("/timemap/cdxj/http://a.test/", 404),
        ("/timemap/http://a.test/", 404),
        ("/timegate/", 404),
        ("/memento/2021/http://a.test/", 404),
        ("/memento/20210301123005js_/http://a.test/", 404),
        ("/memento/٢٠٢١٠٣٠١١٢٣٠٠٥/http://a.test/", 404),
        ("/memento/20211301123005/http://a.test/", 400),
        ("/memento/00000000000000/http://a.test/", 400),
        ("/timegate/ftp://a.test/", 400),
        ("/timegate/http://", 400),
        ('/timegate/http://a"b.test/', 400),
        ("/timegate/http://a.test:99999/", 400),
        ("/timegate/http://a.test/" + "a" * 9_000, 400),
    ],
)
def test_paths_are_parsed_or_refused(target, meant):
    assert question(target) == meant


@given(st.text())
def test_no_path_breaks_the_parser_and_no_address_breaks_a_link(text):
    for way in ("/timemap/link/", "/timegate/", "/memento/20210301123005id_/", ""):
        asked = question(way + text)
        if not isinstance(asked, int):
            held = HeldVersions(url=asked.url, moments=YEARS)
            for header in (
                mementoserver.links(held, YEARS[1], BASE),
                mementoserver.timemap(held, "link", base=BASE).body.decode(),
            ):
                assert rels(header)["original"] == asked.url
            assert "\n" not in mementoserver.links(held, YEARS[1], BASE)


PATH = st.text(st.characters(codec="utf-8"), max_size=60)


@given(PATH, PATH)
def test_an_address_in_a_path_is_the_one_that_was_put_there(path, query):
    url = normal(f"http://school.test/{path.replace('#', '')}?{query.replace('#', '')}")
    asked = question(f"/timemap/link/{url}")
    assert asked == TimeMapOf(url=url, form="link")
    page = mementoserver.timemap(HeldVersions(url=url, moments=YEARS), "link", base=BASE)
    first = listing(page.body.decode(), limit=9).captures[-1].url
    assert question(first.removeprefix(BASE)) == MementoOf(url=url, at=YEARS[0], raw=False)


def test_the_time_map_as_link_format_names_every_version():
    page = mementoserver.timemap(HELD, "link", base=BASE)
    text = page.body.decode()
    assert dict(page.headers)["Content-Type"] == "application/link-format"
    assert [(capture.at, capture.url) for capture in listing(text, limit=9).captures] == [
        (at, place(at)) for at in reversed(YEARS)
    ]
    named = rels(text)
    assert named["original"] == URL
    assert named["self"] == f"{BASE}/timemap/link/{URL}"
    assert named["timegate"] == f"{BASE}/timegate/{URL}"
    assert (named["first"], named["last"]) == (place(YEARS[0]), place(YEARS[-1]))
    assert 'from="Mon, 01 Mar 2021 12:30:05 GMT"; until="Sat, 01 Mar 2025 12:30:05 GMT"' in text


def test_the_time_map_as_json_is_as_memgator_writes_it():
    page = mementoserver.timemap(HELD, "json", base=BASE)
    told = json.loads(page.body)
    assert told["original_uri"] == URL
    assert told["mementos"]["list"][0] == {"datetime": "2021-03-01T12:30:05Z", "uri": place(YEARS[0])}
    assert told["mementos"]["last"]["uri"] == place(YEARS[-1])
    assert told["timemap_uri"]["link_format"] == f"{BASE}/timemap/link/{URL}"
    assert told["timegate_uri"] == f"{BASE}/timegate/{URL}"
    assert len(listing(page.body.decode(), limit=9).captures) >= 3


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("2001", 0), ("20220101", 0), ("20230201", 1), ("20250301123005", 2), ("9999", 2), (None, 2)],
)
def test_time_gate_redirects_to_the_closest_or_newest_version(wanted, found):
    page = mementoserver.timegate(HELD, timestamp(wanted) if wanted else None, base=BASE)
    headers = dict(page.headers)
    assert page.status == 302
    assert headers["Location"] == place(YEARS[found])
    assert headers["Vary"] == "accept-datetime"
    assert rels(headers["Link"])["original"] == URL
    assert "Memento-Datetime" not in headers


def test_of_two_equally_distant_versions_the_earlier_is_closest():
    held = HeldVersions(url=URL, moments=(YEARS[0], YEARS[0] + timedelta(hours=2)))
    assert mementoserver.closest(held, YEARS[0] + timedelta(hours=1)) == YEARS[0]


def test_a_version_says_when_it_was_and_what_is_around_it():
    headers = dict(mementoserver.memento(a_version(), HELD, raw=False, base=BASE, texts=ENGLISH).headers)
    assert headers["Memento-Datetime"] == "Wed, 01 Mar 2023 12:30:05 GMT"
    named = rels(headers["Link"])
    assert named["timemap"] == f"{BASE}/timemap/link/{URL}"
    assert named["timegate"] == f"{BASE}/timegate/{URL}"
    assert (named["first"], named["prev"]) == (place(YEARS[0]), place(YEARS[0]))
    assert (named["last"], named["next"]) == (place(YEARS[2]), place(YEARS[2]))
    assert f'<{place(YEARS[1])}>; rel="memento"' in headers["Link"]


def test_the_only_version_is_first_and_last_and_has_none_beside_it():
    held = HeldVersions(url=URL, moments=YEARS[:1])
    named = rels(mementoserver.links(held, YEARS[0], BASE))
    assert named["first"] == named["last"] == place(YEARS[0])
    assert not named.keys() & {"prev", "next"}


def test_the_links_of_the_longest_address_fit_into_a_header():
    held = HeldVersions(url="http://school.test/" + "a" * 1_500, moments=YEARS)
    header = mementoserver.links(held, YEARS[1], BASE)
    assert len(header) < 8_000
    assert rels(header)["memento"].startswith(place(YEARS[1]).removesuffix(URL))


def test_a_version_as_a_page_may_not_run_anything():
    page = mementoserver.memento(
        a_version(body=b"<script>alert(1)</script>"), HELD, raw=False, base=BASE, texts=ENGLISH
    )
    headers = dict(page.headers)
    assert headers["Content-Security-Policy"].startswith("sandbox ")
    assert "allow-scripts" not in headers["Content-Security-Policy"]
    assert "allow-same-origin" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert b'<base href="http://school.test/water' in page.body


@pytest.mark.parametrize(
    ("content_type", "sent", "saved"),
    [
        ("text/html; charset=utf-8", "text/html; charset=utf-8", False),
        ("text/plain", "text/plain", False),
        ("text/htmlx", "text/htmlx", True),
        ("image/svg+xml", "image/svg+xml", True),
        ("text/html\r\nSet-Cookie: a=b", "application/octet-stream", True),
        ("", "application/octet-stream", True),
    ],
)
def test_raw_version_is_inert_in_a_browser(content_type, sent, saved):
    body = b"<script>alert(1)</script>\xff"
    version = a_version(body=body, content_type=content_type)
    page = mementoserver.memento(version, HELD, raw=True, base=BASE, texts=ENGLISH)
    headers = dict(page.headers)
    assert page.body == body
    assert headers["Content-Type"] == sent
    assert ("Content-Disposition" in headers) is saved
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'; frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Memento-Datetime"] == "Wed, 01 Mar 2023 12:30:05 GMT"


@pytest.mark.parametrize(("raw", "modifier"), [(False, ""), (True, "id_")])
def test_missing_version_redirects_to_the_closest_in_the_same_form(raw, modifier):
    asked = MementoOf(url=URL, at=YEARS[1] + timedelta(days=3), raw=raw)
    page = mementoserver.redirect_to_closest(HELD, asked, base=BASE)
    assert page.status == 302
    assert dict(page.headers)["Location"] == place(YEARS[1], modifier)


@pytest.mark.parametrize("status", [400, 403, 404])
def test_refusal_is_inert_text(status):
    page = mementoserver.refusal(status)
    assert page.status == status
    assert page.body.startswith(b"linkmend: ")
    assert dict(page.headers)["Content-Type"].startswith("text/plain")
