import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.memento.weblinks import MAX_PARAMETERS, weblinks

RFC_7089 = """
 <http://a.example.org>;rel="original",
 <http://arxiv.example.net/timemap/http://a.example.org>
   ; rel="self";type="application/link-format"
   ; from="Tue, 20 Jun 2000 18:02:59 GMT"
   ; until="Wed, 09 Apr 2008 20:30:51 GMT",
 <http://arxiv.example.net/web/20000620180259/http://a.example.org>
   ; rel="first memento";datetime="Tue, 20 Jun 2000 18:02:59 GMT"
   ; license="http://creativecommons.org/publicdomain/zero/1.0/"
"""


def _read(text):
    return [(link.target, link.parameters) for link in weblinks(text)]


def test_the_example_of_the_rfc_is_parsed():
    original, itself, first = weblinks(RFC_7089)
    assert original.target == "http://a.example.org"
    assert itself.parameters["until"] == "Wed, 09 Apr 2008 20:30:51 GMT"
    assert first.rels == {"first", "memento"}
    assert set(first.parameters) == {"rel", "datetime", "license"}


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("<http://a/x,y;z>; rel=memento", [("http://a/x,y;z", {"rel": "memento"})]),
        ("<a>; rel=x <b>; rel=y", [("a", {"rel": "x"}), ("b", {"rel": "y"})]),
        ("<a>;rel=x,\n<b>;rel=y,", [("a", {"rel": "x"}), ("b", {"rel": "y"})]),
        ("< a >", [("a", {})]),
        ('<a>; title="x \\" , <y>"; rel=z', [("a", {"title": 'x " , <y>', "rel": "z"})]),
        ("<a>; REL = Memento; rel=second", [("a", {"rel": "Memento"})]),
        ('<a>; rel="never closed', [("a", {"rel": "never closed"})]),
        ("<a <b>; rel=x", [("b", {"rel": "x"})]),
        ("<a>; flag; ;; rel=x", [("a", {"flag": "", "rel": "x"})]),
        ("no link", []),
        ("<", []),
        ("<>", []),
        (f"<{'a' * 9000}>, <b>", [("b", {})]),
    ],
)
def test_malformed_links_are_parsed(text, links):
    assert _read(text) == links


def test_parameters_beyond_the_limit_are_dropped():
    link = next(weblinks("<a>" + "".join(f";p{number}=1" for number in range(1000))))
    assert len(link.parameters) == MAX_PARAMETERS


@given(st.text(alphabet='<>;,="\\ \nabc', max_size=200) | st.text(max_size=200))
def test_any_text_is_parsed_without_an_exception(text):
    for link in weblinks(text):
        assert link.target
        assert "<" not in link.target


@given(
    st.lists(
        st.tuples(st.from_regex(r"http://[a-z,;=]{1,20}", fullmatch=True), st.text(max_size=20)), max_size=5
    )
)
def test_formatting_and_parsing_round_trip(links):
    written = ",\n".join(
        '<{}>; title="{}"'.format(url, title.replace("\\", "\\\\").replace('"', '\\"'))
        for url, title in links
    )
    assert [(link.target, link.parameters["title"]) for link in weblinks(written)] == links


@pytest.mark.parametrize(
    "piece",
    ["<", "<>", "<a", "<a>", '<a>;x="', '<a>;x="\\"', "<a>;", ";", '"', "\\", " ", "<a>; = ", "<a>;b=\n"],
)
def test_time_is_linear_in_hostile_text(piece):
    text = ("<a>" if piece in ';"\\ ' else "") + piece * (500_000 // len(piece))
    started = time.process_time()
    sum(1 for _ in weblinks(text))
    assert time.process_time() - started < 3.0  # quadratic would take hours
