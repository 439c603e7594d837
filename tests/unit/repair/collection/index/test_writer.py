import shutil
import sqlite3

import pytest

from repair.collection.index.writer import IndexWriter
from tests.holdings import a_collection, a_document, a_link, found
from tests.make import A_MOMENT


def _index_folder(tmp_path):
    (folder,) = [path for path in (tmp_path / "index").iterdir() if path.is_dir()]
    return folder


def test_what_is_added_is_found_after_a_commit(tmp_path):
    with a_collection(tmp_path, a_document("/rome", title="Rome")) as collection:
        assert found(collection, "rome") == ["/rome"]
        assert collection.stats().pending == 0


def test_what_a_process_left_pending_is_indexed_by_the_next(tmp_path):
    a_collection(tmp_path, a_document("/rome", title="Rome"), commit=False).close()
    with a_collection(tmp_path) as collection:
        assert found(collection, "rome") == ["/rome"]


@pytest.mark.parametrize("damage", ["gone", "empty", "meta", "segments"])
def test_a_damaged_index_is_rebuilt_from_the_pages(tmp_path, damage):
    a_collection(tmp_path, *(a_document(f"/{number}", title=f"Rome {number}") for number in range(5))).close()
    folder = _index_folder(tmp_path)
    if damage in ("gone", "empty"):
        shutil.rmtree(folder)
    if damage == "empty":
        folder.mkdir()
    if damage == "meta":
        (folder / "meta.json").write_text("{nonsense")
    if damage == "segments":
        for file in folder.glob("*.idx"):
            file.write_bytes(b"nonsense")
    with a_collection(tmp_path) as collection:
        assert len(found(collection, "rome")) == 5
        assert [path for path in (tmp_path / "index").iterdir() if path.is_dir()] != [folder]


def test_an_index_of_another_format_is_rebuilt(tmp_path, monkeypatch):
    a_collection(tmp_path, a_document("/rome", title="Rome")).close()
    monkeypatch.setattr("repair.collection.index.writer.FORMAT", "next")
    with a_collection(tmp_path) as collection:
        assert found(collection, "rome") == ["/rome"]
        assert _index_folder(tmp_path).name.startswith("next-")


def test_an_index_from_an_old_backup_is_rebuilt(tmp_path):
    a_collection(tmp_path, a_document("/a", title="Rome")).close()
    folder = _index_folder(tmp_path)
    shutil.copytree(folder, tmp_path / "backup")
    a_collection(tmp_path, a_document("/b", title="Rome again")).close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    with a_collection(tmp_path) as collection:
        assert sorted(found(collection, "rome")) == ["/a", "/b"]


def test_damage_found_by_a_search_costs_that_search_and_triggers_a_rebuild(tmp_path, monkeypatch, caplog):
    with a_collection(tmp_path, a_document("/rome", title="Rome")) as collection:
        index = collection._indexing._index
        with monkeypatch.context() as patched:
            patched.setattr(index, "_schema", None)  # stands for a byte that flipped: tantivy raises
            patched.setattr(type(index), "_clause", _raise_damaged)
            assert found(collection, "rome") == []
        collection.commit()
        assert found(collection, "rome") == ["/rome"]
        assert "will be rebuilt" in caplog.text


def _raise_damaged(index, *_):
    from repair.collection.index.fulltext import IndexDamaged

    raise IndexDamaged("index: a byte flipped")


def test_while_another_process_has_the_lock_pages_stay_pending(tmp_path, monkeypatch):
    monkeypatch.setattr("repair.collection.index.writer._CHECK_EVERY_S", 0.0)
    with a_collection(tmp_path, a_document("/a", title="Rome")) as writer, a_collection(tmp_path) as reader:
        reader.add(a_document("/b", title="Rome"), fetched_at=reader.get("http://school.test/a").fetched_at)
        reader.commit()
        assert found(reader, "rome") == ["/a"]
        assert writer.index_some() == 1
        assert sorted(found(reader, "rome")) == ["/a", "/b"]


