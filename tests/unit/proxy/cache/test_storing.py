import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.entry import values
from proxy.cache.storing import may_store, to_stored
from tests.caching import HEADERS, NOW, SETTINGS, URL, a_request, a_stored, at, cc, is_storable

FRESH = cc("max-age=3600")
WITH_COOKIE = a_request(("Cookie", "session=1"))
WITH_PASSWORD = a_request(("Authorization", "Basic eA=="))


@pytest.mark.parametrize(
    "status",
    [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599],
)
def test_any_final_status_is_stored_when_the_origin_says_for_how_long(status):
    assert is_storable(FRESH, status=status)


@pytest.mark.parametrize("status", [200, 203, 204, 404, 405, 410, 414, 501])
def test_some_statuses_are_stored_without_a_word_if_they_changed_long_ago(status):
    assert is_storable(("Last-Modified", at(-86_400)), status=status)


@pytest.mark.parametrize("status", [201, 202, 302, 403, 502, 503, 504, 599])
def test_others_are_not_stored_without_a_word(status):
    assert not is_storable(("Last-Modified", at(-86_400)), status=status)
    assert is_storable(("Last-Modified", at(-86_400)), cc("public"), status=status)


@pytest.mark.parametrize("status", [100, 103, 304, 206])
def test_what_is_not_final_or_not_whole_is_not_stored(status):
    assert not is_storable(FRESH, status=status)


@pytest.mark.parametrize(
    "text", ["private", "no-store", "No-StOrE", "PRIVATE", 'private="a"', "max-age=10, no-store"]
)
def test_what_is_private_or_not_to_be_stored_is_not(text):
    assert not is_storable(cc(text), FRESH, ("Expires", at(3600)))


def test_a_response_that_sets_a_cookie_is_not_stored():
    assert not is_storable(cc("public, max-age=3600"), ("Set-Cookie", "a=b"))


@pytest.mark.parametrize("lines", [["*"], ["*, *"], ["Foo, *"], ["*, Foo"], [", *"], ["", "*"], ["Foo", "*"]])
def test_a_response_that_varies_on_everything_is_not_stored(lines):
    assert not is_storable(FRESH, *(("Vary", line) for line in lines))


def test_a_request_may_ask_that_its_answer_is_not_stored():
    assert not is_storable(FRESH, request=a_request(cc("no-store")))


def test_an_answer_to_a_password_is_stored_only_when_the_origin_allows():
    assert not is_storable(FRESH, request=WITH_PASSWORD)


@pytest.mark.parametrize("status", [401, 407, 408, 412, 413, 416, 417, 421, 429, 431, 511])
def test_what_speaks_of_the_request_and_not_of_the_page_is_not_stored(status):
    assert not is_storable(cc("public, max-age=3600"), status=status)


@pytest.mark.parametrize(
    "header",
    [
        ("X-Forwarded-Host", "evil.test"),
        ("X-Original-URL", "/"),
        ("Forwarded", "host=x"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("X-Forwarded-Proto", "http"),
        ("X-Forwarded-Port", "1"),
        ("X-Forwarded-Server", "evil.test"),
        ("X-Forwarded-SSL", "off"),
        ("X-Original-Host", "evil.test"),
        ("X-HTTP-Method", "DELETE"),
        ("X-Method-Override", "DELETE"),
        ("Front-End-Https", "off"),
        ("X-URL-Scheme", "http"),
    ],
)
def test_a_request_that_could_poison_the_page_for_others_is_not_stored(header):
    assert not is_storable(cc("public, max-age=3600"), request=a_request(header))


@pytest.mark.parametrize("text", ["max-age=3600, public", "max-age=3600, must-revalidate", "s-maxage=3600"])
def test_three_directives_allow_it(text):
    assert is_storable(cc(text), request=WITH_PASSWORD)


def test_must_understand_overrides_no_store_for_statuses_we_know():
    headers = cc("max-age=3600, no-store, must-understand")
    assert is_storable(headers, status=200)
    assert not is_storable(headers, status=599)


@pytest.mark.parametrize(
    "headers", [[], [cc("max-age=0")], [cc("no-cache")], [("Expires", "0")], [cc("public")]]
)
def test_what_can_neither_be_fresh_nor_validated_is_not_worth_storing(headers):
    assert not is_storable(*headers)


@pytest.mark.parametrize("validator", [("ETag", '"a"'), ("Last-Modified", at(-5))])
@pytest.mark.parametrize("text", ["no-cache", "max-age=0", "max-age=0, must-revalidate"])
def test_what_can_be_validated_is_stored_even_when_stale(text, validator):
    assert is_storable(cc(text), validator)


def test_a_page_asked_for_with_a_cookie_is_not_stored_on_a_guess():
    headers = (("Last-Modified", at(-86_400)), ("ETag", '"a"'), ("Content-Type", "text/html"))
    assert is_storable(*headers)
    assert not is_storable(*headers, request=WITH_COOKIE)


@pytest.mark.parametrize("said", [cc("max-age=60"), ("Expires", at(3600))])
@pytest.mark.parametrize("kind", ["text/html", "application/json", ""])
def test_nor_when_the_origin_only_says_for_how_long(said, kind):
    assert is_storable(said, ("Content-Type", kind))
    assert not is_storable(said, ("Content-Type", kind), request=WITH_COOKIE)


@pytest.mark.parametrize("name", ["X-Auth-Token", "X-Api-Key", "X-Session-Id", "X-XSRF-Token"])
@pytest.mark.parametrize("kind", ["application/json", "image/png"])
def test_an_answer_to_a_token_is_stored_only_when_it_is_for_everyone(name, kind):
    request, headers = a_request((name, "alice")), (("Content-Type", kind), ("Last-Modified", at(-86_400)))
    assert not is_storable(*headers, request=request)
    assert not is_storable(*headers, cc("max-age=60, must-revalidate"), request=request)
    assert is_storable(*headers, cc("public"), request=request)


def test_what_is_held_for_everyone_stays_so_when_a_304_confirms_it_to_somebody():
    headers = (FRESH, ("Content-Type", "text/html"))
    known = {"received_at": NOW, "settings": SETTINGS, "held": True}
    assert may_store(WITH_COOKIE, 200, headers, **known)
    assert not may_store(WITH_COOKIE, 200, (*headers, cc("private")), **known)


@pytest.mark.parametrize("text", ["public, max-age=0", "s-maxage=0"])
def test_it_is_when_the_origin_says_it_is_for_everyone(text):
    assert is_storable(cc(text), ("ETag", '"a"'), ("Content-Type", "text/html"), request=WITH_COOKIE)


@pytest.mark.parametrize(
    "kind", ["image/png", "text/css", "font/woff2", "application/javascript; charset=utf-8"]
)
def test_pictures_and_style_sheets_are_stored_in_spite_of_a_cookie(kind):
    headers = (("Last-Modified", at(-86_400)), ("Content-Type", kind))
    assert is_storable(*headers, request=WITH_COOKIE)


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "M-SEARCH", "get", "POST"])
def test_only_answers_to_get_are_stored(method):
    assert not is_storable(FRESH, request=a_request(method=method))


