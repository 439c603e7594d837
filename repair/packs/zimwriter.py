"""Writes a pack as ZIM, the format of Kiwix. Needs the optional package libzim.

libzim writes the file in threads of its own, with a full-text index that Kiwix searches. The file has its name only
when it is whole.
"""

import importlib
import os
import struct
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from repair.crawling.topics import Topic
from repair.errors import RepairError
from repair.model import Page
from repair.packs import packmodel
from repair.packs.packmodel import ManifestBuilder, PackItem, PackOrigin, link_lines
from repair.packs.zimlinks import with_paths, zim_path
from repair.parse import decode

METADATA = "X-linkmend-"
"""Before the names of our own lists, among the metadata."""
_CONTENTS = "linkmend-contents"
_MAX_LISTED = 10_000
_IN_MEMORY = 8 * 1024**2
_HTML = ("text/html", "application/xhtml+xml")
# ISO 639-3, which the format asks for, by the codes that pages have.
_LANGUAGES = {
    "ar": "ara",
    "de": "deu",
    "en": "eng",
    "es": "spa",
    "fr": "fra",
    "hi": "hin",
    "it": "ita",
    "ja": "jpn",
    "ko": "kor",
    "nl": "nld",
    "pl": "pol",
    "pt": "por",
    "ru": "rus",
    "sv": "swe",
    "sw": "swa",
    "tr": "tur",
    "uk": "ukr",
    "vi": "vie",
    "zh": "zho",
}


class ZimUnavailable(RepairError):
    """The package libzim is not installed."""


def pack_paths(addresses: Iterable[str]) -> dict[str, str]:
    """A path for each address; http and https of one address get two."""
    paths: dict[str, str] = {}
    used = {_CONTENTS}
    for url in addresses:
        path = zim_path(url)
        while path in used:
            path = f"_/{path}"
        used.add(path)
        paths[url] = path
    return paths


class ZimWriter:
    """A ZIM that is being written; a context manager. Raises OSError or RuntimeError when the disk fails."""

    def __init__(
        self,
        path: Path,
        origin: PackOrigin,
        topics: Iterable[Topic],
        *,
        paths: Mapping[str, str],
        languages: Counter[str],
        software: str,
    ) -> None:
        """`paths` has a path for every address that will be added; `languages` counts those of the pages."""
        try:
            self._library: Any = importlib.import_module("libzim.writer")
        except ImportError as error:
            raise ZimUnavailable(
                f"{path.name}: ZIM files need the extra zim: pip install 'linkmend[zim]'"
            ) from error
        self._path, self._origin, self._software = path, origin, software
        self._paths = paths
        self._manifest = ManifestBuilder(origin, topics)
        self._partial = path.with_name(path.name + ".part")
        self._partial.unlink(missing_ok=True)
        self._list, self._links = (tempfile.SpooledTemporaryFile(_IN_MEMORY) for _ in range(2))  # noqa: SIM115
        self._titles: list[tuple[str, str]] = []
        common = [_LANGUAGES[code] for code, _ in languages.most_common() if code in _LANGUAGES]
        self._languages = ",".join(common[:5]) or "mul"
        creator = self._library.Creator(self._partial)
        creator.config_verbose(False)
        creator.config_indexing(True, common[0] if common else "eng")
        creator.set_mainpath(_CONTENTS)
        self._creator = creator.__enter__()
        self._creator.add_illustration(48, _square_png())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
            with _stdout_to_stderr():
                self._creator.__exit__(kind, error, trace)
            if error is None:
                os.replace(self._partial, self._path)
        finally:
            self._partial.unlink(missing_ok=True)
            self._list.close()
            self._links.close()

    def add(self, item: PackItem) -> None:
        """Add a page or file."""
        path = self._paths[item.url]
        media = item.content_type.partition(";")[0].strip().lower() or "application/octet-stream"
        body: str | bytes = item.body
        if media in _HTML:
            media = "text/html"
            body = with_paths(_text(item), item.url, self._paths)
        self._put(path, item.title if item.is_page else "", media, body, front=item.is_page)
        self._list.write(self._manifest.page_line(item, path=path))
        if item.is_page:
            self._links.writelines(link_lines(item))
            if len(self._titles) < _MAX_LISTED:
                self._titles.append((path, item.title or item.url))

    def _put(self, path: str, title: str, media: str, body: str | bytes, *, front: bool) -> None:
        library = self._library
        entry = {
            "get_path": lambda entry: path,
            "get_title": lambda entry: title,
            "get_mimetype": lambda entry: media,
            "get_contentprovider": lambda entry: library.StringProvider(
                body
            ),  # asked for twice, read once each
            "get_hints": lambda entry: {library.Hint.FRONT_ARTICLE: front},
        }
        kind = type("Entry", (library.Item,), entry)  # C++ calls the methods of its own class only
        self._creator.add_item(kind())

    def _finish(self) -> None:
        self._put(_CONTENTS, self._origin.title, "text/html", self._contents(), front=False)
        origin, add = self._origin, self._creator.add_metadata
        for name, value in {
            "Name": _name(origin.title),
            "Title": origin.title[:30],
            "Description": f"Pages packed by {origin.sender}"[:80],
            "Creator": "the authors of the pages",
            "Publisher": origin.sender,
            "Date": f"{origin.created_at:%Y-%m-%d}",
            "Language": self._languages,
            "Scraper": self._software,
            **({"License": origin.licence} if origin.licence else {}),
        }.items():
            add(name, value)
        add(METADATA + packmodel.HEADER, self._manifest.header(), "application/json")
        for name, lines in ((packmodel.FILES, self._list), (packmodel.LINKS, self._links)):
            lines.seek(0)
            add(METADATA + name, lines.read(), "application/x-ndjson")

    def _contents(self) -> str:
        """The first page: who made the pack, and the pages in it."""
        origin = self._origin
        rows = "".join(
            f'<li><a href="{escape(quote(path))}">{escape(title)}</a></li>'
            for path, title in sorted(self._titles, key=lambda row: row[1].casefold())
        )
        return (
            f"<!DOCTYPE html><html><head><title>{escape(origin.title)}</title></head><body>"
            f"<h1>{escape(origin.title)}</h1><p>{escape(origin.sender)}, {origin.created_at:%Y-%m-%d}</p>"
            f"<p>{escape(origin.licence)}</p><ul>{rows}</ul></body></html>"
        )


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """libzim reports its progress on the standard output, where a command prints its result."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _text(item: PackItem) -> str:
    page = Page(
        url=item.url,
        status=200,
        headers=(("Content-Type", item.content_type),),
        body=item.body,
        fetched_at=item.fetched_at,
    )
    return decode.body_text(page, len(item.body) + 1) or ""


def _name(title: str) -> str:
    """A title as the name of a book: lower case, no spaces."""
    return "_".join("".join(char if char.isalnum() else " " for char in title.lower()).split()) or "pack"


def _square_png(size: int = 48) -> bytes:
    """The picture that Kiwix shows beside the title: a plain square."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + b"\x1f\x6f\x66" * size
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * size)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
