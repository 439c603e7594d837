from dataclasses import replace

import pytest
from hypothesis import given

from proxy.cache.vary import can_decode, select, usable_offline, vary_names
from tests.caching import HEADERS, a_request, a_stored, cc

ENGLISH_OR_GERMAN = ("Accept-Language", "en, de")


def matches(stored_for, vary, asked, *headers):
    """Whether what was stored for one request answers another."""
    stored = a_stored(("Vary", vary), *headers, request=a_request(*stored_for))
    return select(a_request(*asked), (stored,)) is stored


def test_a_response_without_vary_answers_everyone():
    stored = a_stored()
    assert select(a_request(("Foo", "1")), (stored,)) is stored


@pytest.mark.parametrize(
    ("stored_for", "asked"),
    [
        ([("Foo", "1")], [("Foo", "1")]),
        ([("Foo", "1")], [("foo", "1"), ("Other", "2")]),
        ([("Foo", "1, 2")], [("Foo", "1"), ("Foo", "2")]),
        ([("Foo", "1,2")], [("Foo", " 1, 2 ")]),
        ([], []),
    ],
)
def test_the_same_selecting_fields_match(stored_for, asked):
    assert matches(stored_for, "Foo", asked)


@pytest.mark.parametrize(
    ("stored_for", "asked"),
    [
        ([("Foo", "1")], [("Foo", "2")]),
        ([("Foo", "1")], []),
        ([], [("Foo", "1")]),
        ([("Foo", "")], []),
        ([("Foo", "1, 2")], [("Foo", "2, 1")]),
        ([("Foo", "a")], [("Foo", "A")]),
    ],
)
def test_others_do_not(stored_for, asked):
    assert not matches(stored_for, "Foo", asked)


def test_every_named_field_has_to_match_in_any_order():
    stored_for = (("Foo", "1"), ("Bar", "abc"), ("Baz", "789"))
    assert matches(stored_for, "Foo, Bar, Baz", reversed(stored_for))
    assert not matches(stored_for, "Foo, Bar, Baz", (("Foo", "1"), ("Baz", "789"), ("Bar", "abcde")))
    assert not matches(stored_for, "Foo, Bar, Baz", stored_for[:2])


@pytest.mark.parametrize("vary", ["*", "*, *", "Foo, *", ", *"])
def test_vary_star_matches_no_request(vary):
    assert not matches([], vary, [])


@pytest.mark.parametrize("vary", ["", ",", " , "])
def test_an_empty_vary_is_no_vary(vary):
    assert matches([("Foo", "1")], vary, [("Foo", "2")])


@pytest.mark.parametrize("text", ["de, en", "eN, De", " en ,   de", "en;q=1, de;q=1.0", "EN,de; q=1"])
def test_languages_match_whatever_their_order_case_and_spacing(text):
    assert matches([ENGLISH_OR_GERMAN], "Accept-Language", [("Accept-Language", text)])


@pytest.mark.parametrize("text", ["en", "en, de;q=0.5", "en, fr"])
def test_other_languages_do_not(text):
    assert not matches([ENGLISH_OR_GERMAN], "Accept-Language", [("Accept-Language", text)])


def test_a_stored_language_that_is_preferred_to_all_others_fits():
    german = ("Content-Language", "de")
    asked = [("Accept-Language", "fr;q=0.5, de;q=1.0")]
    assert matches([ENGLISH_OR_GERMAN], "Accept-Language", asked, german)
    assert not matches([ENGLISH_OR_GERMAN], "Accept-Language", [("Accept-Language", "fr, de;q=0.5")], german)
    assert not matches([ENGLISH_OR_GERMAN], "Accept-Language", [("Accept-Language", "fr, de")], german)


@pytest.mark.parametrize("text", ["gzip, br", "br, gzip", "GZIP;q=1,BR", "gzip, deflate", "gzip"])
def test_a_stored_coding_answers_clients_that_accept_it(text):
    coding = ("Content-Encoding", "gzip")
    assert matches([("Accept-Encoding", "gzip, br")], "Accept-Encoding", [("Accept-Encoding", text)], coding)


@pytest.mark.parametrize("asked", [[], [("Accept-Encoding", "br")], [("Accept-Encoding", "gzip;q=0, br")]])
def test_no_client_gets_a_coding_it_cannot_decode(asked):
    coding = ("Content-Encoding", "gzip")
    assert not matches([("Accept-Encoding", "gzip, br")], "Accept-Encoding", asked, coding)


def test_what_was_not_compressed_for_one_who_could_read_more_fits_one_who_reads_less():
    assert matches([("Accept-Encoding", "gzip, br")], "Accept-Encoding", [("Accept-Encoding", "gzip")])
    assert not matches([("Accept-Encoding", "gzip")], "Accept-Encoding", [("Accept-Encoding", "gzip, br")])


