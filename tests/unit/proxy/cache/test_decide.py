import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.decide import (
    FetchFromOrigin,
    GatewayTimeout,
    Revalidate,
    ServeStaleAndRevalidate,
    ServeStored,
    decide,
    may_answer_others,
    may_collapse,
    may_serve_stale,
    stale_for_outage,
)
from proxy.headers.cachecontrol import response_directives
from tests.caching import HEADERS, NOW, SETTINGS, a_request, a_stored, at, cc

TAG = ("ETag", '"a"')
FRESH = a_stored(cc("max-age=3600"), received_s=-60)
STALE = a_stored(cc("max-age=10"), received_s=-60)
STALE_TAGGED = a_stored(cc("max-age=10"), TAG, received_s=-60)


def decision(*asked, stored=(), method="GET", offline=False):
    variants = stored if isinstance(stored, tuple) else (stored,)
    return decide(a_request(*asked, method=method), variants, now=NOW, settings=SETTINGS, offline=offline)


def test_a_fresh_response_is_served():
    assert decision(stored=FRESH) == ServeStored(stored=FRESH)
    assert decision(method="HEAD", stored=FRESH) == ServeStored(stored=FRESH)


@pytest.mark.parametrize(
    "asked",
    [
        [("Cookie", "a=b")],
        [("Authorization", "x")],
        [("Range", "bytes=0-1")],
        [("If-None-Match", '"x"')],
        [("Pragma", "something")],
        [cc("nothing-to-see-here")],
        [cc("max-age=61")],
        [cc("min-fresh=3540")],
        [cc("only-if-cached")],
        [cc("max-stale")],
    ],
)
def test_a_fresh_response_is_served_unless_the_client_refuses_it(asked):
    assert decision(*asked, stored=FRESH) == ServeStored(stored=FRESH)


@pytest.mark.parametrize(
    "asked",
    [
        [cc("no-cache")],
        [("Pragma", "no-cache")],
        [cc("max-age=0")],
        [cc("max-age=59")],
        [cc("min-fresh=3541")],
        [cc("no-store")],
    ],
)
def test_the_client_may_refuse_a_stored_response(asked):
    assert decision(*asked, stored=FRESH).forward == "request"


def test_a_reload_revalidates_even_a_response_received_this_second():
    assert isinstance(decision(cc("max-age=0"), stored=a_stored(cc("max-age=60"), TAG)), Revalidate)


def test_nothing_stored_is_fetched():
    assert decision() == FetchFromOrigin(forward="uri-miss")


def test_a_stale_response_is_asked_about():
    asked = decision(stored=STALE_TAGGED)
    assert asked == Revalidate(stored=STALE_TAGGED, conditions=(("If-None-Match", '"a"'),), forward="stale")


def test_a_stale_response_without_validator_is_fetched_anew():
    assert decision(stored=STALE) == FetchFromOrigin(forward="stale", stored=STALE)


def test_a_head_of_a_stale_response_goes_to_the_origin_as_it_is():
    assert decision(method="HEAD", stored=STALE_TAGGED) == FetchFromOrigin(
        forward="stale", stored=STALE_TAGGED
    )


def test_no_cache_is_asked_about_however_fresh():
    stored = a_stored(cc("max-age=3600, no-cache"), TAG)
    assert isinstance(decision(stored=stored), Revalidate)


def test_no_cache_for_some_fields_does_not_hinder():
    stored = a_stored(cc('max-age=3600, no-cache="a"'), TAG)
    assert decision(stored=stored) == ServeStored(stored=stored)


@pytest.mark.parametrize("text", ["max-stale", "max-stale=1000"])
def test_a_client_may_accept_stale(text):
    assert decision(cc(text), stored=STALE) == ServeStored(stored=STALE)


def test_max_stale_is_limited_by_its_value_and_by_the_origin():
    assert decision(cc("max-stale=49"), stored=STALE).forward == "stale"
    strict = a_stored(cc("max-age=10, must-revalidate"), TAG, received_s=-60)
    assert isinstance(decision(cc("max-stale=1000"), stored=strict), Revalidate)


@pytest.mark.parametrize("stored", [(), STALE, a_stored(cc("no-cache"), TAG)])
def test_only_if_cached_is_a_timeout_when_nothing_will_do(stored):
    assert isinstance(decision(cc("only-if-cached"), stored=stored), GatewayTimeout)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "M-SEARCH"])
def test_other_methods_go_to_the_origin(method):
    assert decision(method=method, stored=FRESH) == FetchFromOrigin(forward="method")


@pytest.mark.parametrize("name", ["If-Match", "If-Unmodified-Since", "Upgrade"])
def test_requests_that_only_the_origin_can_answer_are_forwarded(name):
    assert decision((name, "x"), stored=FRESH) == FetchFromOrigin(forward="bypass")


