"""A real web archive on loopback: pywb over a WARC file that the test writes."""

import io
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.integration.processes import ROOT, Running, free_port

PLACES = (ROOT / ".pywb" / "bin",)
"""Where tests/run.sh installs it: it pins packages that cannot live beside ours."""


class Captured(NamedTuple):
    """One capture: fourteen digits, an address, and what was found there."""

    timestamp: str
    url: str
    body: str = ""
    status: str = "200 OK"
    location: str = ""


def programs() -> tuple[str, str] | None:
    """The paths of `wayback` and `wb-manager`; None when pywb is not installed."""
    path = ":".join(map(str, PLACES))
    found = [shutil.which(name, path=path) or shutil.which(name) for name in ("wayback", "wb-manager")]
    return (found[0], found[1]) if found[0] and found[1] else None


class Pywb(Running):
    """`wayback` over one collection, `school`, of the captures given."""

    def __init__(self, programs: tuple[str, str], folder: Path, captures: Iterable[Captured]) -> None:
        wayback, manager = programs
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text("framed_replay: false\nenable_memento: true\n", encoding="ascii")
        warc = folder / "captures.warc.gz"
        _write(warc, captures)
        for command in (["init", "school"], ["add", "school", str(warc)]):
            subprocess.run([manager, *command], cwd=folder, check=True, capture_output=True, timeout=60)
        self.port = free_port()
        super().__init__([wayback, "-b", "127.0.0.1", "-p", str(self.port), "-d", folder])
        self.wait_for_port(self.port, timeout_s=60)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/school/"


def _write(path: Path, captures: Iterable[Captured]) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for captured in captures:
            body = captured.body.encode()
            headers = [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body)))]
            if captured.location:
                headers.append(("Location", captured.location))
            writer.write_record(
                writer.create_warc_record(
                    captured.url,
                    "response",
                    payload=io.BytesIO(body),
                    http_headers=StatusAndHeaders(captured.status, headers, protocol="HTTP/1.1"),
                    warc_headers_dict={"WARC-Date": _warc_date(captured.timestamp)},
                )
            )


def _warc_date(timestamp: str) -> str:
    year, month, day, hour, minute, second = (
        timestamp[:4],
        *(timestamp[place : place + 2] for place in range(4, 14, 2)),
    )
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}Z"
