"""A saved page as a document of the district's index: the terms of the local index, its term vector, its links.

The terms are those of `repair.text.words`, joined by spaces, so that both engines have exactly the same ones. The
number of a page is a hash of its URL: every school gives a page the same number without asking anybody. Its version
is when it was fetched, so that of two schools that send a page at once the newer one stays, whoever comes last.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from repair.collection.index.fulltext import FIELDS, NOTHING, IndexEntry
from repair.collection.index.vectors import pack
from repair.collection.pages import content_digest
from repair.model import Document, Link
from repair.text import urls

INDEX = "linkmend-pages"
TEXT_CHARACTERS = 20_000
"""Of a page's text, for snippets and as the copy of a lost page; all of its words are in the index."""
_MAX_TITLE = 2_000
_MAX_WORDS = 2_000  # characters of an anchor, and on each side of it
_MAX_LINKS = 4_000_000  # bytes, unpacked
_REVISIONS = 1_000  # of one version: each time links of other pages give it new names

FIELD_NAMES: Mapping[str, str] = {name: "url_words" if name == "url" else name for name in FIELDS}
"""The fields of the local index by their names here, where `url` is the URL itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage:
    """What a school sends of a page: its content with its links, and its terms by field."""

    document: Document
    entry: IndexEntry
    fetched_at: datetime


def page_number(url: str) -> int:
    """The number of the page at a normal URL."""
    return urls.url_hash(url)


def document_id(number: int) -> str:
    """The id of a page's document; any node finds its shard by it."""
    return f"{number:016x}"


def version(fetched_at: datetime) -> int:
    """Grows with the time of the fetch; below the next one there is room for revisions."""
    return int(fetched_at.timestamp()) * _REVISIONS


def same_fetch(one: int, other: int) -> bool:
    """Whether two versions are of the same fetch, and differ in revisions only."""
    return one // _REVISIONS == other // _REVISIONS


def body_of(page: SharedPage) -> dict[str, Any]:
    """The document that the index keeps of a page."""
    document = page.document
    links = [link for link in document.links if not link.nav]
    return {
        "url": document.url,
        "number": page_number(document.url),
        "caption": document.title[:_MAX_TITLE],
        "language": document.language,
        "digest": content_digest(document).hex(),
        "fetched_at": int(page.fetched_at.timestamp()),
        "text": document.text[:TEXT_CHARACTERS],
        "vector": packed(page.entry.fields),
        **{FIELD_NAMES[name]: joined(page.entry.fields.get(name, ())) for name in FIELDS},
        **link_columns(links),
    }


def packed(fields: Mapping[str, Sequence[str]]) -> str:
    """The term vector in the same bytes as in a school's own collection."""
    return base64.b64encode(pack(IndexEntry(page=0, fields=fields)) or b"").decode()


def column_bytes(text: str) -> bytes:
    """The bytes of a binary column, which OpenSearch writes in base64 without padding."""
    return base64.b64decode(f"{text}==", validate=False)


def tombstone(number: int) -> dict[str, Any]:
    """What stays of a removed page: its number, so that no school brings an older version back."""
    return {"number": number, "removed": True}


def link_columns(links: Sequence[Link]) -> dict[str, Any]:
    """The links of a page: what they lead to, to be searched, and all of their words in one column.

    One document a page, since an index with a document for each link has sixty times as many, and every search pays.
    """
    lines = "".join(f"{_line(link)}\n" for link in links).encode("utf-8", "replace")
    whole = lines[:_MAX_LINKS].rpartition(b"\n")[0]
    targets = dict.fromkeys(document_id(page_number(link.target_url)) for link in links)
    return {"linked": list(targets), "links": base64.b64encode(zlib.compress(whole)).decode()}


def unpacked_links(column: str, target_url: str | None = None) -> Iterator[Link]:
    """The links that `link_columns` packed, or those to one URL; raises ValueError when it did not."""
    try:
        text = zlib.decompressobj().decompress(column_bytes(column), _MAX_LINKS).decode("utf-8", "replace")
    except zlib.error as error:
        raise ValueError(str(error)) from error
    beginning = "[" if target_url is None else f"[{_json(target_url)},"
    for line in text.split("\n"):
        if line.startswith(beginning):
            try:
                target, anchor, before, after = map(str, json.loads(line))
            except RecursionError as error:
                raise ValueError("no link") from error
            yield Link(target_url=target, anchor=anchor, before=before, after=after)


def site_of(url: str) -> str:
    """The beginning of all URLs of the same host; empty when it is no web URL."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.authority}/"


def _line(link: Link) -> str:
    return _json([link.target_url, *(text[:_MAX_WORDS] for text in (link.anchor, link.before, link.after))])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def joined(terms: Sequence[str]) -> str:
    """Terms as the index takes them, which splits them at spaces again."""
    return " ".join(terms).encode("utf-8", "replace").decode() or NOTHING


def parted(text: str) -> list[str]:
    """The terms that were joined."""
    return [] if text in ("", NOTHING) else text.split(" ")
