from repair import importer
from repair.importer import CollectionImporter
from repair.settings import CollectionSettings
from tests.holdings import a_collection
from tests.make import a_page


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