def test_the_lock_passes_on_when_its_holder_closes(tmp_path, monkeypatch):
    monkeypatch.setattr("repair.collection.index.writer._CHECK_EVERY_S", 0.0)
    writer, reader = a_collection(tmp_path, a_document("/a", title="Rome")), a_collection(tmp_path)
    writer.close()
    reader.add(a_document("/b", title="Rome"), fetched_at=reader.get("http://school.test/a").fetched_at)
    reader.commit()
    assert sorted(found(reader, "rome")) == ["/a", "/b"]
    reader.close()


def test_readers_follow_a_rebuilt_index(tmp_path, monkeypatch):
    monkeypatch.setattr("repair.collection.index.writer._CHECK_EVERY_S", 0.0)
    with a_collection(tmp_path, a_document("/a", title="Rome")) as writer, a_collection(tmp_path) as reader:
        assert found(reader, "rome") == ["/a"]
        writer._indexing._start_empty()
        writer.commit()
        assert found(reader, "rome") == ["/a"]


def test_a_page_is_indexed_again_when_others_link_to_it_with_new_words(tmp_path):
    with a_collection(tmp_path, a_document("/x", title="Nothing")) as collection:
        moment = collection.get("http://school.test/x").fetched_at
        collection.add(a_document("/a", text="", links=[a_link("/x", "Roman aqueducts")]), fetched_at=moment)
        collection.index_some()
        assert found(collection, "aqueduct") == []  # not due yet: popular pages gain links all the time
        collection.commit()
        assert found(collection, "aqueduct") == ["/x"]


def test_a_page_that_the_index_has_already_waits_when_there_is_patience(tmp_path):
    with a_collection(tmp_path, a_document("/x", title="Nothing")) as collection:
        moment = collection.get("http://school.test/x").fetched_at
        for path in ("/x", "/new"):
            collection.add(a_document(path, title="Rome"), fetched_at=moment)
        assert collection.index_some(patience_s=60.0) == 1
        assert found(collection, "rome") == ["/new"]
        assert collection.index_some() == 1
        assert sorted(found(collection, "rome")) == ["/new", "/x"]


def test_one_page_that_cannot_be_indexed_does_not_block_others(tmp_path, monkeypatch, caplog):
    from repair.collection.index import writer

    def picky(page, document, anchors, linked=()):
        if document.title == "odd":
            raise ValueError("odd page")
        return entry_of(page, document, anchors)

    entry_of = writer.entry_of
    monkeypatch.setattr(writer, "entry_of", picky)
    with a_collection(
        tmp_path, a_document("/odd", title="odd"), a_document("/rome", title="Rome")
    ) as collection:
        assert found(collection, "rome") == ["/rome"]
        assert "index: cannot index http://school.test/odd" in caplog.text


def test_a_write_that_fails_is_tried_again_on_the_index_reopened(tmp_path, monkeypatch):
    with a_collection(tmp_path, a_document("/a", title="Rome")) as collection:
        first = collection._indexing._index
        monkeypatch.setattr(first, "update", lambda entries: _raise_damaged(first))
        collection.add(
            a_document("/b", title="Rome"), fetched_at=collection.get("http://school.test/a").fetched_at
        )
        collection.commit()
        assert sorted(found(collection, "rome")) == ["/a", "/b"]


def test_with_a_full_disk_the_index_is_left_alone(tmp_path, monkeypatch):
    with a_collection(tmp_path, a_document("/a", title="Rome")) as collection:
        first = collection._indexing._index
        monkeypatch.setattr(first, "update", lambda entries: _raise_damaged(first))
        monkeypatch.setattr("repair.collection.index.writer._SPACE_BYTES", 10**18)
        collection.add(
            a_document("/b", title="Rome"), fetched_at=collection.get("http://school.test/a").fetched_at
        )
        with pytest.raises(Exception, match="a byte flipped"):
            collection.commit()
        assert found(collection, "rome") == ["/a"]
        assert isinstance(collection._indexing, IndexWriter)
        assert collection.stats().pending == 1


