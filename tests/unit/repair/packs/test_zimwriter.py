"""ZIM files as Kiwix reads them."""

import contextlib
import sys
from collections import Counter

import pytest

from repair.packs.zimwriter import ZimUnavailable, ZimWriter, pack_paths
from tests.packing import ORIGIN, PICTURE, TOPIC, three_items


def a_writer(path, items):
    paths = pack_paths(item.url for item in items)
    return ZimWriter(
        path, ORIGIN, [TOPIC], paths=paths, languages=Counter(en=2, fr=1), software="linkmend test"
    )


def test_zim_is_whole_and_has_what_the_format_asks_for(tmp_path):
    reader = pytest.importorskip("libzim.reader")
    with a_writer(tmp_path / "x.zim", three_items()) as writer:
        for item in three_items():
            writer.add(item)
    archive = reader.Archive(tmp_path / "x.zim")
    assert archive.check()
    metadata = {name: archive.get_metadata(name) for name in archive.metadata_keys}
    assert (metadata["Publisher"], metadata["License"]) == (b"Hill School", b"CC BY 4.0")
    assert (metadata["Language"], metadata["Date"]) == (b"eng,fra", b"2026-03-01")
    assert (archive.has_fulltext_index, archive.has_illustration(48)) == (True, True)
    assert bytes(archive.get_entry_by_path("a.test/pic.png").get_item().content) == PICTURE
    contents = bytes(archive.main_entry.get_item().content).decode()
    assert 'href="b.test/clay%3Fpage%3D2"' in contents
    page = bytes(archive.get_entry_by_path("a.test/soil").get_item().content).decode()
    assert 'href="../b.test/clay%3Fpage=2#top"' in page
    assert 'href="http://far.test/x"' in page


def test_interrupted_zim_leaves_no_file(tmp_path):
    pytest.importorskip("libzim")
    with contextlib.suppress(KeyError), a_writer(tmp_path / "x.zim", three_items()) as writer:
        writer.add(three_items()[0])
        raise KeyError("interrupted")
    assert list(tmp_path.iterdir()) == []


def test_http_and_https_of_one_address_get_two_paths():
    assert pack_paths(["http://a.test/x", "https://a.test/x"]) == {
        "http://a.test/x": "a.test/x",
        "https://a.test/x": "_/a.test/x",
    }


def test_without_libzim_the_error_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "libzim.writer", None)
    with pytest.raises(ZimUnavailable, match=r"pip install 'linkmend\[zim\]'"):
        a_writer(tmp_path / "x.zim", three_items())
