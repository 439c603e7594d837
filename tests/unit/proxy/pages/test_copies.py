import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from proxy.pages.copies import copy_page
from proxy.pages.language import catalogue
from proxy.portal.linkjudging import LinkMark
from repair.model import HeldCopy
from tests.offers import SAVED_AT

ENGLISH = catalogue("en")


def a_copy(
    body=b"<html><head></head><body>x", content_type="text/html; charset=utf-8", url="http://a.test/b/c"
):
    return HeldCopy(url=url, content_type=content_type, body=body, fetched_at=SAVED_AT)


def template_values(body, **known):
    return copy_page(a_copy(body, **known), ENGLISH).body


def test_links_of_a_copy_are_marked_and_the_marks_explained():
    html = b"<head><base href=/d/></head><a href=dead>x</a>"
    marks = (LinkMark(target="http://a.test/d/dead"),)
    marked = copy_page(a_copy(html), ENGLISH, marks).body
    assert b'<a data-linkmend="nowhere"' in marked
    assert b"Links with &#8776; lead" in marked
    assert b"a[data-linkmend" in marked
    assert b"data-linkmend" not in copy_page(a_copy(html), ENGLISH).body
    assert b"data-linkmend" not in copy_page(a_copy(html, "application/xhtml+xml"), ENGLISH, marks).body


def test_links_of_a_copy_keep_their_targets():
    body = template_values(b"<!doctype html><html><head class=x><title>t</title></head><body>")
    assert body.startswith(
        b'<!doctype html><html><head class=x><base href="http://a.test/b/c"/><title>t</title>'
    )


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        (b"<!doctype html><p>x", b'<!doctype html><base href="http://a.test/b/c"/><p>x'),
        (b"<html lang=en><p>x", b'<html lang=en><base href="http://a.test/b/c"/><p>x'),
        (b"<p>x", b'<base href="http://a.test/b/c"/><p>x'),
        (b"\xef\xbb\xbf<p>x", b'\xef\xbb\xbf<base href="http://a.test/b/c"/><p>x'),
        (b"<!-- <head> --><head><title>", b'<!-- <head> --><head><base href="http://a.test/b/c"/><title>'),
        (b"<header>", b'<base href="http://a.test/b/c"/><header>'),
        (b"", b'<base href="http://a.test/b/c"/>'),
    ],
)
def test_the_base_goes_as_early_as_the_markup_allows(body, begins):
    assert template_values(body).startswith(begins)


@pytest.mark.parametrize(
    ("own", "base"),
    [
        ("http://other.test/d/", "http://other.test/d/"),
        ("/d/", "http://a.test/d/"),
        ("", "http://a.test/b/c"),
        ("http://[", "http://a.test/b/c"),
    ],
)
def test_a_base_of_its_own_still_counts(own, base):
    tree = LexborHTMLParser(template_values(f"<head><base href='{own}'></head>".encode()).decode())
    assert tree.css_first("base[href]").attributes["href"] == base


def test_an_address_cannot_break_out_of_the_base():
    body = template_values(b"<head></head>", url='http://a.test/"><script>alert(1)</script>')
    assert b"<script" not in body


def test_a_copy_may_not_run_anything():
    policy = dict(copy_page(a_copy(), ENGLISH).headers)["Content-Security-Policy"]
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert "script-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1256", "shift_jis", "latin-1"])
def test_the_bytes_of_a_copy_stay_as_they_were(encoding):
    kind = f"text/html; charset={encoding}"
    text = {"windows-1256": "كتاب", "shift_jis": "植物"}.get(encoding, "é")
    page = copy_page(a_copy(f"<head></head>{text}".encode(encoding), kind), catalogue("ar"))
    assert dict(page.headers)["Content-Type"] == kind
    assert text in page.body.decode(encoding)
    assert page.body.isascii() or text.encode(encoding) in page.body


def test_utf_16_becomes_utf_8():
    page = copy_page(a_copy("<head></head>é".encode("utf-16"), "text/html; charset=utf-16"), ENGLISH)
    assert dict(page.headers)["Content-Type"] == "text/html; charset=utf-8"
    assert "<base" in page.body.decode()
    assert "é" in page.body.decode()


def test_a_copy_says_that_it_is_one():
    assert b"Saved copy from 3 May 2026" in template_values(b"<p>x")


def test_xhtml_gets_a_base_and_stays_well_formed():
    body = template_values(b"<html><head/></html>", content_type="application/xhtml+xml")
    assert body.endswith(b"</html>")


def test_other_types_are_left_alone():
    page = copy_page(a_copy(b"a,b", "text/plain"), ENGLISH)
    assert page.body == b"a,b"
    download = copy_page(a_copy(b"\x00", "application/octet-stream"), ENGLISH)
    assert dict(download.headers)["Content-Disposition"] == "attachment; filename*=UTF-8''c"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/plan.pdf?x=/evil.exe", "plan.pdf"),
        ("/r%C3%A9sum%C3%A9.odt", "r%C3%A9sum%C3%A9.odt"),
        ("/..%2F..%5C%22%0D%0Aa%3A.pdf", "a.pdf"),
        ("/", None),
        ("/%2E%2E", None),
    ],
)
def test_a_file_keeps_its_name_and_nothing_else_gets_in(path, name):
    download = copy_page(a_copy(b"%PDF-", "application/pdf", url=f"http://a.test{path}"), ENGLISH)
    wanted = f"attachment; filename*=UTF-8''{name}" if name else "attachment"
    assert dict(download.headers)["Content-Disposition"] == wanted
    assert download.body == b"%PDF-"


def test_a_content_type_cannot_write_headers():
    page = copy_page(a_copy(content_type="text/html\r\nSet-Cookie: a=b"), ENGLISH)
    assert dict(page.headers)["Content-Type"] == "text/html"


@pytest.mark.parametrize(
    "piece", [b"<head ", b"<!--", b"<!-- -->", b"<html ", b"<!doctype ", b"<base href=", b"<"]
)
def test_hostile_markup_takes_no_time(piece):
    begun = time.thread_time()
    template_values(piece * (1_000_000 // len(piece)))
    assert time.thread_time() - begun < 1


@given(st.binary(), st.sampled_from(["text/html", "text/html; charset=utf-16", "application/xhtml+xml"]))
def test_any_bytes_can_be_shown(body, kind):
    assert copy_page(a_copy(body, kind), ENGLISH).status == 200
