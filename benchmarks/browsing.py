"""Which requests of a real browser the fast path answers, and why the others take the slow way.

    python -m benchmarks.browsing FOLDER... [--pages N] [--chromium PATH] [--recorded FILE] [--json]

Each folder is a site: pages as their generator made them, with styles, scripts, pictures and fonts (unpacked
documentation packages of Debian, for example). Headless Chromium opens pages of all of them twice, like a pupil who
comes back, and every request it makes is recorded. The same requests are then sent through linkmend by three pupils
of a class, one after the other, and by the third once more with what Chromium asked for when it came back.

linkmend runs here with a note beside its fast path that says, for every request, whether it answered and if not, why.
The sites differ as servers do (`SERVERS`).
"""

import argparse
import asyncio
import gzip
import json
import mimetypes
import os
import random
import re
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import blake2b
from pathlib import Path

from benchmarks.figures import markdown
from benchmarks.processes import Program, free_port, scratch

SERVERS = ("says nothing of freshness", "revalidates pages, keeps the rest a year", "ten minutes", "sessions")
"""Like Apache by default, applications with a build step, GitHub Pages, and PHP (a cookie, no-store on pages)."""
_VISITORS = "first pupil", "second pupil", "third pupil", "third pupil, again"
_SESSION = re.compile(rb"session=\w+")
_LEAST_PAGE, _LARGEST = 1_000, 20_000_000
_HTML = (".html", ".htm", ".xhtml")
_PACKED = ("text/", "application/javascript", "application/json", "image/svg")
_TYPES = {
    ".js": "application/javascript",
    ".woff2": "font/woff2",
    ".woff": "font/woff",
    ".html": "text/html; charset=utf-8",
}


@dataclass(slots=True)
class Web:
    """All sites on one port, each at an address of its own; to a browser that takes it for a proxy, too."""

    folders: Sequence[Path]
    port: int
    recorded: list[bytes] = field(default_factory=list)
    elsewhere: int = 0

    def url(self, site: int, page: Path) -> str:
        return f"http://{address_of(site)}:{self.port}/{page.relative_to(self.folders[site]).as_posix()}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        target = head.split(b" ", 2)[1].decode("latin-1")
        fields = dict(
            line.lower().split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:] if ": " in line
        )
        if target.startswith("http://"):
            if not target.startswith("http://127.0.2."):
                self.elsewhere += 1
                return _response("502 Bad Gateway", {}, b"")
            self.recorded.append(head)
            target = "/" + target.split("/", 3)[3]
        elif not target.startswith("/"):
            self.elsewhere += 1
            return _response("502 Bad Gateway", {}, b"")
        site = int(fields["host"].partition(":")[0].rpartition(".")[2]) - 1
        return self._file(site, target.partition("?")[0], fields)

    def _file(self, site: int, path: str, fields: dict[str, str]) -> bytes:
        place = (self.folders[site] / path.lstrip("/")).resolve()
        if place.is_dir():
            place /= "index.html"
        if not place.is_file() or place.stat().st_size > _LARGEST:
            return _response("404 Not Found", {"Content-Type": "text/html"}, b"<h1>404 Not Found</h1>")
        body = place.read_bytes()
        kind = _TYPES.get(place.suffix) or mimetypes.guess_type(place.name)[0] or "application/octet-stream"
        tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
        told = {
            "Content-Type": kind,
            "ETag": tag,
            "Last-Modified": formatdate(place.stat().st_mtime, usegmt=True),
            **_freshness(SERVERS[site % len(SERVERS)], kind, fields),
        }
        if fields.get("if-none-match") == tag:
            return _response("304 Not Modified", told, b"")
        if kind.startswith(_PACKED) and "gzip" in fields.get("accept-encoding", ""):
            told |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            body = gzip.compress(body, 6, mtime=0)
        return _response("200 OK", told, body)


def _freshness(server: str, kind: str, fields: dict[str, str]) -> dict[str, str]:
    is_page = kind.startswith("text/html")
    match server:
        case "ten minutes":
            return {"Cache-Control": "max-age=600"}
        case "revalidates pages, keeps the rest a year":
            return {"Cache-Control": "no-cache" if is_page else "public, max-age=31536000, immutable"}
        case "sessions" if is_page:
            cookie = (
                {} if "cookie" in fields else {"Set-Cookie": f"session={random.randbytes(8).hex()}; Path=/"}
            )
            return {"Cache-Control": "no-store, no-cache, must-revalidate", **cookie}
    return {}


def _response(status: str, fields: dict[str, str], body: bytes) -> bytes:
    lines = (
        f"HTTP/1.1 {status}",
        f"Date: {formatdate(usegmt=True)}",
        *(f"{name}: {value}" for name, value in fields.items()),
    )
    length = "" if status.startswith("304") else f"Content-Length: {len(body)}\r\n"
    return ("\r\n".join(lines) + f"\r\n{length}\r\n").encode("latin-1") + body


def address_of(site: int) -> str:
    return f"127.0.2.{site + 1}"


