import pytest
from hypothesis import given

from proxy.cache.validation import conditions, freshen, is_not_modified, other_variant, updated_by_head
from proxy.messages import values
from tests.caching import HEADERS, NOW, a_request, a_stored, at, cc

TAG = ("ETag", '"abcdef"')
GZIPPED = ("Content-Encoding", "gzip")


def not_modified(asked, *headers, **stored):
    return is_not_modified(a_request(*asked), a_stored(*headers, **stored))


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ('"abcdef"', '"abcdef"'),
        ('"abcdef"', '"1234", "abcdef", "5678"'),
        ('"abcdef"', '"1234","5678","abcdef"'),
        ('"abc,def"', '"1234", "abc,def"'),
        ('"abcdef"', 'W/"abcdef"'),
        ('W/"abcdef"', '"abcdef"'),
        ('W/"abcdef"', 'W/"abcdef"'),
        ('w/"abcdef"', 'w/"abcdef"'),
        ('"abcdefü"', '"abcdefü"'),
        ('"abcdef"', "abcdef"),
        ("abcdef", '"abcdef"'),
        ("abcdef", "abcdef"),
        ('"abcdef"', "*"),
    ],
)
def test_a_copy_with_the_same_tag_is_good(tag, wanted):
    assert not_modified([("If-None-Match", wanted)], ("ETag", tag))


@pytest.mark.parametrize("wanted", ['"abc"', '"abcdef', '"ABCDEF"', "", '"abc", "def"', '""'])
def test_a_copy_with_another_tag_is_not(wanted):
    assert not not_modified([("If-None-Match", wanted)], TAG)


def test_without_a_tag_only_a_star_matches():
    assert not not_modified([("If-None-Match", '"abcdef"')])
    assert not_modified([("If-None-Match", "*")])


def test_the_tag_outranks_the_date():
    changed = ("Last-Modified", at(-5000))
    assert not_modified([("If-None-Match", '"abcdef"'), ("If-Modified-Since", at(-10_000))], TAG, changed)
    assert not not_modified([("If-None-Match", '"other"'), ("If-Modified-Since", at(0))], TAG, changed)


@pytest.mark.parametrize(
    ("headers", "since_s", "expected"),
    [
        ([("Last-Modified", at(-3000))], -3000, True),
        ([("Last-Modified", at(-3000))], -2000, True),
        ([("Last-Modified", at(-3000))], -3001, False),
        ([("Date", at(-100))], -100, True),
        ([("Date", at(-100))], -3000, False),
        ([("Date", "foo")], 0, True),
        ([("Date", "foo")], -1, False),
    ],
)
def test_a_copy_is_good_when_nothing_changed_since(headers, since_s, expected):
    assert not_modified([("If-Modified-Since", at(since_s))], *headers) is expected


def test_the_date_of_a_condition_may_have_an_old_form():
    changed = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    assert not_modified([("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")], changed)


@pytest.mark.parametrize("asked", [[], [("If-Modified-Since", "yesterday")], [("If-Match", '"abcdef"')]])
def test_without_a_condition_that_we_understand_the_whole_is_sent(asked):
    assert not not_modified(asked, TAG, ("Last-Modified", at(-3000)))


def test_only_a_200_can_be_not_modified():
    assert not not_modified([("If-None-Match", '"abcdef"')], TAG, status=404)


def test_the_origin_is_asked_with_both_validators_as_they_came():
    modified = at(-3000)
    assert conditions(a_stored(("ETag", 'W/"a"'), ("Last-Modified", modified))) == (
        ("If-None-Match", 'W/"a"'),
        ("If-Modified-Since", modified),
    )


@pytest.mark.parametrize(
    "stored",
    [
        a_stored(),
        a_stored(("Last-Modified", "yesterday")),
        a_stored(("ETag", '"a"'), ("ETag", '"b"')),
        a_stored(TAG, status=404),
    ],
)
def test_without_a_clear_validator_there_is_nothing_to_ask(stored):
    assert conditions(stored) == ()


