"""`linkmend crawl` beside Scrapy on the same web on loopback, politeness off in both: pages a second and memory.

    python -m venv /tmp/scrapy && /tmp/scrapy/bin/pip install scrapy
    python -m benchmarks.crawlspeed --scrapy /tmp/scrapy/bin/python [--pages 10000]

Packages should be compiled in both environments (`python -m compileall`), or each start of a crawl does it anew.
The web has 32 hosts and three times as many pages as are crawled; half of them belong to the topic, each has 20 links
and 600 words. Scrapy follows links and writes title and text of each page to a file (`_SPIDER`).
linkmend also keeps its frontier on disk, judges every page, learns, and saves and indexes those of the topic. It asks
a host for one page at a time, which cannot be turned off; both may ask for 16 pages at once in all.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import markdown
from benchmarks.processes import ON_LOOPBACK, ROOT, Program, free_port, scratch

HOSTS = 32
AT_ONCE = 16
_LINKS = 20
_WORDS = 600
_SETTINGS = f"""
[fetch]
pause_s = 0.0
bytes_per_s = 0
at_once = {AT_ONCE}
parts = 0
[crawl]
host_share = 1.0
"""
# A plain spider; its Scrapy is in an environment of its own.
_SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

class Pages(scrapy.Spider):
    name = "pages"
    links = LinkExtractor()

    def parse(self, response):
        text = " ".join(response.xpath("//body//text()[not(parent::script)]").getall())
        yield {"url": response.url, "title": response.css("title::text").get(), "text": text}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)

out, pages, at_once, *start = sys.argv[1:]
process = CrawlerProcess({
    "CLOSESPIDER_PAGECOUNT": int(pages),
    "CONCURRENT_REQUESTS": int(at_once),
    "CONCURRENT_REQUESTS_PER_DOMAIN": int(at_once),
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "LOG_LEVEL": "WARNING",
    "FEEDS": {out: {"format": "jsonlines"}},
    "TELNETCONSOLE_ENABLED": False,
})
process.crawl(Pages, start_urls=start)
process.start()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlFigures:
    """One run; `cpu_s` is processor time, whatever else the machine does, and `peak_bytes` the most memory that all
    processes of the crawler had at one moment."""

    pages: int
    wall_s: float
    cpu_s: float
    peak_bytes: int


def address(number: int, port: int) -> str:
    """Where a page is: each host has pages of the topic and others."""
    return f"http://127.0.0.{1 + number // 2 % HOSTS}:{port}/page/{number}"


def page(number: int, pages: int, port: int) -> bytes:
    """A page: even numbers belong to the topic, and mostly link to such."""
    chance = random.Random(number)
    letter = "ab"[number % 2]
    words = [f"{letter}word{chance.randint(0, 400)}" for _ in range(_WORDS // 2)]
    words += [f"word{int(chance.paretovariate(0.5)) % 20_000}" for _ in range(_WORDS // 2)]
    chance.shuffle(words)
    links = []
    for _ in range(_LINKS):
        target = 2 * chance.randrange(pages // 2) + (chance.random() < (0.3 if number % 2 == 0 else 0.7))
        name = f"{'ab'[target % 2]}word{chance.randint(0, 400)}"
        links.append(f'<p>{" ".join(words[:12])} <a href="{address(target, port)}">{name}</a></p>')
    paragraphs = "".join(
        f"<p>{' '.join(words[start : start + 60])}.</p>" for start in range(0, len(words), 60)
    )
    title = f"{letter}word{chance.randint(0, 400)} page {number}"
    return f"<html lang=en><title>{title}</title><h1>{title}</h1>{paragraphs}{''.join(links)}</html>".encode()


class _Origin(asyncio.Protocol):
    def __init__(self, pages: list[bytes]) -> None:
        self._pages, self._received = pages, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            name = head.split(b" ", 2)[1].rpartition(b"/")[2]
            known = name.isdigit() and int(name) < len(self._pages)
            status, body = ("200 OK", self._pages[int(name)]) if known else ("404 Not Found", b"")
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            self._transport.write(head + body)


async def serve(port: int, count: int) -> None:
    pages = [page(number, count, port) for number in range(count)]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Origin(pages), "0.0.0.0", port, backlog=500)
    print("ready", flush=True)
    await server.serve_forever()


def memory_of_family(pid: int) -> int:
    """The memory of a process and its descendants; what they share counts once (PSS)."""
    with suppress(OSError, ValueError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        )
        return int(fields["Pss"].split()[0]) * 1024 + sum(map(memory_of_family, map(int, children)))
    return 0


def measure(command: list[str], pages: int) -> CrawlFigures:
    """Run a crawler to its end. Raises SystemExit when it fails."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **ON_LOOPBACK})
    ended, peak_bytes = 0, 0
    while not ended:
        peak_bytes = max(peak_bytes, memory_of_family(process.pid))
        time.sleep(0.2)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return CrawlFigures(
        pages=pages,
        wall_s=time.monotonic() - started,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_bytes=peak_bytes,
    )


def crawl_with_linkmend(folder: Path, port: int, pages: int) -> CrawlFigures:
    config, data = folder / "linkmend.toml", folder / "data"
    config.write_text(_SETTINGS)
    linkmend = [sys.executable, "-m", "proxy.main"]
    place = ["--config", str(config), "--data", str(data)]
    words = [part for number in range(0, 400, 10) for part in ("--word", f"aword{number}")]
    seeds = [part for number in range(0, 80, 2) for part in ("--seed", address(number, port))]
    add = [
        *linkmend,
        "topics",
        "add",
        "Topic",
        *words,
        *seeds,
        "--pages",
        "1000000",
        "--bytes",
        "10000000000",
    ]
    subprocess.run([*add, *place], cwd=ROOT, env={**os.environ, **ON_LOOPBACK}, check=True)
    figures = measure([*linkmend, "crawl", "Topic", "--pages", str(pages), *place], pages)
    told = subprocess.run(
        [*linkmend, "topics", "list", "--json", *place], cwd=ROOT, check=True, capture_output=True
    )
    fetched = json.loads(told.stdout)["fetched"]
    if fetched < pages * 0.95:
        raise SystemExit(f"linkmend fetched {fetched} pages of {pages}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scrapy", type=Path, help="the Python of an environment with Scrapy")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve, arguments.pages))
        return
    port = free_port()
    with scratch() as folder:
        command = [sys.executable, "-m", "benchmarks.crawlspeed", "--serve", str(port)]
        origin = Program(
            [*command, "--pages", str(3 * arguments.pages)],
            port=port,
            log=folder / "origin.log",
            cores=os.sched_getaffinity(0),
            says="ready",
        )
        with origin:
            found = {"linkmend": crawl_with_linkmend(folder, port, arguments.pages)}
            if arguments.scrapy:
                (folder / "spider.py").write_text(_SPIDER)
                spider = [str(arguments.scrapy), str(folder / "spider.py")]
                out = [str(folder / "items.jsonl"), str(arguments.pages), str(AT_ONCE)]
                starts = [address(number, port) for number in range(0, 80, 2)]
                found["Scrapy"] = measure([*spider, *out, *starts], arguments.pages)
    rows = [
        (
            name,
            f"{each.pages / each.wall_s:.0f}",
            f"{1000 * each.cpu_s / each.pages:.1f}",
            f"{each.peak_bytes / 1e6:.0f}",
        )
        for name, each in found.items()
    ]
    print(markdown(("crawler", "pages/s", "ms of processor a page", "peak MB"), rows))


if __name__ == "__main__":
    main()