def chosen_pages(folders: Sequence[Path], count: int, seed: int) -> list[tuple[int, Path]]:
    """Pages of all sites in turn, as many of each as there are."""
    dice = random.Random(seed)
    by_site = []
    for site, folder in enumerate(folders):
        pages = sorted(
            each
            for each in folder.rglob("*")
            if each.suffix in _HTML and each.is_file() and each.stat().st_size > _LEAST_PAGE
        )
        dice.shuffle(pages)
        by_site.append([(site, page) for page in pages[: -(-count // len(folders)) + 3]])
    longest = max(map(len, by_site))
    turns = [pages[number] for number in range(longest) for pages in by_site if number < len(pages)]
    return sorted(turns[:count])


async def record(web: Web, pages: Sequence[tuple[int, Path]], chromium: str, home: Path) -> list[list[bytes]]:
    """What Chromium asks for when it opens the pages, and when it opens them again."""
    from playwright.async_api import Error, async_playwright

    visits = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
            ],
            env={**os.environ, "HOME": str(home)},
            proxy={"server": f"http://127.0.0.1:{web.port}", "bypass": "<-loopback>"},
        )
        tab = await (await browser.new_context()).new_page()
        for _ in range(2):
            web.recorded = []
            for site, page in pages:
                try:
                    await tab.goto(web.url(site, page), wait_until="load", timeout=10_000)
                except Error as error:
                    print(f"{page}: {str(error).splitlines()[0]}", file=sys.stderr)
            visits.append(web.recorded)
        await browser.close()
    return visits


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request and its answer."""

    kind: str
    status: int
    cache_status: str
    head: str


def replay(port: int, visitor: int, heads: Sequence[bytes]) -> list[Replayed]:
    """Send requests one after the other, from an address of the visitor's own and with a session of its own."""
    connection: socket.socket | None = None
    seen: list[Replayed] = []
    session = b"session=%016x" % visitor
    for head in heads:
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", port), 30, (f"127.0.3.{visitor}", 0))
        connection.sendall(_SESSION.sub(session, head))
        answer, closed = _read_answer(connection)
        if closed:
            connection.close()
            connection = None
        fields = dict(line.split(": ", 1) for line in answer.split("\r\n")[1:] if ": " in line)
        lowered = {name.lower(): value for name, value in fields.items()}
        kind = re.search(rb"(?i)sec-fetch-dest: *(\S+)", head)
        status, said = int(answer.split(" ", 2)[1]), lowered.get("cache-status", "")
        seen.append(Replayed(kind[1].decode() if kind else "other", status, said, answer))
    return seen


def _read_answer(connection: socket.socket) -> tuple[str, bool]:
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(65536)
        if not received:
            raise SystemExit(f"linkmend closed a connection within an answer: {data[:200]!r}")
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    text = head.decode("latin-1")
    length = re.search(r"(?im)^content-length: *(\d+)", text)
    if length is None and re.search(r"(?im)^transfer-encoding: *chunked", text):
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
    else:
        missing = (int(length[1]) if length else 0) - len(body)
        while missing > 0 and text.split(" ", 2)[1] not in ("304", "204"):
            missing -= len(connection.recv(min(missing, 1 << 20)))
    return text, bool(re.search(r"(?im)^connection: *close", text))


# linkmend with notes


def serve_with_notes(notes: Path, arguments: list[str]) -> None:
    """Run linkmend in this process, with a line for each request that the fast path sees."""
    from addons.fastpath import FastPath
    from addons.mitm.fastlayer import UnansweredRequest
    from proxy.main import run

    answer, read_stored = FastPath.answer, FastPath.read_stored
    out = notes.open("a", buffering=1)

    def noting(self, client, place, data):  # type: ignore[no-untyped-def]
        found = answer(self, client, place, data)
        if not isinstance(found, UnansweredRequest):
            print("memory" if found else _why_not(self, client, place, data), file=out)
        return found

    async def noting_read(self, request):  # type: ignore[no-untyped-def]
        await read_stored(self, request)
        entry = self._store.get_cached(request.url)
        why = (
            "not stored"
            if entry is None
            else _why_not_from(self, entry, request.client, request.request_head, request.url)
        )
        print("disk" if request.answer else why, file=out)

    FastPath.answer, FastPath.read_stored = noting, noting_read  # type: ignore[method-assign]
    sys.argv[1:] = arguments
    run()


def _why_not(fast, client, place, data) -> str:  # type: ignore[no-untyped-def]
    from addons.fastpath import _url
    from proxy.headers.fastrequest import _REFUSED, plain_request

    head = plain_request(data)
    if head is None:
        names = {line.partition(b":")[0].decode("latin-1").lower() for line in data.split(b"\r\n")[1:]}
        refused = sorted(names & _REFUSED)
        return f"field {refused[0]}" if refused else "no plain request"
    url = _url(head, place)
    if url is None:
        return "whom it is for is not plain"
    entry = fast._store.get_cached(url)
    if entry is None:
        return "not stored" if not fast._store.may_be_on_disk(url) else "page that is not known to be there"
    return _why_not_from(fast, entry, client, head, url)


def _why_not_from(fast, entry, client, head, url) -> str:  # type: ignore[no-untyped-def]
    variant = fast._variant(entry, url, head)
    if variant is None:
        return "stored for other fields, or not sent as bytes"
    if not fast._may_be_shown(variant, head, url, client.peername[0]):
        return "page that is not known to be there"
    return "stale, or the client asks to ask"


# The tables


def why_not_stored(seen: Replayed) -> str:
    """Of a response that was not in the store: whether it is now, or who forbids it."""
    head = seen.head.lower()
    if ";stored" in seen.cache_status.replace(" ", ""):
        return "first request, stored"
    if seen.status not in (200, 304):
        return f"answered {seen.status}"
    if "no-store" in head or "private" in head:
        return "the site forbids it"
    return "not stored: " + (seen.cache_status or "no Cache-Status")


def table(told: dict[str, list[tuple[str, Replayed]]]) -> str:
    rows = []
    for visitor, seen in told.items():
        counts = Counter(
            (why if why != "not stored" else why_not_stored(each), _kind(each.kind)) for why, each in seen
        )
        reasons = Counter[str]()
        for (why, _), count in counts.items():
            reasons[why] += count
        for why, count in reasons.most_common():
            kinds = ", ".join(
                f"{kind} {counts[why, kind]}" for kind in sorted({kind for w, kind in counts if w == why})
            )
            rows.append((visitor, why, str(count), f"{100 * count / len(seen):.1f} %", kinds))
    return markdown(
        ("requests of", "answered by the fast path from, or not because", "requests", "share", "of them"),
        rows,
    )


def _kind(destination: str) -> str:
    return {"document": "pages", "iframe": "pages", "frame": "pages", "empty": "fetched by scripts"}.get(
        destination, destination
    )


async def requests_of_chromium(web: Web, asked: argparse.Namespace, home: Path) -> list[list[bytes]]:
    """Those of both visits; from the file of an earlier run if there is one."""
    if asked.recorded and asked.recorded.exists():
        kept = json.loads(asked.recorded.read_text())
        web.port = kept["port"]
        return [[head.encode("latin-1") for head in visit] for visit in kept["visits"]]
    async with await serve_sites(web):
        pages = chosen_pages(web.folders, asked.pages, asked.seed)
        visits = await record(web, pages, asked.chromium, home)
    sites = len({site for site, _ in pages})
    print(
        f"{len(pages)} pages of {sites} sites; {web.elsewhere} requests to other hosts left out",
        file=sys.stderr,
    )
    if asked.recorded:
        kept = {"port": web.port, "visits": [[head.decode("latin-1") for head in visit] for visit in visits]}
        asked.recorded.write_text(json.dumps(kept))
    return visits


async def serve_sites(web: Web) -> asyncio.Server:
    return await asyncio.start_server(web.serve, "0.0.0.0", web.port, limit=2**20)


async def measure(asked: argparse.Namespace, home: Path) -> dict[str, list[tuple[str, Replayed]]]:
    web = Web([folder.resolve() for folder in asked.folders], free_port())
    first, again = await requests_of_chromium(web, asked, home)
    print(f"{len(first)} requests, then {len(again)}", file=sys.stderr)
    notes, port = home / "notes", free_port()
    notes.touch()
    serve = ("serve", "--data", home / "data", "--listen", f"127.0.0.1:{port}", "--workers", "1")
    command = (sys.executable, "-O", "-m", "benchmarks.browsing", "--notes", notes, "--", *serve)
    told: dict[str, list[tuple[str, Replayed]]] = {}
    async with await serve_sites(web):
        with Program(
            command, port=port, log=home / "log", cores=os.sched_getaffinity(0), says="linkmend ready on"
        ) as program:
            for visitor, heads, number in zip(
                _VISITORS, (first, first, first, again), (1, 2, 3, 3), strict=True
            ):
                before = len(notes.read_text().splitlines())
                seen = await asyncio.to_thread(replay, port, number, heads)
                lines = notes.read_text().splitlines()[before:]
                if len(lines) != len(seen):
                    raise SystemExit(f"{len(lines)} notes for {len(seen)} requests")
                told[visitor] = list(zip(lines, seen, strict=True))
                program.come_to_rest()
            print(f"{program.complaints()} complaints in linkmend's log", file=sys.stderr)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description="what a browser asks for, and which way it is answered")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recorded", type=Path, help="keeps Chromium's requests for the next run")
    parser.add_argument("--json", action="store_true")
    if sys.argv[1:2] == ["--notes"]:
        serve_with_notes(Path(sys.argv[2]), sys.argv[4:])
        return
    asked = parser.parse_args()
    with scratch() as home:
        told = asyncio.run(measure(asked, home))
    if asked.json:
        rows = {
            who: [(why, each.kind, each.status, each.cache_status) for why, each in seen]
            for who, seen in told.items()
        }
        print(json.dumps(rows))
        return
    print(table(told))


if __name__ == "__main__":
    main()