def test_another_variant_is_asked_about_only_by_a_strong_tag_and_if_it_can_be_read():
    weak, gzipped, strong = a_stored(("ETag", 'W/"a"')), a_stored(TAG, GZIPPED), a_stored(TAG)
    assert other_variant(a_request(), (weak, gzipped, strong)) is strong
    assert other_variant(a_request(), (weak, gzipped)) is None
    assert other_variant(a_request(("Accept-Encoding", "gzip")), (gzipped,)) is gzipped


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "Accept-Language, cookie", "X-Auth-Token"])
def test_no_other_variant_is_revalidated_if_one_is_personal(name):
    alices, anyones = a_stored(TAG, ("Vary", name)), a_stored(TAG, ("Vary", "Accept-Language"))
    assert other_variant(a_request(), (alices,)) is None
    assert other_variant(a_request(), (anyones, alices)) is None
    assert other_variant(a_request(), (anyones,)) is anyones


def merged(stored, *headers, request=None):
    return freshen(request or a_request(), stored, headers, requested_at=NOW + 9, received_at=NOW + 10)


def test_a_304_brings_new_headers_and_a_new_age():
    stored = a_stored(TAG, cc("max-age=2"), ("A", "1"), ("B", "1"), ("Age", "30"), received_s=-60)
    new = merged(stored, TAG, cc("max-age=3600"), ("a", "2"))
    assert (new.requested_at, new.received_at, new.body) == (NOW + 9, NOW + 10, stored.body)
    assert values(new.headers, "cache-control") == ["max-age=3600"]
    assert values(new.headers, "a") == ["2"]
    assert values(new.headers, "b") == ["1"]
    assert values(new.headers, "date") == [at(10)]
    assert values(new.headers, "age") == []


@pytest.mark.parametrize("name", ["Content-Length", "Content-Encoding", "Content-Type", "Content-Range"])
def test_a_304_changes_nothing_that_describes_the_stored_bytes(name):
    stored = a_stored(("Content-Type", "text/html"), ("Content-Encoding", "br"), ("Content-Range", "x"))
    assert values(merged(stored, (name, "9")).headers, name) == values(stored.headers, name)


@pytest.mark.parametrize("name", ["Set-Cookie", "Connection", "Transfer-Encoding", "Keep-Alive"])
def test_a_304_adds_nothing_that_may_not_be_stored(name):
    assert not values(merged(a_stored(TAG), (name, "x")).headers, name)


def test_a_304_about_something_else_changes_nothing():
    assert merged(a_stored(TAG), ("ETag", '"ghijkl"')) is None
    assert merged(a_stored(TAG), ("ETag", 'W/"abcdef"')) is not None


def test_a_304_to_another_variants_tag_makes_it_this_requests_variant():
    stored = a_stored(TAG, ("Vary", "Abc"), request=a_request(("Abc", "123")))
    assert merged(stored, TAG, request=a_request(("Abc", "456"))).vary == (("abc", "456"),)


def head(stored, *headers):
    return updated_by_head(a_request(method="HEAD"), stored, headers, requested_at=NOW, received_at=NOW)


def test_a_head_updates_the_stored_response():
    new = head(a_stored(TAG, cc("max-age=2"), ("A", "1"), ("B", "1")), cc("max-age=1000"), ("A", "2"))
    assert values(new.headers, "cache-control") == ["max-age=1000"]
    assert (values(new.headers, "a"), values(new.headers, "b")) == (["2"], ["1"])


@pytest.mark.parametrize(
    "header", [("ETag", '"other"'), ("Last-Modified", at(-1)), ("Content-Length", "99999")]
)
def test_a_head_that_shows_a_change_ends_it(header):
    assert head(a_stored(TAG, ("Last-Modified", at(-3000))), header) is None


@given(HEADERS, HEADERS, HEADERS)
def test_nothing_raises_and_the_bytes_keep_their_length(asked, headers, new):
    request, stored = a_request(*asked), a_stored(*headers)
    is_not_modified(request, stored)
    conditions(stored)
    other_variant(request, (stored,))
    updated_by_head(request, stored, new, requested_at=NOW, received_at=NOW)
    after = freshen(request, stored, new, requested_at=NOW, received_at=NOW)
    if after is not None:
        assert values(after.headers, "content-length") == ["11"]
        assert not values(after.headers, "set-cookie")
