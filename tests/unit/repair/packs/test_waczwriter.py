"""WACZ files as other programs read them: zip, digests, index, WARC."""

import contextlib
import gzip
import hashlib
import io
import json
import zipfile

from warcio.archiveiterator import ArchiveIterator

from repair.packs.waczwriter import WaczWriter
from tests.packing import ORIGIN, PICTURE, TOPIC, three_items


def write(path, items=None):
    with WaczWriter(path, ORIGIN, [TOPIC], software="linkmend test") as writer:
        for item in items or three_items():
            writer.add(item)
    return zipfile.ZipFile(path)


def test_every_file_has_its_digest_and_size(tmp_path):
    with write(tmp_path / "x.wacz") as pack:
        package = json.loads(pack.read("datapackage.json"))
        assert {entry["path"] for entry in package["resources"]} == set(pack.namelist()) - {
            "datapackage.json",
            "datapackage-digest.json",
        }
        for entry in package["resources"]:
            content = pack.read(entry["path"])
            assert entry["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            assert entry["bytes"] == len(content)
        digest = json.loads(pack.read("datapackage-digest.json"))
        assert digest["hash"] == f"sha256:{hashlib.sha256(pack.read('datapackage.json')).hexdigest()}"
        assert (package["wacz_version"], package["title"]) == ("1.1.1", "Soil")
        assert package["contributors"][0]["title"] == "Hill School"


def test_index_leads_to_each_record(tmp_path):
    with write(tmp_path / "x.wacz") as pack:
        lines = gzip.decompress(pack.read("indexes/index.cdx.gz")).decode().splitlines()
        assert [line.split()[0] for line in lines] == [
            "test,a)/pic.png",
            "test,a)/soil",
            "test,b)/clay?page=2",
        ]
        warc = pack.read("archive/data.warc.gz")
        bodies = {}
        for line in lines:
            _, moment, rest = line.split(" ", 2)
            entry = json.loads(rest)
            start, length = int(entry["offset"]), int(entry["length"])
            record = next(ArchiveIterator(io.BytesIO(warc[start : start + length]), check_digests="raise"))
            assert record.rec_headers["WARC-Target-URI"] == entry["url"]
            assert (moment, record.rec_headers["WARC-Date"]) == ("20260301102030", "2026-03-01T10:20:30Z")
            bodies[entry["url"]] = record.content_stream().read()
        assert bodies["https://a.test/pic.png"] == PICTURE
        first_block = pack.read("indexes/index.idx").decode().splitlines()[1]
        assert first_block.startswith("test,a)/pic.png 20260301102030 ")


def test_pages_are_listed_with_topics_and_links(tmp_path):
    with write(tmp_path / "x.wacz") as pack:
        header, *pages = (json.loads(line) for line in pack.read("pages/pages.jsonl").splitlines())
        assert header["format"] == "json-pages-1.0"
        assert [page["url"] for page in pages] == ["https://a.test/soil", "https://b.test/clay?page=2"]
        (link,) = (json.loads(line) for line in pack.read("linkmend/links.jsonl").splitlines())
        assert (link["source_url"], link["target_url"]) == (
            "https://a.test/soil",
            "https://b.test/clay?page=2",
        )
        assert (link["anchor"], link["context_before"], link["nav"]) == ("clay", "see", False)


def test_interrupted_pack_leaves_no_file(tmp_path):
    with contextlib.suppress(KeyError), WaczWriter(tmp_path / "x.wacz", ORIGIN, [], software="t") as writer:
        writer.add(three_items()[0])
        raise KeyError("interrupted")
    assert list(tmp_path.iterdir()) == []
