import pytest

from repair.parse.formats.kinds import FileKind, has_mark, kind_of, kind_of_url
from tests.files import DOCX_TYPE, ODT_TYPE
from tests.make import a_page


@pytest.mark.parametrize(
    ("content_type", "path", "kind"),
    [
        ("application/pdf", "/plan", FileKind.PDF),
        ("Application/PDF; charset=binary", "/plan", FileKind.PDF),
        ("application/epub+zip", "/book", FileKind.EPUB),
        (DOCX_TYPE, "/x", FileKind.DOCX),
        (ODT_TYPE, "/x", FileKind.ODT),
        ("application/octet-stream", "/a/plan.PDF", FileKind.PDF),
        ("", "/letter.odt?download=1", FileKind.ODT),
        ("application/zip", "/book.epub", FileKind.EPUB),
        ("application/octet-stream", "/plan", None),
        ("text/html", "/plan.pdf", None),
        ("image/png", "/plan.pdf", None),
        ("application/octet-stream", "/show?file=plan.pdf", None),
    ],
)
def test_the_type_counts_and_where_it_says_nothing_the_address(content_type, path, kind):
    assert kind_of(a_page(url=f"http://a.test{path}", content_type=content_type)) is kind


def test_only_the_end_of_the_path_names_a_file():
    assert kind_of_url("http://a.test/guide.pdf/page") is None
    assert kind_of_url("http://pdf.a.test/") is None
    assert kind_of_url("http://a.test/guide.pdf#page=3") is FileKind.PDF


def test_the_first_bytes_tell_a_file_from_an_error_page():
    assert has_mark(FileKind.PDF, b"\r\n\r\n%PDF-1.4")
    assert has_mark(FileKind.DOCX, b"PK\x03\x04")
    assert not has_mark(FileKind.PDF, b"<html>please log in")
    assert not has_mark(FileKind.EPUB, b"<html>please log in")
