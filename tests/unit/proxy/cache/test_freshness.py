import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.freshness import ERRORS_FRESH_S, age_s, forbids_stale, lifetime_s, terms_of
from proxy.headers.cachecontrol import response_directives
from tests.caching import HEADERS, NOW, SETTINGS, a_stored, at, cc

DAY_S = 86_400


def lifetime(*headers, status=200):
    return lifetime_s(a_stored(*headers, status=status), SETTINGS)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([cc("max-age=3600")], 3600),
        ([cc("max-age=3600"), ("Expires", "0")], 3600),
        ([cc("max-age=0"), ("Expires", at(3600))], 0),
        ([cc("s-maxage=3600, max-age=1")], 3600),
        ([cc("max-age=3600"), cc("s-maxage=1")], 1),
        ([("Expires", at(-10)), cc("max-age=0, s-maxage=3600")], 3600),
        ([("Expires", at(600)), ("Date", at(0))], 600),
        ([("Expires", at(600))], 600),
        ([("Expires", at(600)), ("Date", "foo")], 600),
        ([("Expires", at(10)), ("Date", at(-10))], 20),
        ([("Expires", at(300)), ("Date", at(400))], 0),
        ([("Expires", at(-600))], 0),
        ([("Expires", "0")], 0),
        ([("Expires", "Thu, 18 Aug 2050 02:01:18 UTC")], 0),
        ([], 0),
    ],
)
def test_the_origin_sets_the_lifetime(headers, expected):
    assert lifetime(*headers) == expected


@pytest.mark.parametrize("status", [200, 203, 204, 404, 410])
def test_without_a_word_a_tenth_of_the_time_since_the_last_change(status):
    assert lifetime(("Last-Modified", at(-1000)), status=status) == 100


@pytest.mark.parametrize("status", [201, 202, 302])
def test_other_statuses_are_not_guessed_at_unless_public(status):
    assert lifetime(("Last-Modified", at(-1000)), status=status) == 0
    assert lifetime(("Last-Modified", at(-1000)), cc("public"), status=status) == 100


@pytest.mark.parametrize("status", [400, 405, 414, 499, 500, 501, 503, 599])
def test_an_error_that_may_have_another_cause_than_the_page_is_not_believed_for_long(status):
    assert lifetime(cc("max-age=86400"), status=status) == ERRORS_FRESH_S
    assert lifetime(cc("max-age=5"), status=status) == 5
    assert lifetime(cc("max-age=86400"), status=404) == 86400


def test_a_guess_has_its_limit():
    assert lifetime(("Last-Modified", at(-1000 * DAY_S))) == SETTINGS.heuristic_max_s


def test_a_page_changed_in_the_future_is_not_fresh():
    assert lifetime(("Last-Modified", at(1000))) == 0


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["30"], 30),
        (["7200, 0"], 7200),
        (["0, 7200"], 0),
        (["7200", "0"], 7200),
        (["0", "7200"], 0),
        (["3600", "3600"], 3600),
        (["2147483649"], 2**31),
        (["9" * 5000], 2**31),
        (["abc"], 0),
        (["-7200"], 0),
        (["7200.0"], 0),
        (["7200;foo=bar"], 0),
        ([""], 0),
    ],
)
def test_the_first_age_counts_and_nonsense_is_ignored(lines, expected):
    assert age_s(a_stored(*(("Age", line) for line in lines)), NOW) == expected


@pytest.mark.parametrize(
    ("headers", "received_s", "took_s", "expected"),
    [
        ([], -60, 0, 60),
        ([("Age", "30")], -60, 0, 90),
        ([("Age", "30")], -60, 5, 95),
        ([("Date", at(-100))], -60, 0, 100),
        ([("Date", at(-100)), ("Age", "10")], -60, 0, 100),
        ([("Date", at(3600))], -60, 0, 60),
        ([("Date", "foo")], -60, 0, 60),
    ],
)
def test_age_is_the_larger_of_date_and_age_plus_the_time_here(headers, received_s, took_s, expected):
    assert age_s(a_stored(*headers, received_s=received_s, took_s=took_s), NOW) == expected


def test_ttl_goes_down_and_below_zero():
    stored = a_stored(cc("max-age=100"), received_s=-60)
    assert terms_of(stored, SETTINGS).ttl_s(NOW) == 40
    assert terms_of(stored, SETTINGS).ttl_s(NOW + 100) == -60


@pytest.mark.parametrize("text", ["must-revalidate", "proxy-revalidate", "s-maxage=2", "no-cache"])
def test_the_origin_can_forbid_stale_answers(text):
    assert forbids_stale(response_directives((cc(f"max-age=2, {text}"),)))


@pytest.mark.parametrize("text", ["max-age=2", "public", 'no-cache="a"', "stale-if-error=5"])
def test_stale_answers_are_not_forbidden_by_anything_else(text):
    assert not forbids_stale(response_directives((cc(text),)))


@given(HEADERS, st.integers(-(10**9), 10**9), st.integers(-100, 100), st.integers(100, 999))
def test_age_and_lifetime_are_never_negative(headers, received_s, took_s, status):
    stored = a_stored(*headers, received_s=received_s, took_s=took_s, status=status)
    assert age_s(stored, NOW) >= 0
    assert lifetime_s(stored, SETTINGS) >= 0


def test_after_our_clock_was_set_back_nothing_stored_before_is_fresh():
    assert terms_of(a_stored(cc("max-age=3600"), received_s=59), SETTINGS).ttl_s(NOW) == 3600
    for said in ("max-age=3600", "max-age=99999999999"):
        assert terms_of(a_stored(cc(said), received_s=61), SETTINGS).ttl_s(NOW) <= 0
