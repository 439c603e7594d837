import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.storage import confirm_stored, may_store, to_stored, updated_response
from proxy.cache.validation import freshen
from proxy.messages import values
from proxy.settings import CacheSettings
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


@pytest.mark.parametrize("status", [201, 202, 302, 502, 503, 504, 599])
def test_other_statuses_are_stored_only_with_explicit_freshness(status):
    assert not is_storable(("Last-Modified", at(-86_400)), status=status)
    assert is_storable(("Last-Modified", at(-86_400)), cc("public"), status=status)


@pytest.mark.parametrize("status", [100, 103, 304, 206, 600, 999])
def test_incomplete_or_invalid_responses_are_not_stored(status):
    assert not is_storable(FRESH, status=status)


@pytest.mark.parametrize(
    "text", ["private", "no-store", "No-StOrE", "PRIVATE", 'private="a"', "max-age=10, no-store"]
)
def test_private_and_no_store_responses_are_not_stored(text):
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


@pytest.mark.parametrize(
    "status", [401, 402, 403, 406, 407, 408, 409, 411, 412, 413, 415, 416, 417, 421, 422, 429, 431, 511]
)
def test_statuses_about_the_request_are_not_stored(status):
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
def test_a_response_neither_fresh_nor_revalidatable_is_not_stored(headers):
    assert not is_storable(*headers)


@pytest.mark.parametrize("validator", [("ETag", '"a"'), ("Last-Modified", at(-5))])
@pytest.mark.parametrize("text", ["no-cache", "max-age=0", "max-age=0, must-revalidate"])
def test_a_response_with_a_validator_is_stored_even_when_stale(text, validator):
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
@pytest.mark.parametrize(
    "said", [(), (cc("public, max-age=60"),), (cc("public, max-age=60"), ("Vary", "{name}"))]
)
def test_an_answer_to_a_token_is_never_stored(name, kind, said):
    told = tuple((key, value.format(name=name)) for key, value in said)
    headers = (("Content-Type", kind), ("Last-Modified", at(-86_400)), *told)
    assert is_storable(*headers)
    assert not is_storable(*headers, request=a_request((name, "alice")))


@pytest.mark.parametrize("name", ["Cookie", "Authorization"])
def test_a_response_that_varies_on_personal_fields_is_stored_only_without_them(name):
    headers = (cc("public, max-age=60"), ("Vary", name))
    assert not is_storable(*headers, request=a_request((name, "alice")))
    assert is_storable(*headers)


@pytest.mark.parametrize("kind", ["text/html", "image/png", "text/css", "font/woff2"])
def test_a_response_to_a_cookie_is_stored_once_seen_without_one(kind):
    headers = (("Last-Modified", at(-86_400)), ("Content-Type", kind))
    known = {"received_at": NOW, "settings": SETTINGS}
    assert not may_store(WITH_COOKIE, 200, headers, **known)
    assert may_store(WITH_COOKIE, 200, headers, seen_without_cookie=True, **known)
    assert not may_store(WITH_COOKIE, 200, (*headers, cc("private")), seen_without_cookie=True, **known)


@pytest.mark.parametrize(
    "odd",
    [
        ("Cookie", "a=1"),
        ("Range", "bytes=0-"),
        ("If-None-Match", '"a"'),
        ("Accept", "application/json"),
        ("Referer", "http://other.test/" + "a" * 5000),
    ],
)
def test_an_error_is_stored_only_when_nothing_in_the_request_can_have_caused_it(odd):
    for status in (400, 404, 414, 500):
        assert is_storable(cc("public, max-age=60"), status=status)
        assert not is_storable(
            cc("public, max-age=60"), ("Vary", odd[0]), status=status, request=a_request(odd)
        )


def test_a_doubtful_error_with_a_referrer_is_not_stored():
    request = a_request(("Referer", "http://other.test/"))
    assert not is_storable(cc("max-age=60"), status=503, request=request)
    assert is_storable(cc("max-age=60"), status=404, request=request)


@pytest.mark.parametrize("name", ["Origin", "Referer"])
def test_a_page_that_repeats_where_the_request_came_from_is_not_stored(name):
    request = a_request((name, "https://evil.test"))
    assert is_storable(FRESH, ("Link", "<https://cdn.test/a.js>"), request=request)
    assert not is_storable(FRESH, ("Link", "<https://EVIL.test/a.js>"), request=request)
    assert not is_storable(FRESH, ("Location", "https://evil.test/"), status=302, request=request)
    own = a_request((name, "http://school.test"))
    assert is_storable(FRESH, ("Link", "<http://school.test/a.js>"), request=own)


def test_a_field_that_vary_names_is_part_of_the_key_and_does_no_harm():
    request = a_request(("Foo", "1"))
    assert not is_storable(FRESH, request=request)
    assert is_storable(FRESH, ("Vary", "foo"), request=request)
    assert not is_storable(FRESH, ("Vary", "foo"), request=a_request(("Foo", "1" * 2000)))
    strange = a_request(("Accept-Language", "<script>, en"))
    assert not is_storable(FRESH, ("Vary", "Accept-Language"), request=strange)


