"""repair.parse.document: files become documents like pages. A fake stands for the helper process."""

import pytest

from repair.model import Link
from repair.parse import document as document_module
from repair.parse.document import document
from repair.parse.formats.extraction import ExtractedLink, Extraction
from repair.settings import CollectionSettings
from tests.make import a_page

PDF = "application/pdf"
TEXT = "Leaves turn light into sugar, and give off oxygen while they do."


class FakeReader:
    def __init__(self, found):
        self.found = found
        self.files = []

    def read(self, kind, body):
        self.files.append((kind, body))
        return self.found


@pytest.fixture
def reads(monkeypatch):
    """Have a file read: `reads(extraction, url=...)` is its document."""

    def read(found, url="http://a.test/plan.pdf", content_type=PDF, body=b"%PDF-", headers=(), **settings):
        monkeypatch.setattr(document_module, "_reader", FakeReader(found))
        page = a_page(url=url, content_type=content_type, body=body, headers=headers)
        return document(page, CollectionSettings(**settings))

    return read


def test_a_file_has_title_text_language_and_headings(reads):
    found = reads(
        Extraction(text=f"{TEXT}\r\n\n  more ", title=" Plants\x00 ", headings=("One", ""), language="en-GB")
    )
    assert (found.title, found.text, found.language) == ("Plants", f"{TEXT}\nmore", "en")
    assert found.headings == ("One",)


@pytest.mark.parametrize(
    ("given", "headings", "text", "title"),
    [
        ("Microsoft Word - Crop rotation", (), TEXT, "Crop rotation"),
        ("Microsoft Word - plan_v3.doc", ("Crop rotation",), TEXT, "Crop rotation"),
        ("untitled", (), f"7\nWhat leaves do\n{TEXT}", "What leaves do"),
        ("", (), "", "water cycle worksheet"),
    ],
    ids=["named by a program", "named after a file", "says nothing", "scan"],
)
def test_the_first_title_that_says_something_counts(reads, given, headings, text, title):
    url = "http://a.test/files/water-cycle_worksheet.pdf"
    assert reads(Extraction(text=text, title=given, headings=headings), url=url).title == title


def test_a_scan_is_kept_by_its_name_if_that_says_something(reads):
    assert reads(Extraction(text=" 1 \n 2 "), url="http://a.test/old-maps.pdf").text == ""
    assert reads(Extraction(text=""), url="http://a.test/20240311_0007.pdf") is None


def test_links_lead_to_the_web_and_have_their_words(reads):
    links = (
        ExtractedLink(
            url="http://a.test/water", anchor="the\nwater cycle ", before="before one ", after=" after"
        ),
        ExtractedLink(url="http://a.test/water", anchor="the water cycle"),
        ExtractedLink(url="chapter2.xhtml", anchor="next"),
        ExtractedLink(url="javascript:alert(1)", anchor="x"),
        ExtractedLink(url="http://a.test/plan.pdf", anchor="itself"),
    )
    found = reads(Extraction(text=TEXT, links=links))
    assert found.links == (
        Link(target_url="http://a.test/water", anchor="the water cycle", before="before one", after="after"),
        Link(target_url="http://a.test/chapter2.xhtml", anchor="next"),
    )
    book = reads(
        Extraction(text=TEXT, links=links),
        content_type="application/epub+zip",
        body=b"PK\x03\x04",
        max_links=5,
    )
    assert [link.target_url for link in book.links] == ["http://a.test/water"]


def test_what_asks_not_to_be_indexed_says_so(reads):
    assert reads(Extraction(text=TEXT), headers=[("X-Robots-Tag", "noindex")]).noindex


@pytest.mark.parametrize(
    "given",
    [
        {"body": b"<html>log in first"},
        {"body": b"%PDF-" + b"x" * 100, "max_file_bytes": 100},
        {"url": "http://[/"},
    ],
    ids=["another format", "too large", "no address"],
)
def test_what_is_not_worth_a_process_is_not_given_to_one(reads, given):
    assert reads(Extraction(text=TEXT), **given) is None
    assert document_module._reader.files == []


def test_a_file_that_cannot_be_read_is_no_document(reads):
    assert reads(None) is None


def test_pages_need_no_other_process(reads):
    found = reads(None, content_type="text/html", body=b"<title>Rome</title><p>A city.")
    assert found.title == "Rome"
    assert document_module._reader.files == []
