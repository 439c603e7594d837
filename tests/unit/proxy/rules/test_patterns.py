"""proxy.rules.patterns: globs and expressions over addresses, none of them slow."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.patterns import Glob, any_of, content_types, glob, regular
from repair.text import urls


@pytest.mark.parametrize(
    ("pattern", "address", "fits"),
    [
        ("example.org/old/*", "http://example.org/old/a", True),
        ("example.org/old/*", "https://EXAMPLE.org:443/old/a?b=c#d", True),
        ("example.org/old/*", "https://www.example.org/old/a", False),
        ("https://example.org/*", "http://example.org/", False),
        ("http*://example.org/*", "https://example.org/x", True),
        ("*.pdf", "http://a.test/x/y.pdf", True),
        ("*.pdf", "http://a.test/x/y.pdf?z", False),
        ("*://*.example.org/*", "https://www.example.org/", True),
        ("a.test/search?q=*", "http://a.test/search?q=frogs", True),
        ("a.test/search?q=*", "http://a.test/searchXq=frogs", False),
        ("a.test", "http://a.test/", True),
        ("a.test", "http://a.test/b", False),
        ("a.test:8080/*", "http://a.test:8080/x", True),
        ("a.test/a%20b", "http://a.test/a b", True),
        ("a.test/*/end", "http://a.test/x/y/end", True),
    ],
)
def test_a_glob_covers_the_whole_address(pattern, address, fits):
    assert glob(pattern).matches(urls.normal(address)) is fits


def test_an_address_without_stars_is_known_by_its_hash_and_a_host_by_its_name():
    assert glob("http://a.test/x").exact == ("http://a.test/x",)
    assert glob("a.test/x").exact == ("http://a.test/x", "https://a.test/x")
    assert glob("a.test:81/*").host == "a.test"
    assert glob("*.a.test/*").host == glob("http://*.a.test/*").host == ""


@given(st.text("ab*", min_size=1, max_size=8), st.text("ab", max_size=8))
def test_a_glob_is_what_the_expression_for_it_is(pattern, text):
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert Glob(tuple(pattern.split("*"))).matches(text) == bool(re.fullmatch(expression, text))


def test_an_expression_is_found_anywhere_in_the_address():
    assert regular(r"/(ads|track)/").matches("http://a.test/x/ads/y")
    assert not regular(r"^https:").matches("http://a.test/https:")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "((a*)*)*b", "(a|a)*$"])
def test_no_address_makes_an_expression_slow(pattern):
    compiled = regular(pattern)
    begun = time.perf_counter()
    compiled.matches("http://a.test/" + "a" * 7900 + "!")
    assert time.perf_counter() - begun < 0.5


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)b", "(?<!a)b", "(", "a{2000}", "x" * 1001])
def test_expressions_that_re2_cannot_run_are_refused(pattern):
    with pytest.raises(ValueError, match="expression|characters"):
        regular(pattern)


def test_many_expressions_are_looked_for_at_once():
    found = any_of(["(?i)ABC", "x$", "^https:"])
    assert found("http://a.test/abc")
    assert found("http://a.test/x")
    assert not found("http://a.test/xy")


def test_a_glob_with_many_stars_is_not_slow_either():
    compiled = glob("*" + "a*" * 900 + "b")
    begun = time.perf_counter()
    assert not compiled.matches("http://a.test/" + "a" * 7900)
    assert time.perf_counter() - begun < 0.5


@pytest.mark.parametrize("pattern", ["http://", "ftp://a.test/*", "http://a.test:x/", "http://a.test:99999/"])
def test_a_glob_that_can_match_nothing_is_refused(pattern):
    with pytest.raises(ValueError, match="cannot match"):
        glob(pattern)


def test_content_types_have_wildcards_and_ignore_parameters():
    types = content_types(["image/*", "application/*xml", "text/html"])
    assert types.entry_for("image/png") == "image/*"
    assert types.entry_for("Text/HTML; charset=utf-8") == "text/html"
    assert types.entry_for("application/xhtml+xml") == "application/*xml"
    assert types.entry_for("text/plain") == types.entry_for("") == ""


def test_an_invalid_content_type_is_refused():
    with pytest.raises(ValueError, match="content type"):
        content_types(["html"])


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_value_error(text):
    for make in (glob, regular, lambda each: content_types([each])):
        with suppress(ValueError):
            make(text)
