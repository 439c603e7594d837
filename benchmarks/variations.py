"""Any number of pages out of a few real collections: the collections joined, then varied under other hosts.

A variation of a page keeps the first half of its paragraphs and takes the others from another page; its title, its
address and the words of links to it get one more word, the same one wherever the page is meant, so that links lead
where they say. Everything follows from the seed. The texts are real, so words are as common as in real pages.
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

from repair.load import load
from repair.model import BrokenLink, Document, Link, MissKind

_HOST = re.compile(r"(https?://)([^/]+)")
_LINKS = ("really_moved_train", "train")
_BOILERPLATE_BYTES = 4_000
_SCRIPT = "var q = window.q || []; q.push(['page', document.title]);\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A page of one of the collections, which is named."""

    folder: str
    document: Document


class Variations:
    """The pages of collection folders and what can be made of them."""

    def __init__(self, folders: Sequence[Path], seed: int, *, remembered: Path) -> None:
        """Reads the folders, which takes a minute, or what an earlier run left of them in `remembered`."""
        self._folders = folders
        self._seed = seed
        self._originals = _originals(folders, remembered / "originals.pickle")
        random.Random(seed).shuffle(self._originals)
        titles = sorted({word for each in self._originals for word in each.document.title.split()})
        self._marks = [word.lower() for word in titles if word.isascii() and word.isalpha()]

    def documents(self, count: int) -> Iterator[Document]:
        """So many pages; fewer are the beginning of more."""
        for number in range(count):
            variation, at = divmod(number, len(self._originals))
            yield self._varied(self._originals[at], variation)

    def links(self, count: int) -> list[BrokenLink]:
        """Broken links that come with the collections, out of all of them in turn."""
        found = [link for folder in self._folders for link in self._broken(folder)]
        random.Random(self._seed).shuffle(found)
        return found[:count]

    def _varied(self, original: Original, variation: int) -> Document:
        site, document = f"{original.folder}-{variation}", original.document
        if not variation:
            links = tuple(replace(link, target_url=_hosted(link.target_url, site)) for link in document.links)
            return replace(document, url=_hosted(document.url, site), links=links)
        other = random.Random(f"{self._seed} {site} {document.url}").choice(self._originals).document
        return replace(
            document,
            url=self._address(document.url, site),
            title=f"{document.title} {self._mark(document.url, site)}",
            text="\n".join((_half(document.text, first=True), _half(other.text, first=False))),
            links=tuple(self._retargeted(link, site) for link in document.links),
        )

    def _retargeted(self, link: Link, site: str) -> Link:
        anchor = link.anchor if link.nav else f"{link.anchor} {self._mark(link.target_url, site)}"
        return replace(link, target_url=self._address(link.target_url, site), anchor=anchor)

    def _address(self, url: str, site: str) -> str:
        return f"{_hosted(url, site)}-{self._mark(url, site)}"

    def _mark(self, url: str, site: str) -> str:
        return self._marks[zlib.crc32(f"{self._seed} {site} {url}".encode()) % len(self._marks)]

    def _broken(self, folder: Path) -> Iterator[BrokenLink]:
        site = f"{folder.name}-0"
        for file in (folder / f"{name}.jsonl.gz" for name in _LINKS):
            if not file.is_file():
                continue
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                for line in lines:
                    told = json.loads(line)
                    yield BrokenLink(
                        url=_hosted(told["target_url"], site),
                        kind=MissKind.NOT_FOUND,
                        source_url=_hosted(told["source_url"], site),
                        anchor=told["anchor"],
                        before=told["context_before"],
                        after=told["context_after"],
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
                told = {"source_url": document.url, "target_url": link.target_url, "anchor": link.anchor}
                around = {"context_before": link.before, "context_after": link.after, "nav": link.nav}
                lines.write(json.dumps({**told, **around}) + "\n")


def rendered(document: Document) -> bytes:
    """The page as HTML, its links where their words stand, with a head, a menu, scripts and a footer as usual."""
    lang = ' lang="en"' if len(document.text) % 2 else ""  # as about half of all pages do
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
    """The text as HTML with its links in it, and those whose words it does not have."""
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


def _hosted(url: str, site: str) -> str:
    return _HOST.sub(rf"\1{site}.\2", url, count=1)


def _half(text: str, *, first: bool) -> str:
    lines = text.split("\n")
    middle = (len(lines) + 1) // 2
    return "\n".join(lines[:middle] if first else lines[middle:])
