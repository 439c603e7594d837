"""Packs read back: WACZ and ZIM, whole, damaged and hostile."""

import zipfile
from collections import Counter

import pytest

from repair.errors import ImportFailed
from repair.packs import packmodel
from repair.packs.packreader import load_pack, pack_manifest
from repair.packs.waczwriter import WaczWriter
from repair.packs.zimwriter import ZimWriter, pack_paths
from repair.parse.document import document
from repair.settings import CollectionSettings
from tests.packing import ORIGIN, PICTURE, TOPIC, three_items

FORMATS = ("wacz", "zim")


def a_pack(path):
    items = three_items()
    if path.suffix == ".wacz":
        writer = WaczWriter(path, ORIGIN, [TOPIC], software="linkmend test")
    else:
        pytest.importorskip("libzim")
        paths = pack_paths(item.url for item in items)
        writer = ZimWriter(
            path, ORIGIN, [TOPIC], paths=paths, languages=Counter(en=2), software="linkmend test"
        )
    with writer:
        for item in items:
            writer.add(item)
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_pack_comes_back_with_pages_pictures_links_and_topics(tmp_path, kind):
    path = a_pack(tmp_path / f"soil.{kind}")
    manifest = pack_manifest(path)
    items = load_pack(path, manifest)
    pages = {page.url: page for page in items}
    assert manifest.origins == (ORIGIN,)
    assert [topic.name for topic in manifest.topics] == ["Soil"]
    assert set(pages) == {item.url for item in three_items()}
    assert pages["https://a.test/pic.png"].body == PICTURE
    assert {page.fetched_at for page in pages.values()} == {three_items()[0].fetched_at}
    soil = document(pages["https://a.test/soil"], CollectionSettings())
    assert [link.target_url for link in soil.links] == ["https://b.test/clay?page=2", "http://far.test/x"]
    assert (items.damage, items.problem_count) == ("", 0)


def test_pages_of_other_programs_are_no_packs(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as other:
        other.writestr("archive/data.warc", b"")
    assert pack_manifest(tmp_path / "x.wacz") is None
    assert pack_manifest(tmp_path / "missing.wacz") is None
    assert pack_manifest(tmp_path) is None


@pytest.mark.parametrize("name", [packmodel.HEADER, packmodel.FILES])
def test_damaged_lists_are_told(tmp_path, name):
    whole = a_pack(tmp_path / "x.wacz")
    with zipfile.ZipFile(whole) as pack, zipfile.ZipFile(tmp_path / "y.wacz", "w") as other:
        for entry in pack.namelist():
            other.writestr(entry, b"{" if entry == f"linkmend/{name}" else pack.read(entry))
    with pytest.raises(ValueError, match="."):
        pack_manifest(tmp_path / "y.wacz")


def test_list_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = a_pack(tmp_path / "x.wacz")
    monkeypatch.setattr("repair.packs.packreader.MAX_LIST_BYTES", 20)
    with pytest.raises(ValueError, match="at most 20 bytes"):
        pack_manifest(path)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_pack_that_ends_early_is_no_pack_and_fails(tmp_path, kind, share):
    whole = a_pack(tmp_path / f"x.{kind}").read_bytes()
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(whole[: int(len(whole) * share)])
    try:
        manifest = pack_manifest(path)
    except ValueError:
        manifest = None
    assert manifest is None
    with pytest.raises(ImportFailed):
        list(load_pack(path, packmodel.PackManifest(origins=(ORIGIN,), pages={})))


@pytest.mark.parametrize("kind", FORMATS)
def test_flipped_bytes_never_end_the_reader(tmp_path, kind):
    whole = bytearray(a_pack(tmp_path / f"x.{kind}").read_bytes())
    path = tmp_path / f"flipped.{kind}"
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        flipped = whole.copy()
        flipped[place] ^= 0xFF
        path.write_bytes(flipped)
        try:
            manifest = pack_manifest(path)
            if manifest is not None:
                list(load_pack(path, manifest))
        except (ValueError, ImportFailed):
            pass


def test_zim_whose_list_names_paths_it_has_not_says_so(tmp_path):
    path = a_pack(tmp_path / "x.zim")
    manifest = pack_manifest(path)
    pages = {
        "http://a.test/": packmodel.PackedPage(url="http://a.test/", fetched=ORIGIN.created_at, path="gone")
    }
    items = load_pack(path, packmodel.PackManifest(origins=manifest.origins, pages=pages))
    with pytest.raises(ImportFailed, match="http://a.test/: unreadable"):
        list(items)
    assert items.damage
