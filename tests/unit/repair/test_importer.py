import io

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from repair import harvest, importer
from repair.errors import FileTooCostly, ImportFailed
from repair.importer import CollectionImporter
from repair.parse.load import load
from repair.settings import CollectionSettings
from tests.files import ODT_TYPE, a_pdf, an_odt
from tests.holdings import a_collection
from tests.make import a_page


def test_a_file_too_costly_to_read_is_passed_over(tmp_path, monkeypatch):
    def read(page, settings):
        raise FileTooCostly("too much")

    monkeypatch.setattr(harvest, "read_document", read)
    with a_collection(tmp_path) as collection:
        taking = CollectionImporter(collection, CollectionSettings())
        taking.add(a_page(url="http://a.test/bomb.pdf"))
        assert (taking.count.pages, taking.count.passed) == (0, 1)


@pytest.mark.slow
def test_files_in_a_warc_are_read(tmp_path):
    path = tmp_path / "x.warc"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        for name, kind, body in (
            ("rain.pdf", "application/pdf", a_pdf("Rain on the hills\nand in the valleys")),
            ("rain.odt", ODT_TYPE, an_odt("Rain gauges stand in the open.", title="Rain gauges")),
        ):
            headers = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    f"http://a.test/{name}", "response", payload=io.BytesIO(body), http_headers=headers
                )
            )
    with a_collection(tmp_path / "held") as collection:
        taking = CollectionImporter(collection, CollectionSettings())
        for page in load(path):
            taking.add(page)
        taking.flush()
        assert collection.get("http://a.test/rain.pdf").title == "Rain on the hills"
        assert collection.get("http://a.test/rain.odt").title == "Rain gauges"


def test_an_import_without_a_process_to_read_files_fails(tmp_path, monkeypatch):
    def read(page, settings):
        raise OSError(11, "no more processes")

    monkeypatch.setattr(harvest, "read_document", read)
    with a_collection(tmp_path) as collection, pytest.raises(ImportFailed, match="no more processes"):
        CollectionImporter(collection, CollectionSettings()).add(a_page(url="http://a.test/plan.pdf"))


def test_large_pages_do_not_wait_for_many_others(tmp_path, monkeypatch):
    monkeypatch.setattr(importer, "_BATCH_BYTES", 5_000)
    html = (("Content-Type", "text/html"),)
    with a_collection(tmp_path) as collection:
        taking = CollectionImporter(collection, CollectionSettings())
        taking.add(a_page(url="http://a.test/small", headers=html, body=b"<title>a</title><p>small"))
        assert taking.count.pages == 0
        body = b"<title>b</title><p>" + b"large page " * 400
        taking.add(a_page(url="http://a.test/large", headers=html, body=body))
        assert taking.count.pages == 2


def test_one_file_under_two_names_is_one_page(tmp_path):
    html, body = (("Content-Type", "text/html"),), b"<title>Start</title><p>Welcome to the library."
    with a_collection(tmp_path) as collection:
        taking = CollectionImporter(collection, CollectionSettings())
        for url in ("http://a.test/", "http://a.test/index.html"):
            taking.add(a_page(url=url, headers=html, body=body))
        taking.flush()
        assert taking.count.pages == taking.pages == 1
        assert collection.get("http://a.test/") is not None
