"""Which pages are broken links."""

import pytest

from repair.detect import is_archive_page, is_document, miss_kind, miss_kind_of
from repair.model import MissKind
from tests.make import a_page


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, MissKind.NOT_FOUND),
        (410, MissKind.GONE),
        (500, MissKind.SERVER_ERROR),
        (502, MissKind.SERVER_ERROR),
        (503, MissKind.SERVER_ERROR),
        (504, MissKind.SERVER_ERROR),
        *((status, None) for status in (200, 204, 301, 304, 400, 401, 403, 429, 451, 511, 600)),
    ],
)
def test_the_status_determines_the_kind_of_miss(status, kind):
    assert miss_kind(status) is kind
    assert miss_kind_of(a_page(status=status)) is kind


@pytest.mark.parametrize("content_type", ["image/png", "application/json", "text/css", "application/pdf"])
def test_an_error_no_person_reads_is_not_a_broken_link(content_type):
    assert miss_kind_of(a_page(status=404, content_type=content_type)) is None


@pytest.mark.parametrize("content_type", ["text/html", "text/plain; charset=utf-8", ""])
def test_a_text_error_or_one_without_a_content_type_is_a_broken_link(content_type):
    assert miss_kind_of(a_page(status=404, content_type=content_type)) is MissKind.NOT_FOUND


@pytest.mark.parametrize(
    "url",
    [
        "https://web.archive.org/web/2020/http://school.test/",
        "http://archive.local/wayback/20200101000000/http://school.test/",
        "http://pywb.test/web/20200101000000id_/http:/school.test/",
    ],
)
def test_the_error_of_an_archive_is_not_repaired_by_archives_again(url):
    assert miss_kind_of(a_page(url=url, status=404)) is None


def test_an_archived_404_is_a_true_copy():
    page = a_page(status=404, headers=(("Memento-Datetime", "Fri, 01 May 2020 00:00:00 GMT"),))
    assert miss_kind_of(page) is None


def test_a_url_that_only_contains_web_is_no_archive():
    assert not is_archive_page(a_page(url="http://school.test/web/wayback/machines.html"))
    assert not is_archive_page(a_page(url="http://notarchive.org.test/a"))


def test_a_document_is_readable_and_not_from_an_archive():
    assert is_document(a_page())
    assert not is_document(a_page(content_type="image/png"))
    assert not is_document(a_page(url="https://web.archive.org/web/2020/http://school.test/"))