def test_catch_up_all_takes_one_commit_for_many_pages(tmp_path):
    pages = [a_document(f"/{number}", title="Rome", links=[a_link("/0", "Latium")]) for number in range(20)]
    with a_collection(tmp_path, *pages, commit=False) as collection:
        collection._indexing.catch_up_all()
        assert collection.stats().pending == 0  # also those that are not due yet
        assert found(collection, "latium") == ["/0"]
        assert collection._indexing._index._index.searcher().num_segments == 1


def test_catch_up_all_does_nothing_while_another_process_writes(tmp_path):
    with a_collection(tmp_path, a_document("/a", title="Rome")), a_collection(tmp_path) as reader:
        reader.add(a_document("/b", title="Rome"), fetched_at=reader.get("http://school.test/a").fetched_at)
        reader._indexing.catch_up_all()
        assert reader.stats().pending == 1


def test_a_rebuilt_index_finds_the_same_and_has_no_words_of_removed_pages(tmp_path):
    pages = (a_document("/rome", title="Rome"), a_document("/secret", title="Quetzalmoth"))
    with a_collection(tmp_path, *pages) as collection:
        before = _index_folder(tmp_path)
        collection.remove("http://school.test/secret")
        collection.scrub()
        assert collection.needs_index_rebuild()
        assert collection.document_frequency("quetzalmoth", "title") == 1  # deleted, but still in a segment
        assert collection.rebuild_index()
        assert not collection.needs_index_rebuild()
        assert collection.document_frequency("quetzalmoth", "title") == 0
        assert found(collection, "rome") == ["/rome"]
        assert _index_folder(tmp_path) != before


def test_pages_indexed_during_a_rebuild_are_in_both_indexes(tmp_path, monkeypatch):
    with a_collection(tmp_path, *(a_document(f"/{n}", title=f"Rome {n}") for n in range(5))) as collection:
        collection.remove("http://school.test/0")
        entry, added = IndexWriter.entry, []

        def meanwhile(indexing, page):
            if not added:
                added.append(page)
                collection.add(a_document("/new", title="Rome anew"), fetched_at=A_MOMENT)
                collection.remove("http://school.test/1")
                collection.index_some()
            return entry(indexing, page)

        monkeypatch.setattr(IndexWriter, "entry", meanwhile)
        assert collection.rebuild_index()
        assert sorted(found(collection, "rome")) == ["/2", "/3", "/4", "/new"]


def test_an_index_that_could_not_be_named_is_not_written_to(tmp_path):
    with (
        a_collection(tmp_path, a_document("/a", title="Rome")) as collection,
        a_collection(tmp_path) as reader,
    ):
        refusing = (
            "BEFORE INSERT ON meta WHEN NEW.key = 'index' BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
        with sqlite3.connect(tmp_path / "collection.sqlite3") as database:
            database.execute(f"CREATE TRIGGER full {refusing}")
        assert not collection.rebuild_index()
        collection.add(a_document("/b", title="Rome"), fetched_at=A_MOMENT)
        collection.commit()
        assert sorted(found(reader, "rome")) == ["/a", "/b"]
        database.close()


def test_only_the_writer_rebuilds_the_index(tmp_path):
    with a_collection(tmp_path, a_document("/rome", title="Rome")), a_collection(tmp_path) as reader:
        assert not reader.rebuild_index()


def test_closing_a_collection_stops_a_rebuild(tmp_path, monkeypatch):
    collection = a_collection(tmp_path, *(a_document(f"/{n}", title=f"Rome {n}") for n in range(5)))
    entry = IndexWriter.entry

    def closing(indexing, page):
        indexing._closing.set()
        return entry(indexing, page)

    monkeypatch.setattr(IndexWriter, "entry", closing)
    assert not collection.rebuild_index()
    collection.close()
    monkeypatch.undo()
    with a_collection(tmp_path) as again:
        assert len(found(again, "rome")) == 5
