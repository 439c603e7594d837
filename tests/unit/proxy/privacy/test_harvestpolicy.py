"""What may enter the collection: one test for each line of the rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.messages import CacheRequest
from proxy.privacy.harvestpolicy import directives, may_harvest
from repair.secrets.addresses import has_secret, without_secret

COOKIE = ("Cookie", "session=abc")


def asked(url="http://school.test/page", method="GET", headers=()):
    return CacheRequest(method=method, url=url, headers=tuple(headers))


def allowed(request=None, response=(), *, status=200, seen=False):
    return may_harvest(request or asked(), tuple(response), status=status, seen_without_cookie=seen).allowed


def test_a_plain_page_may_enter():
    verdict = may_harvest(asked(), (), status=200, seen_without_cookie=False)
    assert verdict.allowed
    assert verdict.reason == "shareable"


@pytest.mark.parametrize(
    "cache_control", ["private", "Private", 'private="Set-Cookie"', "max-age=60, private", "public, private"]
)
def test_a_private_response_stays_out(cache_control):
    assert not allowed(response=[("Cache-Control", cache_control)])


@pytest.mark.parametrize("cache_control", ["no-store", "NO-STORE", "public, no-store", "max-age=0,no-store"])
def test_a_response_that_must_not_be_stored_stays_out(cache_control):
    assert not allowed(response=[("Cache-Control", cache_control)])


def test_directives_are_found_in_any_of_several_lines():
    assert not allowed(response=[("Cache-Control", "public"), ("cache-control", "private")])


def test_a_request_that_says_no_store_stays_out():
    assert not allowed(asked(headers=[("Cache-Control", "no-store")]))


@pytest.mark.parametrize("cache_control", ["", "public", "s-maxage=60"])
def test_an_authorized_request_stays_out_whatever_the_response_says(cache_control):
    request = asked(headers=[("Authorization", "Basic eDp5")])
    assert not allowed(request, [("Cache-Control", cache_control)])


@pytest.mark.parametrize("cache_control", ["", "public"])
def test_a_response_that_sets_a_cookie_stays_out(cache_control):
    assert not allowed(response=[("Set-Cookie", "a=b"), ("Cache-Control", cache_control)])


def test_a_page_asked_for_with_a_cookie_stays_out():
    verdict = may_harvest(asked(headers=[COOKIE]), (), status=200, seen_without_cookie=False)
    assert not verdict.allowed
    assert "cookie" in verdict.reason


@pytest.mark.parametrize("cache_control", ["public", "s-maxage=600", "max-age=5, Public"])
def test_a_page_asked_for_with_a_cookie_may_enter_when_it_says_it_is_public(cache_control):
    assert allowed(asked(headers=[COOKIE]), [("Cache-Control", cache_control)])


def test_a_page_asked_for_with_a_cookie_may_enter_when_it_was_seen_without():
    assert allowed(asked(headers=[COOKIE]), seen=True)


@pytest.mark.parametrize("cache_control", ["private", "no-store"])
def test_having_been_seen_without_a_cookie_does_not_make_a_private_page_public(cache_control):
    assert not allowed(asked(headers=[COOKIE]), [("Cache-Control", cache_control)], seen=True)


def test_a_page_that_varies_on_the_cookie_sent_stays_out_though_it_says_public():
    request = asked(headers=[COOKIE])
    assert not allowed(request, [("Cache-Control", "public"), ("Vary", "Accept, cookie")])


def test_a_page_that_varies_on_cookies_may_enter_when_none_was_sent():
    assert allowed(response=[("Vary", "Cookie")])
    assert allowed(response=[("Vary", "Authorization")])


def test_a_page_that_varies_on_everything_stays_out():
    assert not allowed(response=[("Vary", "*")])
    assert not allowed(response=[("Vary", "Accept"), ("Vary", "Origin, *")])


@pytest.mark.parametrize("status", [201, 203, 206, 301, 304, 404, 500])
def test_only_a_200_may_enter(status):
    assert not allowed(status=status)


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT"])
def test_only_a_get_may_enter(method):
    assert not allowed(asked(method=method))


@pytest.mark.parametrize(
    "url",
    [
        "http://user:pw@school.test/",
        "http://school.test/?token=abc",
        "http://school.test/?a=1&access_token=abc",
        "http://school.test/?SID=1234",
        "http://school.test/?PHPSESSID=1234",
        "http://school.test/?password=x",
        "http://school.test/?reset_token=x",
        "http://school.test/?X-Amz-Signature=x",
        "http://school.test/?api_key=x",
        "http://school.test/?to%6Ben=x",
        "http://school.test/?email=child%40school.test",
        "http://school.test/page;jsessionid=0123456789ABCDEF",
        "http://school.test/(S(abcdefgh12345678))/page.aspx",
        "http://school.test/?x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "http://[bad",
    ],
)
def test_an_address_that_carries_a_person_or_a_right_stays_out(url):
    assert has_secret(url)
    assert not allowed(asked(url=url), [("Cache-Control", "public")])


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/?id=5&page=2&q=tokens+of+rome",
        "http://school.test/session/timetable",
        "http://school.test/password-safety.html",
        "http://school.test/?side=left&key=value",
    ],
)
def test_an_ordinary_address_may_enter(url):
    assert allowed(asked(url=url))


@given(st.text(max_size=80), st.text(max_size=40))
def test_garbage_never_raises(url, value):
    headers = (("Cache-Control", value), ("Vary", value), ("Cookie", value))
    may_harvest(asked(url=url, headers=headers), headers, status=200, seen_without_cookie=False)
    has_secret(f"http://school.test/?{value}")


@given(st.text(alphabet='abc-=", \t', max_size=60))
def test_private_counts_wherever_it_is_a_directive(noise):
    assert "private" in directives((("Cache-Control", noise), ("Cache-Control", "private")))


@pytest.mark.parametrize(
    "name",
    [
        *("session_id", "session-id", "sesskey", "MoodleSession", "wstoken", "auth_key", "activation_key"),
        *("password_reset_key", "pass", "passcode", "login", "invite_code", "api-key", "csrf", "user.email"),
    ],
)
def test_an_address_with_a_secret_parameter_is_personal(name):
    assert has_secret(f"http://school.test/page?{name}=abc123")


@pytest.mark.parametrize(
    "name", ["q", "page", "id", "compass", "design", "lang", "iphone", "residue", "keyword"]
)
def test_an_address_with_an_ordinary_parameter_is_everybodys(name):
    assert not has_secret(f"http://school.test/page?{name}=abc123")


def test_a_personal_address_is_logged_without_what_makes_it_so():
    assert without_secret("http://a:b@school.test/reset;x=1?token=abc#d") == "http://school.test/reset"
    assert without_secret("http://school.test/page?q=volcano") == "http://school.test/page?q=volcano"


@pytest.mark.parametrize(
    "path", ["(S(lit3py55t21z5v55vlm25s55))/marks.aspx", "join/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x"]
)
def test_a_session_or_token_in_the_path_is_not_shared_either(path):
    assert without_secret(f"http://school.test/{path}") == "http://school.test/"


def test_an_address_made_to_be_slow_to_read_is_personal_at_once():
    assert has_secret("http://evil.test/x?" + "eyJ" * 200_000)