def while_revalidating(stale_s, more=""):
    headers = cc(f"max-age=10, stale-while-revalidate=30{more}")
    return a_stored(headers, TAG, received_s=-10 - stale_s)


def test_within_its_window_a_stale_response_is_served_at_once():
    stored = while_revalidating(29)
    served = decision(stored=stored)
    assert served == ServeStaleAndRevalidate(stored=stored, conditions=(("If-None-Match", '"a"'),))


@pytest.mark.parametrize("stored", [while_revalidating(30), while_revalidating(5, ", must-revalidate")])
def test_after_it_or_when_forbidden_it_is_asked_about_first(stored):
    assert isinstance(decision(stored=stored), Revalidate)


def test_a_reload_does_not_get_it():
    assert isinstance(decision(cc("max-age=0"), stored=while_revalidating(5)), Revalidate)


def variant(value, *headers):
    return a_stored(cc("max-age=3600"), ("Vary", "Foo"), *headers, request=a_request(("Foo", value)))


def test_of_two_variants_each_gets_its_own():
    one, two = variant("1"), variant("2")
    assert decision(("Foo", "1"), stored=(two, one)) == ServeStored(stored=one)
    assert decision(("Foo", "2"), stored=(two, one)) == ServeStored(stored=two)


def test_another_variant_may_turn_out_to_be_the_answer():
    other = variant("1", TAG, ("Last-Modified", at(-3000)))
    asked = decision(("Foo", "2"), stored=other)
    assert asked == Revalidate(
        stored=other, conditions=(("If-None-Match", '"a"'),), forward="vary-miss", matches=False
    )


@pytest.mark.parametrize("stored", [variant("1"), variant("1", ("ETag", 'W/"a"'))])
def test_without_a_strong_tag_it_may_not(stored):
    assert decision(("Foo", "2"), stored=stored) == FetchFromOrigin(forward="vary-miss")


def test_a_client_with_conditions_of_its_own_asks_for_itself():
    asked = decision(("Foo", "2"), ("If-None-Match", '"mine"'), stored=variant("1", TAG))
    assert asked == FetchFromOrigin(forward="vary-miss")


@pytest.mark.parametrize("text", ["max-age=1", "max-age=1, must-revalidate", "no-cache", "s-maxage=1"])
def test_offline_every_stored_response_is_served(text):
    stored = a_stored(cc(text), TAG, received_s=-1000)
    assert decision(cc("no-cache"), stored=stored, offline=True) == ServeStored(stored=stored)


def test_offline_no_origin_is_asked():
    assert isinstance(decision(offline=True), GatewayTimeout)
    assert isinstance(decision(method="POST", stored=FRESH, offline=True), GatewayTimeout)


def test_offline_another_variant_is_better_than_nothing():
    other = variant("1")
    assert decision(("Foo", "2"), stored=other, offline=True) == ServeStored(stored=other)


def stands_in(text, *asked, status=None, stale_s=50):
    stored = a_stored(cc(f"max-age=10{text}"), received_s=-10 - stale_s)
    return may_serve_stale(a_request(*asked), stored, status=status, now=NOW, settings=SETTINGS)


def test_a_stale_response_is_served_if_the_origin_is_unreachable():
    assert stands_in("")
    assert stands_in("", cc("max-age=0"))


@pytest.mark.parametrize("text", [", must-revalidate", ", proxy-revalidate", ", s-maxage=10", ", no-cache"])
def test_not_when_the_origin_forbids_it(text):
    assert not stands_in(text)
    assert not stands_in(text + ", stale-if-error=100", status=503)


def test_nor_when_the_client_does():
    assert not stands_in("", cc("no-cache"))


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_for_an_error_a_stale_response_is_served_only_within_stale_if_error(status):
    assert not stands_in("", status=status)
    assert stands_in(", stale-if-error=51", status=status)
    assert not stands_in(", stale-if-error=50", status=status)
    assert stands_in("", cc("stale-if-error=51"), status=status)


@pytest.mark.parametrize("status", [0, 200, 404, 410, 501])
def test_a_stale_response_is_served_for_no_other_status(status):
    assert not stands_in(", stale-if-error=1000", status=status)


def outlasts(decided, *asked):
    return stale_for_outage(a_request(*asked), decided, now=NOW, settings=SETTINGS)


def test_during_an_outage_a_stale_response_is_served_at_once():
    assert outlasts(FetchFromOrigin(forward="stale", stored=STALE)) is STALE
    assert outlasts(Revalidate(stored=STALE, conditions=(), forward="stale")) is STALE