def test_an_admin_may_call_a_field_harmless():
    request = a_request(("X-Forwarded-For", "10.0.0.1"))
    settings = CacheSettings(harmless_fields=("x-forwarded-for",))
    assert not may_store(request, 200, (FRESH,), received_at=NOW, settings=SETTINGS)
    assert may_store(request, 200, (FRESH,), received_at=NOW, settings=settings)


@pytest.mark.parametrize(
    "header",
    [
        ("Cache-Control", 'max-age=60, x="' + "a" * 5000 + '"'),
        ("Vary", ", ".join(f"a{number}" for number in range(500))),
        ("ETag", '"' + "a" * 5000 + '"'),
        ("Link", "a" * 100_000),
    ],
)
def test_oversized_headers_are_not_stored(header):
    assert not is_storable(FRESH, header)
    assert is_storable(FRESH, (header[0], header[1][:20] + '"'))


def test_many_fields_are_not_stored():
    assert is_storable(FRESH, *((f"A{number}", "b") for number in range(150)))
    assert not is_storable(FRESH, *((f"A{number}", "b") for number in range(250)))


def merged(stored, *headers, request):
    after = freshen(request, stored, headers, requested_at=NOW + 9, received_at=NOW + 10)
    return updated_response(request, stored, after, received_at=NOW + 10, settings=SETTINGS)


def test_a_304_or_a_head_is_merged_only_if_a_get_could_have_been_stored():
    stored = a_stored(cc("max-age=10"), ("ETag", '"a"'))
    new = (cc("max-age=99"), ("Link", "<x>"))
    for method in ("GET", "HEAD"):
        after = merged(stored, *new, request=a_request(method=method))
        assert values(after.headers, "link") == ["<x>"]
        for odd in (("X-Forwarded-Host", "e"), ("Cookie", "a"), ("Authorization", "b"), ("Foo", "1")):
            assert merged(stored, *new, request=a_request(odd, method=method)) is stored


def test_only_the_response_to_an_impersonal_request_removes_a_stored_one():
    stored = a_stored(cc("max-age=10"), ("ETag", '"a"'))
    assert merged(stored, cc("no-store"), request=a_request()) is None
    assert merged(stored, cc("no-store"), request=a_request(("X-Foo", "1"))) is stored
    known = {"received_at": NOW, "settings": SETTINGS}
    assert updated_response(a_request(method="HEAD"), stored, None, **known) is None
    assert updated_response(a_request(("Cookie", "a"), method="HEAD"), stored, None, **known) is stored


def test_a_304_to_a_cookie_confirms_the_bytes_and_brings_no_header():
    stored = a_stored(cc("max-age=10"), ("ETag", '"a"'), ("Age", "5"), received_s=-100)
    after = freshen(
        WITH_COOKIE, stored, (cc("max-age=99"), ("X-User", "bob")), requested_at=NOW + 9, received_at=NOW + 10
    )
    kept = confirm_stored(WITH_COOKIE, stored, after, settings=SETTINGS)
    assert (kept.received_at, values(kept.headers, "cache-control")) == (NOW + 10, ["max-age=10"])
    assert not values(kept.headers, "x-user")
    odd = a_request(("Cookie", "a"), ("X-Foo", "1"))
    assert confirm_stored(odd, stored, after, settings=SETTINGS) is stored
    private = freshen(WITH_COOKIE, stored, (cc("private"),), requested_at=NOW + 9, received_at=NOW + 10)
    assert confirm_stored(WITH_COOKIE, stored, private, settings=SETTINGS) is stored


@pytest.mark.parametrize("text", ["public, max-age=0", "s-maxage=0", "immutable, max-age=1"])
def test_it_is_when_the_origin_says_it_is_for_everyone(text):
    assert is_storable(cc(text), ("ETag", '"a"'), ("Content-Type", "text/html"), request=WITH_COOKIE)


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


def test_a_stored_response_has_a_date_and_its_real_length():
    headers = (FRESH, ("Transfer-Encoding", "chunked"), ("Content-Length", "99"))
    stored = a_stored(*headers, body=b"hello")
    assert dict(stored.headers) == {"Cache-Control": "max-age=3600", "Date": at(0), "Content-Length": "5"}


def test_an_answer_without_a_body_gets_no_length():
    assert not values(a_stored(FRESH, status=204, body=b"").headers, "content-length")


def test_the_date_of_the_origin_is_kept():
    assert values(a_stored(FRESH, ("Date", at(-7))).headers, "date") == [at(-7)]


def test_the_fields_in_vary_are_stored_with_the_response():
    request = a_request(("Accept-Language", "en"), ("Foo", "1"), ("Foo", "2"))
    assert a_stored(FRESH, ("Vary", "foo, Bar"), request=request).vary == (("foo", "1,2"),)


@given(HEADERS, HEADERS, st.integers(0, 1000), st.sampled_from(["GET", "POST", "HEAD"]))
def test_private_responses_are_never_stored_whatever_the_other_headers(asked, headers, status, method):
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
