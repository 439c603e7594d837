import contextlib
import gzip
import io
import json
import os
import sys
import zipfile
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from repair.errors import ImportFailed
from repair.model import Document, Page
from repair.parse import collectionfolder as folder_format
from repair.parse import htmlfolder as html_format
from repair.parse import warc as warc_format
from repair.parse.load import load
from tests.examples import examples

ROME = {"url": "http://a.test/rome", "title": "Rome", "text": "The city on the Tiber"}
LINK = {
    "source_url": "http://a.test/rome",
    "target_url": "http://a.test/tiber",
    "anchor": "Tiber",
    "context_before": "city on the",
    "context_after": "and so on",
    "nav": False,
}


def _write_lines(path, *records):
    lines = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines)))


def _loaded(path, **known):
    loading = load(path, **known)
    return list(loading), loading.problems


# A collection folder


def test_pages_of_a_collection_folder_come_with_their_links(tmp_path):
    _write_lines(tmp_path / "pages.jsonl.gz", ROME, {**ROME, "url": "http://a.test/other"})
    _write_lines(tmp_path / "links.jsonl.gz", LINK, {**LINK, "target_url": "http://a.test/b", "nav": True})
    (rome, other), problems = _loaded(tmp_path)
    assert (rome.url, rome.title, rome.text) == tuple(ROME.values())
    assert [(link.target_url, link.nav) for link in rome.links] == [
        ("http://a.test/tiber", False),
        ("http://a.test/b", True),
    ]
    assert (rome.links[0].anchor, rome.links[0].before, rome.links[0].after) == (
        "Tiber",
        "city on the",
        "and so on",
    )
    assert other.links == ()
    assert problems == ()


def test_a_record_with_html_comes_as_a_page_to_be_read(tmp_path):
    record = {"url": "http://a.test/x", "html": "<p>é</p>", "fetched": "2026-05-03T12:00:00Z"}
    _write_lines(tmp_path / "pages.jsonl.gz", record)
    ((page,), _) = _loaded(tmp_path)
    assert (page.body, page.fetched_at) == ("<p>é</p>".encode(), datetime(2026, 5, 3, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{not json", "line 2: expected a JSON object"),
        (b"[1, 2]", "line 2: expected a JSON object, got list"),
        (b'"\xff\xfe"', "line 2: expected a JSON object"),
        (b"[" * 100_000, "line 2: expected a JSON object"),
        (b'{"url": "http://a.test/' + b"9" * 20_000 + b'"}', "line 2: expected url to be an http(s) URL"),
        (
            b'{"url": "file:///etc/passwd", "title": "", "text": ""}',
            "line 2: expected url to be an http(s) URL",
        ),
        (
            b'{"url": "http://a.test/", "title": 7, "text": ""}',
            "line 2: expected title and text to be strings",
        ),
        (b'{"url": "http://a.test/"}', "line 2: expected title and text to be strings"),
        (b'{"url": null}', "line 2: expected url to be an http(s) URL, got 'None'"),
    ],
)
def test_a_bad_line_is_reported_by_number_and_costs_only_itself(tmp_path, line, complaint):
    _write_lines(tmp_path / "pages.jsonl.gz", ROME, line, {**ROME, "url": "http://a.test/after"})
    items, problems = _loaded(tmp_path)
    assert [item.url for item in items] == ["http://a.test/rome", "http://a.test/after"]
    (problem,) = problems
    assert problem.startswith(f"pages.jsonl.gz: {complaint}")


def test_a_bad_link_is_reported_and_costs_only_itself(tmp_path):
    _write_lines(tmp_path / "pages.jsonl.gz", ROME)
    _write_lines(
        tmp_path / "links.jsonl.gz", {**LINK, "target_url": "mailto:x"}, LINK, {**LINK, "anchor": None}
    )
    ((rome,), problems) = _loaded(tmp_path)
    assert [link.anchor for link in rome.links] == ["Tiber", ""]
    assert problems == ("links.jsonl.gz: line 1: expected source_url and target_url to be http(s) URLs",)


def test_a_line_too_long_is_skipped_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_format, "_MAX_LINE_BYTES", 200)
    _write_lines(
        tmp_path / "pages.jsonl.gz",
        ROME,
        {**ROME, "text": "x" * 3_000_000},
        {**ROME, "url": "http://a.test/b"},
    )
    items, problems = _loaded(tmp_path)
    assert [item.url for item in items] == ["http://a.test/rome", "http://a.test/b"]
    assert problems == ("pages.jsonl.gz: line 2: expected at most 200 bytes",)


