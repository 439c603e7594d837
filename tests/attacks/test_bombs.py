"""Small files that unpack to more than a machine has: importing one takes little more memory than a normal file."""

import gzip
import json
import subprocess
import sys
import zipfile
import zlib
from functools import cache

import brotli
import pytest
import zstandard

from tests.integration.processes import ROOT

HUGE = 400 * 1024**2
MEBI = 1024**2
ROOM = 260 * MEBI
"""Above what an ordinary import takes: a body of 64 MiB, as it was sent and unpacked, and copies of it underway."""


@cache
def gzipped(members=1, wbits=31):
    """Zeros in gzip members, made piece by piece."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    pieces = [packer.compress(bytes(MEBI)) for _ in range(HUGE // MEBI // members)]
    return (b"".join(pieces) + packer.flush()) * members


def zstded():
    packer = zstandard.ZstdCompressor(level=9).compressobj()
    return b"".join([*(packer.compress(bytes(MEBI)) for _ in range(HUGE // MEBI)), packer.flush()])


def brotlied():
    packer = brotli.Compressor(quality=5)
    return b"".join([*(packer.process(bytes(MEBI)) for _ in range(HUGE // MEBI)), packer.finish()])


def record(url, head, body):
    said = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: " + url.encode() + b"\r\n"
        b"WARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        b"Content-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n" % len(said) + said + b"\r\n\r\n"
    )


def a_page(url="http://honest.test/page", text="honest"):
    return record(url, b"Content-Type: text/html", f"<title>{text}</title><p>{text} words".encode())


def coded(coding, body, kind=b"text/html", more=b""):
    head = b"Content-Type: " + kind + b"\r\nContent-Encoding: " + coding + more
    return record("http://bomb.test/page", head, body)


def chunked(body):
    return b"".join(
        b"%x\r\n%s\r\n" % (len(body[i : i + MEBI]), body[i : i + MEBI]) for i in range(0, len(body), MEBI)
    )


BOMBS = {
    "coded bodies": lambda: (
        coded(b"gzip", gzipped()),
        coded(b"gzip", gzipped(), b"application/pdf"),
        coded(b"gzip", gzipped(members=50), b"image/png"),
        coded(b"gzip, gzip", gzip.compress(gzipped()), b"image/png"),
        coded(b"deflate", gzipped(wbits=15), b"image/png"),
        coded(b"zstd", zstded(), b"image/png"),
        coded(b"br", brotlied(), b"image/png"),
        coded(b"gzip", chunked(gzipped()) + b"0\r\n\r\n", b"image/png", b"\r\nTransfer-Encoding: chunked"),
    ),
    "a header without end": lambda: (record("http://bomb.test/", b"X: " + b"a" * (HUGE // 4), b""),),
    "headers without end": lambda: (record("http://bomb.test/", b"X: y\r\n" * (HUGE // 24) + b"X: y", b""),),
}


def imported(tmp_path, name):
    """The output of an import and its peak memory."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _MEASURED,
            "import",
            tmp_path / name,
            "--json",
            "--data",
            tmp_path / f"{name}-data",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    peak = next(line for line in done.stderr.splitlines() if line.startswith("VmHWM"))
    return (json.loads(done.stdout) if done.stdout else {}), int(peak.split()[1]) * 1024


# The kernel's own count for a child begins with its parent's; this one begins with the program.
_MEASURED = """
import pathlib, sys
from proxy.main import run
try:
    run()
finally:
    status = pathlib.Path("/proc/self/status").read_text()
    sys.stderr.write("\\n".join(line for line in status.splitlines() if line.startswith("VmHWM")) + "\\n")
"""


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """The peak memory of importing one page; the page is found."""
    folder = tmp_path_factory.mktemp("usual")
    (folder / "honest.warc.gz").write_bytes(gzip.compress(a_page()))
    told, peak = imported(folder, "honest.warc.gz")
    assert told["pages"] == 1
    return peak


@pytest.mark.parametrize("kind", BOMBS)
def test_warc_bomb_uses_bounded_memory(tmp_path, usual, kind):
    bomb = b"".join(gzip.compress(each, 1) for each in BOMBS[kind]())
    assert len(bomb) < 4 * MEBI
    (tmp_path / "bomb.warc.gz").write_bytes(gzip.compress(a_page()) + bomb)
    told, peak = imported(tmp_path, "bomb.warc.gz")
    assert told["pages"] >= 1, "the honest page before it is lost"
    assert peak < usual + ROOM, f"{peak / MEBI:.0f} MiB, usually {usual / MEBI:.0f}"


def test_wacz_bomb_uses_bounded_memory(tmp_path, usual):
    with zipfile.ZipFile(tmp_path / "bomb.wacz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/honest.warc", a_page())
        archive.writestr("archive/bomb.warc", coded(b"gzip", gzipped(), b"image/png"))
        archive.writestr("archive/zeros.warc", bytes(HUGE // 4))
    told, peak = imported(tmp_path, "bomb.wacz")
    assert told["pages"] == 1
    assert peak < usual + ROOM


def test_collection_folder_bomb_uses_bounded_memory(tmp_path, usual):
    folder = tmp_path / "collection"
    folder.mkdir()
    honest = b'{"url": "http://honest.test/", "title": "honest", "text": "honest words"}\n'
    with gzip.open(folder / "pages.jsonl.gz", "wb") as file:
        file.write(honest)
        file.write(b'{"url": "http://bomb.test/", "x": {' + b'"%d":0,' * 3 % (1, 2, 3))
        for start in range(0, HUGE // 40, 1000):
            file.write(b"".join(b'"%d":0,' % number for number in range(start, start + 1000)))
        file.write(b'"0":0}}\n')
        for _ in range(HUGE // MEBI // 4):
            file.write(bytes(MEBI))
    told, peak = imported(tmp_path, "collection")
    assert told["pages"] == 1
    assert peak < usual + ROOM
