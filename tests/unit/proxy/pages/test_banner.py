"""proxy.pages.banner: the note on a page to which a rule has redirected the user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.pages.banner import banner, with_banner
from proxy.pages.language import LANGUAGES, catalogue

NOTE = b"<div>note</div>"
HTML = "text/html; charset=utf-8"


def test_note_is_inserted_right_after_the_body_tag():
    page = b"<html><body class=\"a > b\" onload='x>y'><h1>Lava</h1></body></html>"
    assert with_banner(page, HTML, NOTE) == page.replace(b"<h1>", NOTE + b"<h1>")


@pytest.mark.parametrize(
    "decoy",
    [
        b"<!-- <body> -->",
        b"<script>let a = '<body>';</script>",
        b"<title>about <body> tags</title>",
        b"<style>/* <body> */</style>",
        b"<bodyguard>",
    ],
)
def test_what_only_looks_like_a_body_tag_is_left_alone(decoy):
    page = b"<head>" + decoy + b"</head><body><p>Lava</p>"
    assert with_banner(page, HTML, NOTE) == page.replace(b"<p>", NOTE + b"<p>")


def test_a_page_without_a_body_tag_gets_the_note_at_its_end():
    assert with_banner(b"<p>Lava", HTML, NOTE) == b"<p>Lava" + NOTE


@pytest.mark.parametrize(
    ("body", "kind"),
    [("<body>".encode("utf-16"), "text/html"), (b"<body>", "text/html; charset=UTF-16LE"), (b"<\0b\0", HTML)],
)
def test_wide_encoding_gets_no_note(body, kind):
    assert with_banner(body, kind, NOTE) is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_note_names_the_missing_address_harmlessly_in_plain_ascii(code):
    said = banner('http://school.test/<script>alert(1)</script>"onmouseover=x', catalogue(code))
    assert b"school.test" in said
    assert b"<script" not in said
    assert b'"onmouseover' not in said
    assert said.isascii()


def test_only_an_address_that_may_be_a_link_becomes_one():
    assert b"<a href" not in banner("javascript:alert(1)", catalogue("en"))


@given(body=st.binary(max_size=300))
def test_nothing_of_a_page_is_lost(body):
    noted = with_banner(body, HTML, NOTE)
    assert noted is None or noted.replace(NOTE, b"", 1) == body.replace(NOTE, b"", 1) or NOTE in body


def test_a_hostile_page_costs_little():
    for hostile in (b"<!--" * 100_000, b"<script>" * 60_000, b"<body " * 80_000, b"<body '" * 80_000):
        assert with_banner(hostile, HTML, NOTE) is not None
