"""A saved page as a document of the district's index: the terms of the local index, its term vector, its links.

The terms are those of `repair.text.words`, joined by spaces, so that both engines have exactly the same ones. The
number of a page is a hash of its URL: every school gives a page the same number without asking anybody. Its version
is when it was fetched, so that of two schools that send a page at once the newer one stays, whoever comes last.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from repair.collection.index.fulltext import FIELDS, IndexEntry
from repair.collection.index.vectors import pack
from repair.collection.pages import content_digest
from repair.model import Document, Link

INDEX = "linkmend-pages"
TEXT_CHARACTERS = 20_000
"""Of a page's text, for snippets and as the copy of a lost page; all of its words are in the index."""
_MAX_TITLE = 2_000
_MAX_WORDS = 2_000  # characters of an anchor, and on each side of it
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
    """The number of the page at a normal URL, in 63 bits, so that no two of a hundred million share one."""
    return int.from_bytes(hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest()) >> 1


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
        "links": [_link(position, link) for position, link in enumerate(document.links)],
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


def link_of(target_url: str, stored: Mapping[str, Any]) -> Link:
    """A link as `body_of` stored it; raises ValueError or KeyError for anything else."""
    anchor, before, after = json.loads(stored["words"])
    return Link(
        target_url=target_url,
        anchor=str(anchor),
        before=str(before),
        after=str(after),
        nav=stored["nav"] is True,
    )


def _link(position: int, link: Link) -> dict[str, Any]:
    words = [text[:_MAX_WORDS] for text in (link.anchor, link.before, link.after)]
    return {
        "target": link.target_url,
        "nav": link.nav,
        "position": position,
        "words": json.dumps(words, ensure_ascii=False, separators=(",", ":")),
    }


def joined(terms: Sequence[str]) -> str:
    """Terms as the index takes them, which splits them at spaces again."""
    return " ".join(terms).encode("utf-8", "replace").decode()
