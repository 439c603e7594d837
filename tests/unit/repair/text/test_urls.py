"""Addresses: normal form, resolving, sites, words, shorter forms."""

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.urls import directory, is_web_url, normal, path_words, resolve, shorter_urls, site
from tests.examples import examples


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("HTTP://School.Test", "http://school.test/"),
        ("http://school.test:80/a", "http://school.test/a"),
        ("https://school.test:443/a", "https://school.test/a"),
        ("http://school.test:8080/a", "http://school.test:8080/a"),
        ("http://school.test:/a", "http://school.test/a"),
        ("http://school.test/a#part", "http://school.test/a"),
        ("http://school.test/a/./b/../c/.", "http://school.test/a/c/"),
        ("http://school.test/../../a", "http://school.test/a"),
        ("http://school.test/%7euser/%2E%2e/a", "http://school.test/a"),
        ("http://school.test/%c3%a9 é", "http://school.test/%C3%A9%20%C3%A9"),
        ("http://school.test/100%", "http://school.test/100%25"),
        ("http://school.test/a%2fb", "http://school.test/a%2Fb"),
        ("http://school.test?q=1", "http://school.test/?q=1"),
        ("http://school.test/?", "http://school.test/"),
        ("http://school.test/?b=2&a=1", "http://school.test/?b=2&a=1"),
        ("http://user:secret@school.test/a", "http://school.test/a"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
        (" \thttp://school.test/a\nb ", "http://school.test/ab"),
        ("http:\\\\school.test\\a", "http://school.test/a"),
        ("http://a_b.test/", "http://a_b.test/"),
    ],
)
def test_a_url_has_one_normal_form(written, expected):
    assert normal(written) == expected


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "school.test/a",
        "/a",
        "ftp://school.test/",
        "javascript:alert(1)",
        "http://",
        "http:///a",
        "http://a b.test/",
        "http://school.test:99999/",
        "http://school.test:x/",
        "http://[::1/",
        "http://[nonsense]/",
        "http://%00/",
        "http://" + "a" * 300 + "/",
        "http://school.test/" + "a" * 9_000,
    ],
)
def test_what_is_no_web_address_is_a_value_error(hostile):
    assert not is_web_url(hostile)
    with pytest.raises(ValueError):  # noqa: PT011  the message is for people
        normal(hostile)


@given(st.text(max_size=60))
def test_the_normal_form_of_a_normal_form_is_itself(rest):
    url = f"http://school.test/{rest}"
    assert normal(normal(url)) == normal(url)


@given(st.text(max_size=80), st.text(max_size=40))
def test_nothing_but_a_value_error_comes_of_garbage(text, other):
    for url in (text, f"http://{text}", f"http://{text}/{other}", f"https://{text}?{other}"):
        if is_web_url(url):
            assert normal(normal(url)) == normal(url)
            assert normal(url).isprintable()
        path_words(url), shorter_urls(url), site(url), directory(url), resolve(url, other)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("b.html", "http://school.test/a/b.html"),
        ("/b", "http://school.test/b"),
        ("//other.test/b", "http://other.test/b"),
        ("?q=1", "http://school.test/a/page?q=1"),
        ("#part", "http://school.test/a/page"),
        ("../c", "http://school.test/c"),
        (" https://Other.test ", "https://other.test/"),
        ("javascript:void(0)", None),
        ("JAVASCRIPT:x", None),
        ("java\nscript:x", None),
        ("mailto:a@school.test", None),
        ("data:text/html,x", None),
        ("http://[bad", None),
        ("//[bad", None),
    ],
)
def test_a_link_resolves_against_its_page(href, expected):
    assert resolve("http://school.test/a/page", href) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.library.school.co.uk/a", "school.co.uk"),
        ("http://pupil.github.io/", "pupil.github.io"),
        ("http://www.school.test/", "school.test"),
        ("http://localhost:8000/", "localhost"),
        ("http://192.168.1.1/a", "192.168.1.1"),
        ("http://[::1]/", "[::1]"),
        ("nonsense", ""),
    ],
)
def test_a_site_is_the_registrable_domain(url, expected):
    assert site(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.school.co.uk/index.html", ("school",)),
        ("http://school.org/water-cycle_for%20kids.php", ("school", "water", "cycle", "for", "kids")),
        ("http://school.org/files/Water-Cycle.PDF", ("school", "files", "water", "cycle")),
        ("http://school.org/maps/nile.jpeg", ("school", "maps", "nile")),
        ("http://school.org/homework_3.docx?week=2", ("school", "homework", "3", "week", "2")),
        ("http://school.org/pdf/about.png/", ("school", "pdf", "about", "png")),
        ("http://school.org/SchoolLibrary", ("school", "schoollibrary", "library")),
        ("http://school.org/HTMLParser2", ("school", "htmlparser2", "html", "parser", "2")),
        ("http://school.org/learn/html/", ("school", "learn", "html")),
        ("http://school.org/?topic=Old+Rome", ("school", "topic", "old", "rome")),
        ("http://10.0.0.1/volcano", ("volcano",)),
        ("http://xn--bcher-kva.example.org/", ("bücher", "example")),
        ("http://school.org/%E0%A4%B9%E0%A4%BF%E0%A4%A8%E0%A5%8D%E0%A4%A6%E0%A5%80", ("school", "हिन्दी")),
        ("nonsense", ()),
    ],
)
def test_path_words_are_what_the_address_says(url, expected):
    assert path_words(url) == expected


def test_shorter_addresses_come_nearest_first_and_end_at_the_root():
    assert shorter_urls("http://school.test/a/b/c.html?q=1") == (
        "http://school.test/a/b/c.html",
        "http://school.test/a/b/",
        "http://school.test/a/",
        "http://school.test/",
    )


def test_the_root_has_no_shorter_address():
    assert shorter_urls("http://school.test/") == ()


def test_a_directory_ends_in_a_slash():
    assert directory("http://school.test/a/b?q=/") == "http://school.test/a/"


_PIECES = st.sampled_from(
    (
        "/",
        "a",
        "b.html",
        ".",
        "..",
        "../",
        "?",
        "#",
        "x=1",
        "&",
        "%41",
        "~",
        ";",
        ":",
        "//",
        "A",
        " ",
        "\\",
        ".x",
    )
)
_REFERENCES = st.lists(_PIECES, max_size=6).map("".join)


@examples(600)
@given(
    st.sampled_from(("http://h.test", "https://127.0.0.1:8443", "http://H.test:80", "http://localhost")),
    st.sampled_from(("a/b/c.html", "a/b/", "a/b?x=1", "a//b")) | _REFERENCES,
    st.sampled_from(("../d.html", "../../../d", "e/f.html#g", "/h?i=j")) | _REFERENCES,
)
def test_a_link_resolves_as_the_standard_library_would_have_it(host, path, href):
    base = f"{host}/{path}"
    tidied = href.strip(" ").replace("\\", "/")
    try:
        expected = normal(tidied if tidied.startswith("http:") else urljoin(base, tidied))
    except ValueError:
        expected = None
    assert resolve(base, href) == expected