def test_records_before_a_truncation_are_kept(tmp_path):
    _write_lines(
        tmp_path / "pages.jsonl.gz",
        *({**ROME, "url": f"http://a.test/{n}", "text": os.urandom(200).hex()} for n in range(200)),
    )
    whole = (tmp_path / "pages.jsonl.gz").read_bytes()
    (tmp_path / "pages.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    items, problems = _loaded(tmp_path)
    assert 20 < len(items) < 200
    assert "unreadable; stopped here" in problems[-1]
    again = load(tmp_path)
    list(again)
    assert again.damage == problems[-1]


def test_a_folder_of_which_nothing_can_be_used_is_refused(tmp_path):
    (tmp_path / "pages.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(ImportFailed, match=r"pages.jsonl.gz: line 1: unreadable; stopped here"):
        _loaded(tmp_path)


def test_an_empty_collection_is_no_error(tmp_path):
    _write_lines(tmp_path / "pages.jsonl.gz")
    assert _loaded(tmp_path) == ([], ())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["url", "title", "text", "html"]), inner)
    ),
    max_leaves=6,
)


@examples(60)
@given(st.lists(st.binary(max_size=60) | _JSON.map(lambda value: json.dumps(value).encode()), max_size=5))
def test_a_good_line_survives_any_other_lines(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("folder")
    for name in ("pages", "links"):
        _write_lines(path / f"{name}.jsonl.gz", *(line.replace(b"\n", b" ") for line in lines), ROME)
    assert "http://a.test/rome" in [item.url for item in load(path)]


# A folder of HTML


def _write_files(root, *paths, body=b"<html><title>x</title>"):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(body)


def test_folders_named_like_hosts_give_the_urls(tmp_path):
    _write_files(tmp_path, "school.test/a/b.html", "www.other.test:8080/index.html", "notes/x.html")
    items, _ = _loaded(tmp_path)
    assert [page.url for page in items] == [
        "http://school.test/a/b.html",
        "http://www.other.test:8080/",
        "http://www.other.test:8080/index.html",
    ]
    assert {page.header("content-type") for page in items} == {"text/html"}


def test_scheme_folders_are_understood(tmp_path):
    _write_files(tmp_path, "https/school.test/a.html", "http/school.test/b.html")
    assert sorted(page.url for page in load(tmp_path)) == [
        "http://school.test/b.html",
        "https://school.test/a.html",
    ]


@pytest.mark.parametrize(
    ("path", "urls"),
    [
        ("a/index.html", ["http://s.test/lib/a/", "http://s.test/lib/a/index.html"]),
        ("index.htm", ["http://s.test/lib/", "http://s.test/lib/index.htm"]),
        ("a b/é.html", ["http://s.test/lib/a%20b/%C3%A9.html"]),
        ("page.php?id=3&x=a b", ["http://s.test/lib/page.php?id=3&x=a%20b"]),
        ("a%20b.html", ["http://s.test/lib/a%20b.html"]),
        ("javascript:alert(1).html", ["http://s.test/lib/javascript:alert(1).html"]),
        ("#top.html", ["http://s.test/lib/%23top.html"]),
    ],
)
def test_a_base_url_and_the_path_give_the_url(tmp_path, path, urls):
    _write_files(tmp_path, path)
    items, _ = _loaded(tmp_path, base_url="http://s.test/lib/")
    assert [page.url for page in items] == urls


def test_names_that_are_not_utf8_keep_their_bytes(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.html")).write_bytes(b"x")
    assert [page.url for page in load(tmp_path, base_url="http://s.test/")] == ["http://s.test/caf%E9.html"]


def test_other_files_come_with_their_type(tmp_path):
    _write_files(tmp_path, "p.png", "s.css", "page.php", "noext")
    _write_files(tmp_path, "data", body=b"\x00\x01")
    types = {
        page.url.rpartition("/")[2]: page.header("content-type")
        for page in load(tmp_path, base_url="http://s.test/")
    }
    assert types == {
        "p.png": "image/png",
        "s.css": "text/css",
        "page.php": "text/html",
        "noext": "text/html",
        "data": "application/octet-stream",
    }


def test_symbolic_links_are_not_followed(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "passwords.html").write_text("secret")
    root = tmp_path / "root"
    _write_files(root, "school.test/a.html")
    (root / "school.test" / "link.html").symlink_to(tmp_path / "secret" / "passwords.html")
    (root / "school.test" / "folder").symlink_to(tmp_path / "secret")
    (root / "evil.test").symlink_to(tmp_path / "secret")
    assert [page.url for page in load(root)] == ["http://school.test/a.html"]


def test_a_file_too_large_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(html_format, "_MAX_FILE_BYTES", 100)
    _write_files(tmp_path, "school.test/big.html", body=b"x" * 101)
    _write_files(tmp_path, "school.test/small.html")
    items, problems = _loaded(tmp_path)
    assert [page.url for page in items] == ["http://school.test/small.html"]
    assert "big.html: expected at most 100 bytes, got 101" in problems[0]


def test_files_without_known_urls_are_refused_with_a_hint(tmp_path):
    _write_files(tmp_path, "pages/a.html")
    with pytest.raises(ImportFailed, match="base URL"):
        _loaded(tmp_path)


# WARC and WACZ


def _warc(path, *records, gzipped=True):
    """A WARC file of (kind, uri, headers, body) records."""
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=gzipped)
        for kind, uri, headers, body in records:
            if kind == "revisit":
                record = writer.create_revisit_record(
                    uri,
                    headers,
                    "http://a.test/first",
                    "2026-01-01T00:00:00Z",
                    http_headers=StatusAndHeaders("200 OK", [], protocol="HTTP/1.1"),
                )
            else:
                status = StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1")
                record = writer.create_warc_record(
                    uri,
                    kind,
                    payload=io.BytesIO(body),
                    http_headers=status,
                    warc_headers_dict={"WARC-Date": "2026-05-03T12:00:00Z"},
                )
            writer.write_record(record)
    return path


HTML = [("Content-Type", "text/html")]


@pytest.mark.parametrize("gzipped", [True, False])
def test_responses_of_a_warc_come_as_pages(tmp_path, gzipped):
    records = [
        ("request", "http://a.test/", HTML, b""),
        ("response", "http://a.test/", HTML, b"<p>hello"),
        ("response", "http://a.test/p.png", [("Content-Type", "image/png")], b"\x89PNG"),
        ("response", "dns:a.test", HTML, b"1.2.3.4"),
    ]
    items, problems = _loaded(
        _warc(tmp_path / ("x.warc.gz" if gzipped else "x.warc"), *records, gzipped=gzipped)
    )
    assert [(page.url, page.body) for page in items] == [
        ("http://a.test/", b"<p>hello"),
        ("http://a.test/p.png", b"\x89PNG"),
    ]
    assert items[0].fetched_at == datetime(2026, 5, 3, 12, tzinfo=UTC)
    assert problems == ()


def test_chunks_are_joined_and_codings_kept(tmp_path):
    body = gzip.compress(b"<p>hello")
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    headers = [*HTML, ("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")]
    ((page,), _) = _loaded(_warc(tmp_path / "x.warc.gz", ("response", "http://a.test/", headers, chunked)))
    assert page.body == body
    assert page.header("content-encoding") == "gzip"
    assert page.header("transfer-encoding") is None
    assert page.header("content-length") == str(len(body))


def test_a_body_stored_decoded_is_not_called_coded(tmp_path):
    headers = [*HTML, ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")]
    ((page,), _) = _loaded(
        _warc(tmp_path / "x.warc.gz", ("response", "http://a.test/", headers, b"<p>hello"))
    )
    assert page.body == b"<p>hello"
    assert page.header("content-encoding") is None


def _revisits(tmp_path, digest):
    return _warc(
        tmp_path / "x.warc.gz",
        ("response", "http://a.test/first", HTML, b"<p>same"),
        ("response", "http://a.test/between", HTML, b"<p>other"),
        ("revisit", "http://a.test/again", digest, b""),
        ("response", "http://a.test/last", HTML, b"<p>last"),
    )


def test_a_revisit_gets_the_body_it_repeats(tmp_path):
    path = _revisits(tmp_path, "sha1:unknown")
    with path.open("rb") as stream:
        first = next(iter(warc_format.ArchiveIterator(stream)))
        digest = first.rec_headers.get_header("WARC-Payload-Digest")
    items, problems = _loaded(_revisits(tmp_path, digest))
    assert [(page.url[14:], page.body) for page in items] == [
        ("first", b"<p>same"),
        ("between", b"<p>other"),
        ("again", b"<p>same"),
        ("last", b"<p>last"),
    ]
    assert problems == ()


def test_a_revisit_of_a_record_elsewhere_is_reported(tmp_path):
    items, problems = _loaded(_revisits(tmp_path, "sha1:unknown"))
    assert len(items) == 3
    assert problems == ("x.warc.gz: record 3: refers to a record that is not in this file",)


def test_a_body_too_large_is_reported_and_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(warc_format, "_MAX_BODY_BYTES", 100)
    path = _warc(
        tmp_path / "x.warc.gz",
        ("response", "http://a.test/big", HTML, b"x" * 101),
        ("response", "http://a.test/small", HTML, b"x"),
    )
    items, problems = _loaded(path)
    assert [page.url for page in items] == ["http://a.test/small"]
    assert problems == ("x.warc.gz: record 1: more than 100 bytes",)


def test_a_warc_that_is_cut_short_gives_what_it_has(tmp_path):
    records = [("response", f"http://a.test/{n}", HTML, os.urandom(2_000)) for n in range(20)]
    path = _warc(tmp_path / "x.warc.gz", *records)
    path.write_bytes(path.read_bytes()[:20_000])
    items, _ = _loaded(path)
    assert 5 < len(items) < 20


@pytest.mark.parametrize("name", ["x.warc.gz", "x.warc", "x.wacz"])
def test_a_warc_that_ends_early_says_so_wherever_it_was_cut(tmp_path, name):
    records = [("response", f"http://a.test/{n}", HTML, os.urandom(300)) for n in range(3)]
    file = _warc(tmp_path / ("y.warc.gz" if "gz" in name else "y.warc"), *records, gzipped="gz" in name)
    whole = file.read_bytes()
    start = whole.rindex(b"\x1f\x8b\x08" if "gz" in name else b"WARC/1")
    end = len(whole) - (0 if "gz" in name else 4)  # nothing is missing without the empty lines at the end
    for cut in (*range(start + 3, end, 29), end - 1, len(whole), start):
        path = tmp_path / name
        if name == "x.wacz":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("archive/y.warc", whole[:cut])
        else:
            path.write_bytes(whole[:cut])
        loading = load(path)
        items = list(loading)
        assert all(len(page.body) == 300 for page in items), cut
        assert len(items) == (3 if cut == len(whole) else len(items))
        assert len(items) >= 2
        is_whole = cut in (len(whole), start)  # a cut between two records cannot be seen
        assert bool(loading.damage) is not is_whole, cut


@pytest.mark.parametrize("gzipped", [True, False])
def test_the_pages_before_damage_are_kept_and_the_damage_is_told(tmp_path, gzipped):
    records = [("response", f"http://a.test/{n}", HTML, os.urandom(2_000)) for n in range(6)]
    path = _warc(tmp_path / ("x.warc.gz" if gzipped else "x.warc"), *records, gzipped=gzipped)
    whole = path.read_bytes()
    at = len(whole) // 2 + 200 if gzipped else whole.index(b"WARC/1", len(whole) // 2)
    path.write_bytes(whole[:at] + b"\0\1\2\3" + whole[at + 4 :])
    loading = load(path)
    assert 1 < len(list(loading)) < 6
    assert "unreadable; stopped here" in loading.damage


def test_a_file_that_is_no_warc_is_refused(tmp_path):
    (tmp_path / "x.warc.gz").write_bytes(b"this is not a WARC")
    with pytest.raises(ImportFailed, match=r"x.warc.gz: expected http responses, found none"):
        _loaded(tmp_path / "x.warc.gz")


@examples(60)
@given(st.binary(max_size=300), st.sampled_from([".warc", ".warc.gz", ".arc", ".wacz"]), st.booleans())
def test_any_bytes_are_pages_or_refused(tmp_path_factory, data, suffix, headed):
    path = tmp_path_factory.mktemp("warc") / f"x{suffix}"
    path.write_bytes(
        (b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n" if headed else b"") + data
    )
    with contextlib.suppress(ImportFailed):
        assert all(isinstance(page, Page) for page in load(path))


def test_a_wacz_gives_the_pages_of_all_its_warcs(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as archive:
        for name in "ab":
            _warc(tmp_path / "y.warc.gz", ("response", f"http://{name}.test/", HTML, b"x"))
            archive.write(tmp_path / "y.warc.gz", f"archive/{name}.warc.gz")
        archive.writestr("../../outside.txt", "never unpacked")
    assert [page.url for page in load(tmp_path / "x.wacz")] == ["http://a.test/", "http://b.test/"]


def test_a_decompression_bomb_in_a_wacz_is_skipped(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.wacz", "w", zipfile.ZIP_DEFLATED) as archive:
        _warc(tmp_path / "y.warc", ("response", "http://a.test/", HTML, b"x"))
        archive.write(tmp_path / "y.warc", "archive/good.warc")
        archive.writestr("archive/bomb.warc", b"\0" * 50_000_000)
    items, problems = _loaded(tmp_path / "x.wacz")
    assert [page.url for page in items] == ["http://a.test/"]
    assert problems == ("x.wacz: archive/bomb.warc: expected less than 1000 times its compressed size",)


@pytest.mark.parametrize("content", [b"no zip", None])
def test_a_wacz_without_warcs_is_refused(tmp_path, content):
    if content is None:
        zipfile.ZipFile(tmp_path / "x.wacz", "w").close()
    else:
        (tmp_path / "x.wacz").write_bytes(content)
    with pytest.raises(ImportFailed, match="x.wacz: expected"):
        _loaded(tmp_path / "x.wacz")


# Others


class FakeZim:
    """A ZIM file of three pages, as libzim shows it; `broken` entries cannot be read."""

    has_new_namespace_scheme = True
    entry_count = 3
    metadata_keys = ("Source",)
    has_checksum = True

    def __init__(self, *, broken=(), checksum=True):
        self._broken, self._checksum = broken, checksum

    def check(self):
        return self._checksum

    def get_metadata(self, name):
        if name == "Source":
            return b"http://a.test"
        raise KeyError(name)

    def _get_entry_by_id(self, number):
        if number in self._broken:
            raise RuntimeError("zstd: data corruption")
        item = SimpleNamespace(size=1, mimetype="text/html", content=b"x")
        return SimpleNamespace(is_redirect=False, path=f"{number}", get_item=lambda: item)


@pytest.mark.parametrize(
    ("archive", "pages", "damage"),
    [
        (FakeZim(), 3, ""),
        (FakeZim(broken=(1,), checksum=False), 2, "x.zim: entry 1: unreadable: zstd: data corruption"),
        (FakeZim(checksum=False), 3, "x.zim: its checksum is wrong: some of its pages may be damaged"),
    ],
    ids=["whole", "unreadable entry", "wrong checksum"],
)
def test_a_damaged_zim_gives_what_can_be_read_and_says_so(tmp_path, monkeypatch, archive, pages, damage):
    library = SimpleNamespace(Archive=lambda path: archive)
    monkeypatch.setitem(sys.modules, "libzim", SimpleNamespace(reader=library))
    monkeypatch.setitem(sys.modules, "libzim.reader", library)
    (tmp_path / "x.zim").write_bytes(b"")
    loading = load(tmp_path / "x.zim")
    assert len(list(loading)) == pages
    assert loading.damage == damage


def test_a_zim_without_libzim_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "libzim.reader", None)
    (tmp_path / "x.zim").write_bytes(b"")
    with pytest.raises(ImportFailed, match=r"pip install 'linkmend\[zim\]'"):
        _loaded(tmp_path / "x.zim")


@pytest.mark.parametrize("name", ["missing.warc", "x.txt"])
def test_what_is_missing_or_of_no_known_kind_is_refused(tmp_path, name):
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(ImportFailed, match=name):
        load(tmp_path / name)


def test_text_records_come_as_documents(tmp_path):
    _write_lines(tmp_path / "pages.jsonl.gz", ROME)
    assert isinstance(next(load(tmp_path)), Document)


def test_import_knows_how_much_has_been_read(tmp_path):
    _write_files(tmp_path, *(f"school.test/{number}.html" for number in range(4)))
    loading = load(tmp_path)
    assert loading.share is None
    assert [loading.share for _ in loading] == [0, 0.25, 0.5, 0.75]
