"""The reader and its helper process, the real one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proxy.descriptors import raise_limit
from repair.errors import FileTooCostly
from repair.parse.formats.kinds import FileKind
from repair.parse.formats.reader import FileLimits, FileReader
from tests.files import a_docx, a_pdf, an_epub, an_odt

pytestmark = pytest.mark.slow  # each starts a process


@pytest.fixture
def reader():
    reader = FileReader(FileLimits(wall_s=60.0))
    yield reader
    reader.close()


def helper_of(reader):
    return reader._helper._process.pid


def test_nothing_is_started_before_the_first_file(reader):
    assert reader.stats().started == 0
    assert reader.read(FileKind.PDF, a_pdf("hello")).text == "hello"
    assert reader.stats().started == 1


def test_files_are_read_by_a_process_with_thousands_of_connections(reader):
    raise_limit()
    low = os.open(os.devnull, os.O_RDONLY)
    high = [os.dup(low) for _ in range(1_100)]
    try:
        assert reader.read(FileKind.PDF, a_pdf("hello")).text == "hello"
    finally:
        for descriptor in (low, *high):
            os.close(descriptor)


def test_one_helper_reads_all_formats(reader):
    for kind, data in (
        (FileKind.PDF, a_pdf("hello")),
        (FileKind.DOCX, a_docx("hello")),
        (FileKind.ODT, an_odt("hello")),
        (FileKind.EPUB, an_epub("<p>hello</p>")),
    ):
        assert reader.read(kind, data).text.strip() == "hello"
    assert (reader.stats().started, reader.stats().read) == (1, 4)


def test_an_unreadable_file_is_refused_and_remembered(reader):
    assert reader.read(FileKind.PDF, b"%PDF- no") is None
    assert reader.read(FileKind.PDF, b"%PDF- no") is None
    assert (reader.stats().refused, reader.stats().lost) == (1, 0)


def test_a_file_too_large_starts_nothing():
    reader = FileReader(FileLimits(max_bytes=100))
    assert reader.read(FileKind.PDF, a_pdf("hello")) is None
    assert reader.stats().started == 0


def test_a_helper_that_hangs_costs_its_file_and_the_next_gets_another():
    reader = FileReader(FileLimits(wall_s=60.0))
    assert reader.read(FileKind.PDF, a_pdf("one")) is not None
    os.kill(helper_of(reader), signal.SIGSTOP)
    reader._helper._limits = FileLimits(wall_s=0.2)
    with pytest.raises(FileTooCostly):
        reader.read(FileKind.PDF, a_pdf("two"))
    assert reader.read(FileKind.PDF, a_pdf("two")) is None  # not tried again
    assert reader.read(FileKind.PDF, a_pdf("three")).text == "three"
    assert (reader.stats().started, reader.stats().lost) == (2, 1)
    reader.close()


def test_a_helper_that_was_killed_is_replaced(reader):
    reader.read(FileKind.PDF, a_pdf("one"))
    os.kill(helper_of(reader), signal.SIGKILL)
    reader._helper._process.wait()
    assert reader.read(FileKind.PDF, a_pdf("two")).text == "two"
    assert (reader.stats().started, reader.stats().lost) == (2, 0)


def test_the_system_limits_the_helper(reader):
    reader.read(FileKind.PDF, a_pdf("one"))
    limits = {
        line[:26].strip(): line[26:].split()[:2]
        for line in Path(f"/proc/{helper_of(reader)}/limits").read_text().splitlines()
    }
    memory = str(FileLimits().memory_bytes)
    assert limits["Max address space"] == [memory, memory]
    assert limits["Max file size"] == ["0", "0"]
    assert limits["Max processes"] == ["0", "0"]
    assert limits["Max core file size"] == ["0", "0"]
    assert 0 < int(limits["Max cpu time"][0]) <= FileLimits().cpu_s + 20


def test_the_helper_gets_nothing_of_our_environment(reader, monkeypatch):
    monkeypatch.setenv("LINKMEND_SECRET", "hidden")
    reader.read(FileKind.PDF, a_pdf("one"))
    assert b"hidden" not in Path(f"/proc/{helper_of(reader)}/environ").read_bytes()


def test_the_helper_ends_with_its_parent():
    script = (
        "import os; from repair.parse.formats.reader import FileReader\n"
        "from repair.parse.formats.kinds import FileKind\n"
        "from tests.files import a_pdf; reader = FileReader(); reader.read(FileKind.PDF, a_pdf('x'))\n"
        "print(reader._helper._process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).parents[5]
    parent = subprocess.run(
        (sys.executable, "-c", script), cwd=root, capture_output=True, text=True, check=False
    )
    helper, until = Path(f"/proc/{int(parent.stdout)}"), time.monotonic() + 30
    while _runs(helper) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(helper)


def _runs(process):
    try:
        return "\nState:\tZ" not in (process / "status").read_text()
    except OSError:
        return False


def test_a_forked_process_starts_a_helper_of_its_own(reader):
    reader.read(FileKind.PDF, a_pdf("one"))
    reader._helper._owner -= 1  # as if we were the child of who started it
    theirs = reader._helper._process
    assert reader.read(FileKind.PDF, a_pdf("two")).text == "two"
    assert theirs.poll() is None or theirs.wait() == 0  # not killed; it ends when its socket closes
    assert reader.stats().started == 2
