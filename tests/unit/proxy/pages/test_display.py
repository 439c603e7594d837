import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.pages.display import MAX_TARGET, address, clean, clean_spans, link_target, shorten
from repair.model import Span


def test_invisible_and_direction_changing_characters_go():
    assert clean("safe\u202egnp.exe\u2066\u200b\x07\x1b[2J\ufeff", 50) == "safegnp.exe[2J"


def test_joiners_that_shape_words_stay():
    assert clean("क्\u200dष می\u200cخواهم", 50) == "क्\u200dष می\u200cخواهم"


def test_no_character_escapes_cleaning():
    shown = {chr(code): clean(f"a{chr(code) * 6}b", 50) for code in range(0x10000)}
    kinds = {character: unicodedata.category(character) for character in shown}
    stacked = {each for each, text in shown.items() if kinds[each][0] == "M" and text.count(each) > 4}
    hidden = {
        each for each, text in shown.items() if kinds[each] in ("Cc", "Cf", "Co", "Cs") and each in text
    }
    assert (stacked, hidden) == (set(), {"\u200c", "\u200d"})


def test_text_is_put_on_one_line():
    assert clean("  a \r\n\t b\u2028c  ", 50) == "a b c"


def test_long_text_is_cut_with_an_ellipsis():
    assert clean("word " * 30_000, 20) == "word word word word…"


def test_stacked_combining_marks_are_limited():
    assert len(clean("z" + "\u0301" * 5_000, 5_000)) <= 5


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_clean_text_is_short_and_has_no_controls(text, limit):
    template_values = clean(text, limit)
    assert len(template_values) <= limit
    assert not {unicodedata.category(char) for char in template_values} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(template_values) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    )


def test_a_snippet_keeps_its_marks_and_its_spaces():
    spans = (Span(text="the "), Span(text="water", marked=True), Span(text=" cycle"))
    assert clean_spans(spans, 100) == spans


def test_a_snippet_is_bounded():
    spans = tuple(Span(text="x" * 1_000, marked=bool(n % 2)) for n in range(1_000))
    assert sum(len(span.text) for span in clean_spans(spans, 100)) <= 102


@pytest.mark.parametrize(
    "url", ["http://school.test/", "https://school.test:8443/a?b=c#d", "HTTP://SCHOOL.test"]
)
def test_web_addresses_may_become_links(url):
    assert link_target(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt://school.test/%0aalert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "ftp://school.test/",
        "//school.test/",
        "/path",
        "",
        "http://",
        "http:///path",
        "http://user:password@school.test/",
        "http://bank.test@evil.test/",
        "http://school.test\\@evil.test/",
        "http://school.test/\u202egnp.exe",
        "http://school.test/ space",
        "http://[::1",
        "http://school.test:99999999/",
        "http://school.test/\ud800",
        "http://school.test/" + "a" * MAX_TARGET,
    ],
)
def test_nothing_else_becomes_a_link(url):
    assert link_target(url) is None


@given(st.text())
def test_a_link_target_is_always_http(text):
    target = link_target(text)
    assert target is None or target.lower().startswith(("http://", "https://"))


@given(st.text())
def test_any_text_has_an_address_to_show(text):
    template_values = address(text)
    assert len(template_values.host) <= 90
    assert len(template_values.path) <= 90


def test_a_path_is_shown_in_the_letters_it_is_written_in():
    template_values = address("http://maktaba.test/%D8%B9%D9%84%D9%88%D9%85")
    assert (template_values.host, template_values.path) == ("maktaba.test", "/علوم")


def test_undecodable_path_is_shown_as_sent():
    assert address("http://school.test/%ff%fe").path == "/%ff%fe"


def test_the_bare_start_page_is_shown_as_its_host():
    assert address("http://school.test/").path == ""


@pytest.mark.parametrize(
    ("url", "host", "ascii_host"),
    [
        ("http://school.test/", "school.test", ""),
        ("http://xn--mnchen-3ya.test/", "münchen.test", ""),
        ("http://xn--mgbh0fb.test/", "مثال.test", ""),
        ("http://xn--80ak6aa92e.test/", "аррӏе.test", "xn--80ak6aa92e.test"),
        ("http://sch\u043eol.test/", "sch\u043eol.test", "xn--schol-rpf.test"),
        ("http://xn--zzzzzzzz9.test/", "xn--zzzzzzzz9.test", ""),
    ],
)
def test_misleading_host_is_shown_with_its_ascii_name(url, host, ascii_host):
    template_values = address(url)
    assert template_values.host == host
    assert bool(template_values.ascii_host) == bool(ascii_host)
    assert template_values.ascii_host.startswith("xn--") or not ascii_host


def test_a_long_address_keeps_its_beginning_and_its_end():
    assert shorten("/a-very-long/path/to/leaves.html", 20) == "/a-very-long/…s.html"
