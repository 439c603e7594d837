"""Other readings of addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.urlspellings import most_lenient

SITE = "http://school.test"


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("//a", "/a"),
        ("/a%2Fb", "/a/b"),
        ("/a%252fb", "/a/b"),
        ("/a\\b%5cc", "/a/b/c"),
        ("/a;x=1/b;y", "/a/b"),
        ("/x//..//a", "/x/../a"),
        ("/a.html%00.png", "/a.html"),
        ("/;x?to=//b;c", "/?to=//b;c"),
    ],
)
def test_an_address_is_read_as_lenient_servers_do(path, read):
    assert most_lenient(SITE + path) == SITE + read


@pytest.mark.parametrize("path", ["/", "/a/b.html", "/a?to=//b;c%2f", "/a/../b"])
def test_most_addresses_are_read_in_one_way(path):
    assert most_lenient(SITE + path) is None


@given(st.text())
def test_any_text_can_be_asked_about(text):
    for url in (text, f"{SITE}/{text}"):
        read = most_lenient(url)
        assert read is None or read.lower().startswith("http")
