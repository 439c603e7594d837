import pytest

from repair.memento.archive import parse_archive, parse_archives, split_memento_url
from repair.memento.datetimes import timestamp
from repair.memento.timemaps import Capture
from repair.settings import ARCHIVES

AT = timestamp("20140301000000")
LOST = "http://lost.test/page?a=1&b=2"


def _memento(line, **capture):
    found = parse_archive(line).mementos(LOST, [Capture(at=AT, **capture)])
    return found[0] if found else None


def test_wayback_fills_in_all_templates():
    archive = parse_archive("school wayback=http://archive.test/coll/")
    ((kind, template),) = archive.questions
    assert kind == "timemap"
    assert archive.fill_template(template, LOST) == f"http://archive.test/coll/timemap/link/{LOST}"
    memento = _memento("school wayback=http://archive.test/coll/", original=LOST)
    assert memento.url == f"http://archive.test/coll/20140301000000/{LOST}"
    assert archive.raw_url(memento) == f"http://archive.test/coll/20140301000000id_/{LOST}"


def test_quoted_gives_the_percent_encoded_address():
    archive = parse_archive("x cdx=https://archive.test/cdx?url={quoted}&output=json")
    asked = archive.fill_template(archive.questions[0][1], LOST)
    assert asked == "https://archive.test/cdx?url=http%3A%2F%2Flost.test%2Fpage%3Fa%3D1%26b%3D2&output=json"


def test_questions_are_asked_in_the_order_written():
    archive = parse_archive("x available=http://a.test/{url} cdx=http://a.test/{url}")
    assert [kind for kind, _ in archive.questions] == ["available", "cdx"]


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.test/20140301000000/http://lost.test/",
        "http://archive.test.evil.test/20140301000000/http://lost.test/",
        "http://notarchive.test/20140301000000/http://lost.test/",
        "http://archive.test:8080/20140301000000/http://lost.test/",
        "http://archive.test@evil.test/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "",
    ],
)
def test_mementos_on_foreign_hosts_are_ignored(url):
    assert _memento("school timemap=http://archive.test/{url}", url=url) is None


@pytest.mark.parametrize(
    "url",
    ["http://archive.test/1", "https://archive.test/1", "http://eu.archive.test/1", "http://more.test/1"],
)
def test_mementos_on_own_hosts_count(url):
    assert _memento("school timemap=http://archive.test/{url} hosts=more.test", url=url).url == url


@pytest.mark.parametrize("noise", ["\r\nX: y", " HTTP/1.1\r\n", "\t", "é", "\x00"])
def test_unsafe_characters_never_get_into_a_memento_address(noise):
    line = "school wayback=http://archive.test/"
    assert _memento(line, url=f"http://archive.test/20140301000000/http://lost.test/{noise}") is None
    made = _memento(line, original=f"http://lost.test/{noise}")
    assert made.url.isascii()
    assert made.url.isprintable()
    assert " " not in made.url


def test_a_secure_archive_is_never_asked_over_http():
    memento = _memento(
        "x timemap=https://archive.test/{url}", url="http://archive.test/20140301000000/http://lost.test/"
    )
    assert memento.url == "https://archive.test/20140301000000/http://lost.test/"


def test_an_aggregator_may_point_to_all_archives_configured():
    _, aggregator = parse_archives(["a wayback=http://archive.test/", "m memgator=http://memgator.test/"])
    captures = [
        Capture(at=AT, url=f"http://{host}/20140301000000/{LOST}") for host in ("archive.test", "evil.test")
    ]
    (memento,) = aggregator.mementos(LOST, captures)
    assert memento.original == LOST
    assert aggregator.raw_url(memento) == f"http://archive.test/20140301000000id_/{LOST}"


def test_raw_urls_are_only_made_for_wayback_style_mementos():
    archive = parse_archive("x timemap=http://archive.test/{url}")
    (memento,) = archive.mementos(LOST, [Capture(at=AT, url="http://archive.test/Ab3xZ")])
    assert archive.raw_url(memento) is None


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("http://archive.test/web/20140301000000/http://lost.test/", "http://lost.test/"),
        ("http://archive.test/web/20140301000000if_/https:/lost.test/a/b", "https://lost.test/a/b"),
        (
            "http://archive.test/a/b/20140301000000id_/http://lost.test/?u=http://x/",
            "http://lost.test/?u=http://x/",
        ),
    ],
)
def test_a_memento_address_gives_time_and_original_url(url, what):
    assert split_memento_url(url) == (AT, what)


@pytest.mark.parametrize(
    "url", ["", "http://archive.test/", "http://archive.test/20149901000000/http://lost.test/"]
)
def test_other_addresses_give_none(url):
    assert split_memento_url(url) is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "expected NAME KIND=TEMPLATE"),
        ("school", "school: no query template"),
        ("school memento=http://a.test/{timestamp}/{url}", "no query template"),
        ("school timemap=http://a.test/", "expected {url} or {quoted}"),
        ("school timemap=http://{url}/", "expected an http or https address"),
        ("school timemap=http://a{url}", "must be fixed"),
        ("school timemap=ftp://a.test/{url}", "expected an http or https address"),
        ("school timemap=http://a.test/{url}{who}", "expected {url} or {quoted}"),
        ("school timemap=http://a.test/{url} memento=http://a.test/{url}", "memento: expected {timestamp}"),
        ("school wayback=http://a.test", "'wayback=http://a.test' is none of"),
        ("school colour=blue", "'colour=blue' is none of"),
    ],
)
def test_a_wrong_line_is_refused_with_what_was_expected(line, complaint):
    with pytest.raises(ValueError, match=".") as raised:
        parse_archive(line)
    assert complaint in str(raised.value)


def test_two_archives_of_one_name_are_refused():
    with pytest.raises(ValueError, match="a: described twice"):
        parse_archives(["a wayback=http://x.test/", "a wayback=http://y.test/"])


def test_the_default_archives_use_only_https():
    assert all(archive.secure for archive in parse_archives(ARCHIVES))
