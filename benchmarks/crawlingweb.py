"""Harvest rate of the real `linkmend crawl` over HTTP, beside the same crawl of the same web in memory.

    python -m benchmarks.crawlingweb FOLDER [--topics 0 4] [--pages 100]

FOLDER is a collection folder with a subject index. Its pages are rendered as HTML on eight hosts on loopback: one
answers slowly, one fails for every fifth page, one breaks off in the middle of every fifth, and the robots.txt of one
forbids every fourth. The crawl in memory finds nothing behind those addresses, and they count as nobody's. Seeds and
held pages are those of `benchmarks.crawling`; the held pages are imported first.
"""

import argparse
import asyncio
import gzip
import html
import json
import os
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

from aiohttp import web

from benchmarks.crawling import HELD, SEEDS
from benchmarks.processes import ON_LOOPBACK, ROOT, free_port, scratch
from repair.crawling.crawlstore import CrawlStore, LinkState
from repair.crawling.pagejudge import document_terms
from repair.crawling.topicdatabase import FOLDER, TopicDatabase
from repair.crawling.topics import Topic
from repair.evaluation.crawlers import crawl_topic
from repair.evaluation.simulatedweb import SimulatedTopic, SimulatedWeb
from repair.model import Document, Link

HOSTS = 8
SLOW, FAILING, BREAKING, FORBIDDING = range(1, 5)
_SLOW_S = 0.3
_SETTINGS = """
[fetch]
pause_s = 0.0
bytes_per_s = 0
parts = 0
tries = 1
[crawl]
host_share = 1.0
"""


def host_of(path: str) -> int:
    """The number of the host that has a path."""
    return crc32(path.encode()) % HOSTS


def is_missing(path: str) -> bool:
    """Whether nobody gets the page: its host fails, breaks off, or forbids it."""
    chance = crc32(path.encode()) // HOSTS
    every = {FAILING: 5, BREAKING: 5, FORBIDDING: 4}.get(host_of(path))
    return every is not None and chance % every == 0


def address(url: str, port: int) -> str:
    """Where a page of the collection is on loopback."""
    path = urlsplit(url).path
    return f"http://127.0.0.{1 + host_of(path)}:{port}{path}"


def moved(document: Document, port: int) -> Document:
    links = tuple(replace(link, target_url=address(link.target_url, port)) for link in document.links)
    return replace(document, url=address(document.url, port), links=links)


def render(document: Document) -> bytes:
    """A document as HTML: its text, then its links, each with the words around it."""
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in document.text.splitlines() if line.strip())
    title = html.escape(document.title)
    links = "".join(map(_anchor, document.links))
    return f"<!doctype html><title>{title}</title><main>{paragraphs}{links}</main>".encode()


def _anchor(link: Link) -> str:
    before, anchor, after, url = map(html.escape, (link.before, link.anchor, link.after, link.target_url))
    return f'<p>{before} <a href="{url}">{anchor}</a> {after}</p>'


async def answer(request: web.Request, documents: Mapping[str, Document]) -> web.StreamResponse:
    asked = request.raw_path
    if asked == "/robots.txt":
        forbidden = [path for url in documents if host_of(path := urlsplit(url).path) == FORBIDDING]
        lines = [f"Disallow: {path}$" for path in forbidden if is_missing(path)]
        here = str(request.url.host) == f"127.0.0.{1 + FORBIDDING}"
        return web.Response(text="\n".join(["User-agent: *", *(lines if here else ()), ""]))
    document = documents.get(f"http://{request.host}{asked}")
    if document is None:
        raise web.HTTPNotFound
    host, missing = host_of(asked), is_missing(asked)
    if host == SLOW:
        await asyncio.sleep(_SLOW_S)
    body = render(document)
    if host == FAILING and missing:
        raise web.HTTPInternalServerError
    if host == BREAKING and missing:
        response = web.StreamResponse(headers={"Content-Length": str(len(body)), "Content-Type": "text/html"})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        if request.transport is not None:
            request.transport.close()
        return response
    return web.Response(body=body, content_type="text/html", charset="utf-8")


async def run(*arguments: str) -> None:
    """Run a command of linkmend. Raises SystemExit when it fails."""
    command = (sys.executable, "-m", "proxy.main", *arguments)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env={**os.environ, **ON_LOOPBACK})
    if await process.wait():
        raise SystemExit(f"failed: {' '.join(command)}")


async def crawl_over_http(
    topic: SimulatedTopic, seeds: Sequence[str], held: Sequence[Document], pages: int, folder: Path
) -> list[str]:
    """The pages that `linkmend crawl` fetches, in order."""
    collection, data = folder / "held", folder / "data"
    collection.mkdir()
    with gzip.open(collection / "pages.jsonl.gz", "wt") as file:
        for each in held:
            file.write(json.dumps({"url": each.url, "title": each.title, "text": each.text}) + "\n")
    (folder / "linkmend.toml").write_text(_SETTINGS)
    place = ("--config", str(folder / "linkmend.toml"), "--data", str(data))
    await run("import", str(collection), *place)
    starts = [part for seed in seeds for part in ("--seed", seed)]
    await run("topics", "add", topic.name, *starts, "--pages", "100000", *place)
    await run("crawl", topic.name, "--pages", str(pages), *place)
    database = TopicDatabase(data / FOLDER)
    try:
        visited = CrawlStore(database, topic.name).visited()
    finally:
        database.close()
    return [each.link.url for each in visited if each.state is LinkState.FETCHED]


async def compare(loaded: SimulatedWeb, numbers: Sequence[int], pages: int) -> None:
    port = free_port()
    documents = {address(url, port): moved(each, port) for url, each in loaded.documents.items()}
    present = {url: each for url, each in documents.items() if not is_missing(urlsplit(url).path)}
    application = web.Application()
    application.router.add_get("/{path:.*}", lambda request: answer(request, documents))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()
    largest = sorted(loaded.topics, key=lambda topic: (-len(topic.pages), topic.name))
    terms = cache(lambda url: document_terms(present[url]))
    print(
        f"| topic | pages | over HTTP @{pages} | in memory @{pages} | of both |\n|---|---|---|---|---|",
        flush=True,
    )
    for number in numbers:
        topic = replace(
            largest[number],
            pages=frozenset(address(url, port) for url in largest[number].pages) & present.keys(),
        )
        chance = random.Random(number)
        seeds = chance.sample(sorted(topic.pages), SEEDS)
        held = chance.sample(sorted(present.keys() - set(seeds)), HELD)
        with scratch() as folder:
            real = await crawl_over_http(topic, seeds, [present[url] for url in held], pages + SEEDS, folder)
        simulated = await asyncio.to_thread(
            crawl_topic,
            present,
            Topic(name=topic.name, seeds=tuple(seeds)),
            seeds,
            terms,
            background=[terms(url) for url in held],
            pages=pages + SEEDS,
        )
        found = [
            topic.pages.intersection([url for url in fetched if url not in seeds][:pages])
            for fetched in (real, simulated)
        ]
        cells = " | ".join(f"{len(each) / pages:.3f}" for each in found)
        print(
            f"| {topic.name} | {len(topic.pages) - SEEDS} | {cells} | {len(found[0] & found[1])} |",
            flush=True,
        )
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, nargs="+", default=[0, 4], help="numbers, 0 for the largest")
    parser.add_argument("--pages", type=int, default=100)
    arguments = parser.parse_args()
    asyncio.run(compare(SimulatedWeb.load(arguments.folder), arguments.topics, arguments.pages))


if __name__ == "__main__":
    main()
