"""The helper process: reads one file after another from a socket and sends back what is in it.

It opens no files, keeps nothing, and limits itself before it reads the first byte: memory, processor time for each
file, no new files or processes. A file that exceeds a limit ends this process; the reader on the other side starts
another. It ends by itself when the other side is gone, and when there was nothing to do for a while.
"""

import gc
import resource
import select
import socket
import sys
from collections.abc import Callable

import msgspec

from repair.parse.formats.docx import read_docx
from repair.parse.formats.epub import read_epub
from repair.parse.formats.extraction import Extraction, Refusal, Unreadable
from repair.parse.formats.kinds import FileKind
from repair.parse.formats.odt import read_odt
from repair.parse.formats.pdf import read_pdf
from repair.parse.formats.wire import KINDS, REQUEST, WORKSHEET, Ended, Reply, encode_reply, receive
from repair.parse.formats.worksheets.model import WorksheetJob
from repair.parse.formats.worksheets.worksheet import run_job

IDLE_S = 60.0
_OPEN_FILES = 32
_FORMATS: dict[FileKind, Callable[[bytes], Extraction]] = {
    FileKind.PDF: read_pdf,
    FileKind.EPUB: read_epub,
    FileKind.DOCX: read_docx,
    FileKind.ODT: read_odt,
}


def serve(connection: socket.socket, *, max_file_bytes: int, cpu_s: int) -> None:
    """Read files until the other side is gone, or silent for long."""
    while select.select((connection,), (), (), IDLE_S)[0]:
        number, size = REQUEST.unpack(receive(connection, REQUEST.size))
        if number > WORKSHEET or size > max_file_bytes:
            return
        limit_cpu(cpu_s)
        reply = read(number, receive(connection, size))
        connection.sendall(encode_reply(reply))
        if isinstance(reply, Refusal) and reply.is_last:
            return
        gc.collect()  # pdfium's documents hold their bytes until then


def read(number: int, data: bytes) -> Reply:
    """The content of a file, or what a job about a worksheet asks for; or why there is none."""
    try:
        if number == WORKSHEET:
            return run_job(msgspec.msgpack.decode(data, type=WorksheetJob))
        return _FORMATS[KINDS[number]](data)
    except Unreadable as error:
        return Refusal(reason=str(error)[:300])
    except MemoryError:
        return Refusal(reason="needs too much memory", is_last=True)
    except Exception as error:  # noqa: BLE001  (whatever a hostile file leads to; the next helper starts afresh)
        return Refusal(reason=f"{type(error).__name__}: {error}"[:300], is_last=True)


def limit_process(memory_bytes: int) -> None:
    """Set all limits but that of processor time, for good."""
    for name, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(name)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (most, most))


def limit_cpu(seconds: int) -> None:
    """End this process when it uses more processor time than this from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(
        resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard)
    )


def main(arguments: list[str]) -> None:
    """`arguments`: the limits. The socket is this process's standard input."""
    memory_bytes, max_file_bytes, cpu_s = map(int, arguments)
    limit_process(memory_bytes)
    with socket.socket(fileno=sys.stdin.fileno()) as connection:
        try:
            serve(connection, max_file_bytes=max_file_bytes, cpu_s=cpu_s)
        except (Ended, OSError):
            return


if __name__ == "__main__":
    main(sys.argv[1:])
