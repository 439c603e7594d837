import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.sharing.harmlessfields import is_bare_request, is_plain_request, plain_part
from tests.caching import FIELD_TEXT, HEADERS

CHROME = (
    ("Host", "school.test"),
    ("Connection", "keep-alive"),
    ("sec-ch-ua", '"Chromium";v="142", "Not(A:Brand";v="24", "Google Chrome";v="142"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Linux"'),
    ("Upgrade-Insecure-Requests", "1"),
    (
        "User-Agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    ),
    (
        "Accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
        "application/signed-exchange;v=b3;q=0.7",
    ),
    ("Sec-Fetch-Site", "none"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-User", "?1"),
    ("Sec-Fetch-Dest", "document"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Accept-Language", "de-CH,de;q=0.9,en-US;q=0.8,en;q=0.7"),
    ("Referer", "https://www.school.test/search?q=a%20b&lang=de#frag~(x)"),
    ("Cookie", "a=<b>"),
)
FIREFOX = (
    ("Host", "school.test:8080"),
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ("Accept", "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"),
    ("Accept-Language", "en-US,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("DNT", "1"),
    ("Sec-GPC", "1"),
    ("Connection", "keep-alive"),
    ("Referer", "http://school.test:8080/"),
    ("Origin", "https://other.test:444"),
    ("Priority", "u=5, i"),
    ("Pragma", "no-cache"),
    ("Cache-Control", "no-cache"),
    ("If-None-Match", 'W/"5f-a,b", "c"'),
    ("If-Modified-Since", "Mon, 04 May 2020 12:00:00 GMT"),
    ("Range", "bytes=0-"),
    ("TE", "trailers"),
)
SAFARI = (
    (
        "Accept",
        "image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,"
        "image/*;q=0.8,*/*;q=0.5",
    ),
    (
        "User-Agent",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
        "Version/18.5 Mobile/15E148 Safari/604.1",
    ),
    ("Accept-Encoding", "gzip, deflate, br"),
    ("Proxy-Connection", "keep-alive"),
)
CURL = (
    ("Host", "a.test"),
    ("User-Agent", "curl/8.14.1"),
    ("Accept", "*/*"),
    ("Proxy-Connection", "Keep-Alive"),
)
APT = (
    ("Host", "deb.debian.org"),
    ("User-Agent", "Debian APT-HTTP/1.3 (2.6.1)"),
    ("Cache-Control", "max-age=0"),
    ("Accept", "text/*"),
)


@pytest.mark.parametrize("headers", [CHROME, FIREFOX, SAFARI, CURL, ()])
def test_requests_of_browsers_are_plain(headers):
    assert is_plain_request(headers)
    for header in headers:
        assert is_plain_request((header,)), header


@pytest.mark.parametrize(
    "name",
    [
        "X-Forwarded-Host",
        "X-Forwarded-For",
        "X-HTTP-Host-Override",
        "X-Original-Path",
        "RSC",
        "X-Middleware-Prefetch",
        "Purpose",
        "Sec-Purpose",
        "Save-Data",
        "X-Requested-With",
        "User_Agent",
        "Accept ",
        "Sec-Fetch-Anything",
        "Via",
        "DPR",
        "",
    ],
)
def test_any_other_field_is_not_unless_vary_names_it_or_an_admin_does(name):
    headers = (*CHROME, (name, "1"))
    assert not is_plain_request(headers)
    assert is_plain_request(headers, named={name.lower()})
    assert is_plain_request(headers, also=(name,))


@pytest.mark.parametrize(
    "header",
    [
        ("User-Agent", "<script>alert(1)</script>"),
        ("User-Agent", "() { :; }; ping"),
        ("User-Agent", "a" * 501),
        ("User-Agent", "a\x01"),
        ("User-Agent", "M\xfcller"),
        ("Referer", "javascript:alert(1)"),
        ("Referer", 'https://evil.test/"><script>'),
        ("Referer", "https://evil.test/" + "a" * 5000),
        ("Origin", "https://evil.test/<b>"),
        ("Accept", "application/json"),
        ("Accept", "application/json, text/plain, */*"),
        ("Accept", "image/png"),
        ("Accept", "../../etc/passwd{{"),
        ("Accept-Language", "../../../etc/passwd"),
        ("Accept-Language", "<b>"),
        ("Accept-Encoding", "evil"),
        ("Accept-Encoding", "gzip, evil"),
        ("Connection", "close, X-Forwarded-For"),
        ("Connection", "Upgrade"),
        ("Range", "bytes=0-1,3-4"),
        ("Range", "cats=1"),
        ("Cache-Control", "max-age=<b>"),
        ("Sec-Fetch-Site", "evil site"),
        ("DNT", "yes"),
        ("Upgrade-Insecure-Requests", "evil"),
        ("If-None-Match", "<script>"),
        ("Content-Length", "5"),
        ("Service-Worker", "evil"),
        ("Host", "school.test/evil"),
    ],
)
def test_nor_is_a_value_that_no_browser_sends(header):
    assert not is_plain_request((header,))


def test_a_field_that_can_stand_once_is_not_plain_twice():
    agent = ("User-Agent", "a")
    assert not is_plain_request((agent, agent))
    assert is_plain_request((("Accept-Language", "en"), ("Accept-Language", "de")))


def test_a_strange_value_of_a_field_that_is_compared_loosely_is_not_plain_even_if_vary_names_it():
    assert not is_plain_request((("Accept-Language", "<b>,en"),), named={"accept-language"})
    assert is_plain_request((("Accept", "application/json"),), named={"accept"})


def test_all_fields_together_have_a_limit():
    many = tuple((f"a{number}", "b" * 100) for number in range(100))
    assert not is_plain_request(many, named={name for name, _ in many})


def test_a_bare_request_has_no_credentials_no_range_and_no_condition():
    bare = tuple(field for field in CHROME if field[0] != "Cookie")
    assert is_bare_request(bare)
    for name, value in (
        ("Cookie", "a=1"),
        ("Authorization", "Basic eA=="),
        ("Range", "bytes=0-"),
        ("If-None-Match", '"a"'),
    ):
        assert not is_bare_request((*bare, (name, value)))


def test_the_plain_part_of_a_request_has_no_personal_fields():
    odd = (("X-Foo", "1"), ("Foo", "2"), ("Authorization", "x"), ("X-Api-Key", "k"), ("Range", "bytes=0-1"))
    kept = plain_part((*CHROME, *odd, ("If-None-Match", '"a"')), named={"foo", "x-api-key", "cookie"})
    assert kept == (*(field for field in CHROME if field[0] != "Cookie"), ("Foo", "2"))
    assert is_plain_request(kept, named={"foo"})


@given(HEADERS | st.lists(st.tuples(st.sampled_from([name for name, _ in CHROME]), FIELD_TEXT)).map(tuple))
def test_plain_values_have_no_markup_and_no_control_characters(headers):
    if is_plain_request(headers):
        said = "".join(value for name, value in headers if name.lower() not in ("cookie", "authorization"))
        assert not set(said) & set("<>`{}\\")
        assert all(" " <= character <= "~" or character == "\t" for character in said)
    assert is_plain_request(plain_part(headers)) or len({n.lower() for n, _ in headers}) < len(headers)


@pytest.mark.parametrize("value", [" " * 4000 + "x", "," * 4000 + "<", "a;" * 2000, "*/*;" + " ;" * 2000])
@pytest.mark.parametrize("name", ["Accept", "Accept-Language", "Accept-Encoding", "Cache-Control", "Referer"])
def test_a_strange_value_takes_no_longer_than_its_length(name, value):
    """With backtracking each of these would take some 10^7 steps or more, and this test minutes."""
    for number in range(50):
        assert not is_plain_request(((name, value + str(number) + "<"),))
