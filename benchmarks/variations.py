"""Makes any number of pages from a few real collections: joins them, then varies the pages under other hosts.

A variation of a page keeps the first half of its paragraphs and takes the others from another page. Its title, its
address and the anchors of links to it get the same extra word, so that links stay consistent. The seed determines
everything. The texts are real, so word frequencies are realistic.
"""

import gzip
import json
import pickle
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from repair.model import BrokenLink, Document, Link, MissKind
from repair.parse.load import load

_HOST = re.compile(r"(https?://)([^/]+)")
_LINKS = ("really_moved_train", "train")
_BOILERPLATE_BYTES = 4_000
_SCRIPT = "var q = window.q || []; q.push(['page', document.title]);\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A page, and the name of its collection."""

    folder: str
    document: Document


class Variations:
    """The pages of collection folders, and their variations."""

    def __init__(self, folders: Sequence[Path], seed: int, *, remembered: Path) -> None:
        """Read the folders, which takes a minute, or the result of an earlier run in `remembered`."""
        self._folders = folders
        self._seed = seed
        self._originals = _originals(folders, remembered / "originals.pickle")
        random.Random(seed).shuffle(self._originals)
        titles = sorted({word for each in self._originals for word in each.document.title.split()})
        self._marks = [word.lower() for word in titles if word.isascii() and word.isalpha()]

    @property
    def size(self) -> int:
        """How many pages the folders have."""
        return len(self._originals)

    def documents(self, count: int) -> Iterator[Document]:
        """`count` pages; a smaller count gives the first of these."""
        for number in range(count):
            variation, at = divmod(number, len(self._originals))
            yield self._vary(self._originals[at], variation)

    def links(self, count: int) -> list[BrokenLink]:
        """Broken links from the collections, alternating between them."""
        found = [link for folder in self._folders for link in self._broken(folder)]
        random.Random(self._seed).shuffle(found)
        return found[:count]

    def _vary(self, original: Original, variation: int) -> Document:
        site, document = f"{original.folder}-{variation}", original.document
        if not variation:
            links = tuple(
                replace(link, target_url=_on_host(link.target_url, site)) for link in document.links
            )
            return replace(document, url=_on_host(document.url, site), links=links)
        other = random.Random(f"{self._seed} {site} {document.url}").choice(self._originals).document
        return replace(
            document,
            url=self._address(document.url, site),
            title=f"{document.title} {self._mark(document.url, site)}",
            text="\n".join((_half(document.text, first=True), _half(other.text, first=False))),
            links=tuple(self._retarget(link, site) for link in document.links),
        )

    def _retarget(self, link: Link, site: str) -> Link:
        anchor = link.anchor if link.nav else f"{link.anchor} {self._mark(link.target_url, site)}"
        return replace(link, target_url=self._address(link.target_url, site), anchor=anchor)

    def _address(self, url: str, site: str) -> str:
        return f"{_on_host(url, site)}-{self._mark(url, site)}"

    def _mark(self, url: str, site: str) -> str:
        return self._marks[zlib.crc32(f"{self._seed} {site} {url}".encode()) % len(self._marks)]

    def _broken(self, folder: Path) -> Iterator[BrokenLink]:
        site = f"{folder.name}-0"
        for file in (folder / f"{name}.jsonl.gz" for name in _LINKS):
            if not file.is_file():
                continue
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                for line in lines:
                    record = json.loads(line)
                    yield BrokenLink(
                        url=_on_host(record["target_url"], site),
                        kind=MissKind.NOT_FOUND,
                        source_url=_on_host(record["source_url"], site),
                        anchor=record["anchor"],
                        before=record["context_before"],
                        after=record["context_after"],
                    )


def _originals(folders: Sequence[Path], remembered: Path) -> list[Original]:
    if remembered.exists():
        with remembered.open("rb") as file:
            found: list[Original] = pickle.load(file)
            return found
    found = [
        Original(folder=folder.name, document=item)
        for folder in folders
        for item in load(folder)
        if isinstance(item, Document)
    ]
    remembered.parent.mkdir(parents=True, exist_ok=True)
    with remembered.open("wb") as file:
        pickle.dump(found, file)
    return found


def write_folder(documents: Sequence[Document], folder: Path) -> None:
    """The pages as a collection folder."""
    folder.mkdir()
    with gzip.open(folder / "pages.jsonl.gz", "wt", compresslevel=1) as lines:
        for document in documents:
            page = {"url": document.url, "title": document.title, "text": document.text}
            lines.write(json.dumps(page) + "\n")
    with gzip.open(folder / "links.jsonl.gz", "wt", compresslevel=1) as lines:
        for document in documents:
            for link in document.links:
                record = {"source_url": document.url, "target_url": link.target_url, "anchor": link.anchor}
                around = {"context_before": link.before, "context_after": link.after, "nav": link.nav}
                lines.write(json.dumps({**record, **around}) + "\n")


def render_html(document: Document) -> bytes:
    """The page as HTML, with links at their anchors, and a usual head, menu, scripts and footer."""
    lang = ' lang="en"' if len(document.text) % 2 else ""  # like about half of all pages
    menu = "".join(_anchor(link) for link in document.links if link.nav)
    body, rest = _with_anchors(document.text, [link for link in document.links if not link.nav])
    paragraphs = "\n".join(f'<p class="text body-copy">{line}</p>' for line in body.split("\n"))
    also = "".join(f'<li class="item">{_anchor(link)}</li>' for link in rest)
    script = f"<script>{_SCRIPT * (_BOILERPLATE_BYTES // len(_SCRIPT))}</script>"
    return (
        f'<!DOCTYPE html><html{lang}><head><meta charset="utf-8"><title>{escape(document.title)}</title>{script}'
        f'<link rel="stylesheet" href="/style.css"></head><body class="page"><nav class="menu">{menu}</nav>'
        f'<main id="content"><h1>{escape(document.title)}</h1>{paragraphs}<ul class="related">{also}</ul></main>'
        '<footer class="site-footer"><a href="/about">About</a> <a href="/contact">Contact</a></footer>'
        "</body></html>"
    ).encode()


def _with_anchors(text: str, links: Sequence[Link]) -> tuple[str, list[Link]]:
    """The text as HTML with its links, and the links whose anchors are not in the text."""
    pieces: list[str] = []
    rest: list[Link] = []
    at = 0
    for link in links:
        start = text.find(link.anchor, at) if link.anchor else -1
        if start < 0:
            rest.append(link)
            continue
        pieces += (escape(text[at:start]), _anchor(link))
        at = start + len(link.anchor)
    return "".join((*pieces, escape(text[at:]))), rest


def _anchor(link: Link) -> str:
    return f'<a class="link" href="{escape(link.target_url)}">{escape(link.anchor)}</a>'


def _on_host(url: str, site: str) -> str:
    return _HOST.sub(rf"\1{site}.\2", url, count=1)


def _half(text: str, *, first: bool) -> str:
    lines = text.split("\n")
    middle = (len(lines) + 1) // 2
    return "\n".join(lines[:middle] if first else lines[middle:])