def test_an_exact_match_goes_before_a_fitting_newer_one():
    fitting = a_stored(
        ("Vary", "Accept-Encoding"),
        ("Content-Encoding", "gzip"),
        request=a_request(("Accept-Encoding", "gzip")),
    )
    exact = a_stored(
        ("Vary", "Accept-Encoding"),
        ("Content-Encoding", "br"),
        request=a_request(("Accept-Encoding", "gzip, br")),
    )
    assert select(a_request(("Accept-Encoding", "br, gzip")), (fitting, exact)) is exact


def test_of_two_that_match_the_newest_is_taken():
    newest, older = a_stored(body=b"new"), a_stored(body=b"old")
    assert select(a_request(), (newest, older)) is newest


def test_offline_any_variant_is_served_unless_personal():
    other = a_stored(("Vary", "User-Agent"), request=a_request(("User-Agent", "a")))
    personal = a_stored(("Vary", "Cookie"), request=a_request(("Cookie", "a")))
    coded = a_stored(("Content-Encoding", "br"))
    assert usable_offline(a_request(), (personal, coded, other)) is other
    assert usable_offline(a_request(), (personal, coded)) is None


@given(HEADERS, HEADERS, HEADERS)
def test_selecting_never_raises_and_never_crosses_a_star(stored_for, headers, asked):
    stored = a_stored(*headers, request=a_request(*stored_for))
    star = a_stored(*headers, ("Vary", "*"), request=a_request(*stored_for))
    select(a_request(*asked), (stored,))
    can_decode(a_request(*asked), stored)
    assert select(a_request(*asked), (star,)) is None


@given(HEADERS, HEADERS)
def test_a_request_always_matches_what_was_stored_for_it(asked, headers):
    headers = tuple(header for header in headers if header[0] != "vary")
    request = a_request(*asked)
    stored = a_stored(*headers, ("Vary", "Accept-Language, Accept-Encoding, Cookie"), request=request)
    assert select(request, (stored,)) is stored


GZIP = ("Content-Encoding", "gzip")


def test_a_coded_body_is_selected_by_accept_encoding_even_if_vary_forgets_it():
    stored = a_stored(cc("max-age=60"), GZIP, request=a_request(("Accept-Encoding", "gzip, br;q=0.5")))
    assert stored.vary == (("accept-encoding", "br,gzip"),)
    for accepted in ("gzip", "br, gzip;q=0.1", "*", "GZIP"):
        assert select(a_request(("Accept-Encoding", accepted)), [stored]) is stored
    for refused in ("identity", "br", "gzip;q=0", "*;q=0", ""):
        assert select(a_request(("Accept-Encoding", refused)), [stored]) is None
    assert select(a_request(), [stored]) is None


def test_what_a_site_always_compresses_is_found_by_those_who_asked_like_the_first():
    stored = a_stored(cc("max-age=60"), GZIP)
    assert stored.vary == (("accept-encoding", ""),)
    assert select(a_request(), [stored]) is stored


def test_a_coded_body_stored_by_a_version_that_did_not_look_goes_to_those_who_can_read_it():
    old = replace(a_stored(cc("max-age=60"), GZIP), vary=())
    assert select(a_request(), [old]) is None
    assert select(a_request(("Accept-Encoding", "gzip")), [old]) is old


def test_what_one_site_may_read_is_selected_by_origin_even_if_vary_forgets_it():
    origin = ("Origin", "https://a.test")
    allowed = ("Access-Control-Allow-Origin", "https://a.test")
    stored = a_stored(cc("max-age=60"), allowed, request=a_request(origin))
    assert select(a_request(origin), [stored]) is stored
    assert select(a_request(("Origin", "https://b.test")), [stored]) is None
    assert select(a_request(), [stored]) is None
    for_all = a_stored(cc("max-age=60"), ("Access-Control-Allow-Origin", "*"), request=a_request(origin))
    assert select(a_request(), [for_all]) is for_all


def test_how_much_a_coding_is_liked_makes_no_variant():
    vary = ("Vary", "Accept-Encoding")
    first = a_stored(vary, request=a_request(("Accept-Encoding", "gzip, br;q=0.5")))
    second = a_stored(vary, request=a_request(("Accept-Encoding", "BR;q=1.0,gzip;q=0.001")))
    assert first.vary == second.vary


def test_a_vary_with_too_many_names_matches_no_request():
    many = ("Vary", ", ".join(f"a{number}" for number in range(50)))
    assert vary_names((many,)) == ("*",)
    assert vary_names((("Vary", "a" * 5000),)) == ("*",)


def test_a_field_of_absurd_size_is_compared_and_not_read():
    language = ("Accept-Language", "de," * 1000 + "en")
    stored = a_stored(("Vary", "Accept-Language"), ("Content-Language", "de"), request=a_request(language))
    assert select(a_request(language), [stored]) is stored
    assert select(a_request(("Accept-Language", "fr," * 1000)), [stored]) is None


def test_a_quotation_mark_hides_no_star():
    assert "*" in vary_names((("Vary", 'a="'), ("Vary", "*")))
    assert "*" in vary_names((("Vary", 'a=", *'),))