def test_but_not_to_a_reload_nor_to_those_it_does_not_match():
    assert outlasts(FetchFromOrigin(forward="stale", stored=STALE), cc("max-age=0")) is None
    assert outlasts(FetchFromOrigin(forward="uri-miss")) is None
    assert outlasts(ServeStored(stored=FRESH)) is None
    other = Revalidate(stored=STALE, conditions=(), forward="vary-miss", matches=False)
    assert outlasts(other) is None


def collapses(*asked, decided=None, method="GET"):
    return may_collapse(
        a_request(*asked, method=method), decided or FetchFromOrigin(forward="uri-miss"), SETTINGS
    )


def test_plain_gets_collapse():
    assert collapses()
    assert collapses(("Cookie", "a"))
    assert collapses(decided=Revalidate(stored=STALE, conditions=(), forward="stale"))
    assert collapses(
        ("If-None-Match", '"x"'), decided=Revalidate(stored=STALE, conditions=(), forward="stale")
    )


@pytest.mark.parametrize(
    "asked",
    [("Authorization", "x"), ("Range", "bytes=0-1"), ("If-None-Match", '"x"'), ("If-Modified-Since", at(0))],
)
def test_requests_that_may_get_their_own_response_do_not_collapse(asked):
    assert not collapses(asked)


def test_requests_that_may_poison_the_response_do_not_collapse():
    assert not collapses(("X-Forwarded-Host", "evil.test"))
    assert not collapses(("User-Agent", "<script>"))


@pytest.mark.parametrize("own", [("If-None-Match", "abc"), ("If-Modified-Since", "yesterday")])
def test_a_condition_that_only_the_origin_can_read_goes_on_as_it_is(own):
    stored = a_stored(cc("max-age=1"), ("ETag", '"a"'), received_s=-100)
    assert decision(own, stored=stored) == FetchFromOrigin(forward="stale", stored=stored)
    assert isinstance(decision(("If-None-Match", '"b", W/"c"'), stored=stored), Revalidate)


def test_only_gets_that_need_no_origin_collapse():
    assert not collapses(method="HEAD")
    assert not collapses(decided=FetchFromOrigin(forward="request"))
    assert not collapses(decided=FetchFromOrigin(forward="bypass"))
    assert not collapses(decided=ServeStored(stored=FRESH))


def test_a_fresh_response_may_answer_waiting_requests():
    assert may_answer_others(FRESH, now=NOW, settings=SETTINGS)
    assert not may_answer_others(STALE, now=NOW, settings=SETTINGS)
    assert not may_answer_others(a_stored(cc("no-cache, max-age=60")), now=NOW, settings=SETTINGS)


@given(HEADERS, st.lists(HEADERS, max_size=3), st.sampled_from(["GET", "HEAD", "POST"]), st.integers(0, 100))
def test_every_decision_obeys_the_rules(asked, stored, method, ago_s):
    request = a_request(*asked, method=method)
    variants = tuple(a_stored(*headers, received_s=-ago_s) for headers in stored)
    decided = decide(request, variants, now=NOW, settings=SETTINGS)
    may_collapse(request, decided, SETTINGS)
    stale_for_outage(request, decided, now=NOW, settings=SETTINGS)
    if isinstance(decided, ServeStored | ServeStaleAndRevalidate):
        assert method != "POST"
        assert not response_directives(decided.stored.headers).has_unqualified("no-cache")


@given(HEADERS, HEADERS, st.sampled_from([None, 500, 503, 404]))
def test_standing_in_never_raises(asked, headers, status):
    may_serve_stale(a_request(*asked), a_stored(*headers), status=status, now=NOW, settings=SETTINGS)


@pytest.mark.parametrize("header", [("Transfer-Encoding", "chunked"), ("Content-Length", "5")])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_with_a_body_is_neither_looked_up_nor_waited_for(header, method):
    asked = decision(header, stored=FRESH, method=method)
    assert asked == FetchFromOrigin(forward="bypass")
    assert not may_collapse(a_request(header), asked, SETTINGS)
    assert decision(header, stored=FRESH, method=method, offline=True) == GatewayTimeout(forward="bypass")


def test_an_empty_body_is_none():
    assert decision(("Content-Length", "0"), stored=FRESH) == ServeStored(stored=FRESH)


def test_another_persons_page_is_never_asked_about():
    alices = a_stored(cc("max-age=10"), TAG, ("Vary", "Cookie"), request=a_request(("Cookie", "alice")))
    assert decision(("Cookie", "bob"), stored=alices) == FetchFromOrigin(forward="vary-miss")


def test_a_response_from_the_future_is_stale():
    jumped = a_stored(cc("max-age=3600"), TAG, received_s=61)
    assert isinstance(decision(stored=jumped), Revalidate)
    assert isinstance(decision(cc("max-stale=1000"), stored=jumped), Revalidate)
    ahead = a_stored(cc("max-age=3600"), received_s=59)
    assert decision(stored=ahead) == ServeStored(stored=ahead)
