import pytest

from proxy.messages import FileBody, StoredResponse
from proxy.store.diskstore import DiskStore
from proxy.store.rows import DiskRows


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "spool").mkdir()
    shelf = DiskStore(tmp_path / "responses", root=tmp_path, spool=tmp_path / "spool", max_bytes=10**9)
    yield shelf
    shelf.close()


def a_response(body):
    return StoredResponse(
        status=200, reason="OK", headers=(), body=body, vary=(), requested_at=1.0, received_at=2.0
    )


def test_a_reader_overtaken_by_a_replacement_finds_the_new_response(shelf, monkeypatch):
    old, new = a_response(b"o" * 100_000), a_response(b"n" * 100_000)
    shelf.put("a", old)
    within = DiskRows.within

    def overtaken(*args):
        found = within(*args)
        monkeypatch.undo()
        shelf.put("a", new)
        return found

    monkeypatch.setattr(DiskRows, "within", overtaken)
    assert shelf.get("a") == (new,)


def test_a_failed_write_leaves_neither_a_file_nor_an_open_transaction(shelf, monkeypatch):
    def fails(*_):
        raise OSError("disk error")

    shelf.put("a", a_response(b"old"))
    with monkeypatch.context() as patched:
        patched.setattr(DiskRows, "_row_update", fails)
        with pytest.raises(OSError, match="disk error"):
            shelf.put("a", a_response(b"x" * 100_000))
    assert list(shelf.directory.glob("*/*.body")) == []
    assert shelf.get("a") == (a_response(b"old"),)
    shelf.put("a", a_response(b"new"))
    assert shelf.get("a") == (a_response(b"new"),)


def test_a_file_system_without_hard_links_gets_a_copy(shelf, tmp_path, monkeypatch):
    def refuses(*_):
        raise PermissionError("no links here")

    spooled = tmp_path / "spool" / "body"
    spooled.write_bytes(b"x" * 100)
    shelf.put("a", a_response(FileBody(path=spooled, size=100)))
    (found,) = shelf.get("a")
    monkeypatch.setattr("os.link", refuses)
    assert shelf.put("a", found)
    (found,) = shelf.get("a")
    assert found.body.path.read_bytes() == b"x" * 100