@pytest.mark.parametrize("location", [URL, "/page", "page", "http://school.test/page#top"])
def test_an_answer_to_post_is_stored_when_it_names_the_same_page_and_how_long(location):
    post = a_request(method="POST")
    assert is_storable(FRESH, ("Content-Location", location), request=post)
    assert not is_storable(("Content-Location", location), ("ETag", '"a"'), request=post)
    assert not is_storable(FRESH, ("Content-Location", "/other"), request=post)


def test_a_partial_answer_that_holds_everything_is_stored_as_the_whole():
    headers = (FRESH, ("Content-Range", "bytes 0-4/5"), ("Content-Length", "5"))
    assert is_storable(*headers, status=206)
    stored = a_stored(*headers, status=206, body=b"hello")
    assert stored.status == 200
    assert not values(stored.headers, "content-range")


@pytest.mark.parametrize(
    "text", ["bytes 0-3/5", "bytes 1-4/5", "bytes 0-4/*", "bytes */5", "items 0-4/5", ""]
)
def test_a_partial_answer_is_not_stored(text):
    assert not is_storable(FRESH, ("Content-Range", text), status=206)


def test_what_is_stored_has_a_date_and_its_true_length():
    headers = (FRESH, ("Transfer-Encoding", "chunked"), ("Content-Length", "99"))
    stored = a_stored(*headers, body=b"hello")
    assert dict(stored.headers) == {"Cache-Control": "max-age=3600", "Date": at(0), "Content-Length": "5"}


def test_an_answer_without_a_body_gets_no_length():
    assert not values(a_stored(FRESH, status=204, body=b"").headers, "content-length")


def test_the_date_of_the_origin_is_kept():
    assert values(a_stored(FRESH, ("Date", at(-7))).headers, "date") == [at(-7)]


def test_what_vary_names_is_remembered_of_the_request():
    request = a_request(("Accept-Language", "en"), ("Foo", "1"), ("Foo", "2"))
    assert a_stored(FRESH, ("Vary", "foo, Bar"), request=request).vary == (("foo", "1,2"),)


@given(HEADERS, HEADERS, st.integers(0, 1000), st.sampled_from(["GET", "POST", "HEAD"]))
def test_private_things_are_never_stored_whatever_else_is_said(asked, headers, status, method):
    request = a_request(*asked, method=method)
    for secret in (cc("private"), cc("no-store"), ("Set-Cookie", "a=b"), ("Vary", "*")):
        if secret != cc("no-store") or not any("must-understand" in value for _, value in headers):
            assert not is_storable(*headers, secret, request=request, status=status)


@given(HEADERS, HEADERS, st.integers(200, 999))
def test_storing_never_raises_and_keeps_nothing_of_the_connection(asked, headers, status):
    is_storable(*headers, request=a_request(*asked), status=status)
    stored = to_stored(
        a_request(*asked),
        status=status,
        reason="",
        headers=headers,
        body=b"",
        requested_at=NOW,
        received_at=NOW,
    )
    assert not {name for name, _ in stored.headers} & {"connection", "set-cookie", "transfer-encoding"}
