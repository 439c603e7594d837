"""ZIM files (Kiwix), when the optional package libzim is installed (the extra `zim`).

A ZIM does not keep the URLs its entries came from. Those made by zimit have the host as the first part of
the path. For others the base of their paths is what the caller says, or else what the file's metadata tell: a wiki by
its `Name` (`wikipedia_en_all`), a site by its `Source`. A file that tells nothing gets a host of its own, made of its
name: its pages are found and read there like any others.
"""

import importlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

from repair.errors import ImportFailed
from repair.model import Page
from repair.parse.decode import MAX_IMPORTED_BYTES
from repair.parse.htmlfolder import is_host
from repair.parse.problems import ImportProblems
from repair.text import urls

_WIKI = re.compile(
    r"(?P<project>wikipedia|wiktionary|wikibooks|wikivoyage|wikiversity|wikisource|wikinews|wikiquote)"
    r"_(?P<language>[a-z]{2,3}(?:-[a-z]+)*)(?:_|$)"
)
_MAX_ITEM_BYTES = MAX_IMPORTED_BYTES


def zim(path: Path, base_url: str | None, problems: ImportProblems) -> Iterator[Page]:
    """The entries of a ZIM file; raises ImportFailed without libzim."""
    try:
        reader = importlib.import_module("libzim.reader")  # optional, so not at the top
    except ImportError as error:
        raise ImportFailed(
            f"{path.name}: ZIM files need the extra zim: pip install 'linkmend[zim]'"
        ) from error
    try:
        archive = reader.Archive(path)
    except RuntimeError as error:
        # The list of a ZIM's entries is at its end: without it not one of them can be read.
        raise ImportFailed(f"{path.name}: expected a whole ZIM file: {error}") from error
    base = base_url or _wiki(archive) or _source(archive) or _own_host(archive, path)
    fetched_at = _date(archive)
    # Metadata and search indexes come after the content, since ZIM files have the new order of namespaces.
    count = archive.entry_count if archive.has_new_namespace_scheme else archive.all_entry_count
    for number in range(count):
        problems.share = number / count
        try:
            page = _page(archive._get_entry_by_id(number), base, fetched_at)
        except (RuntimeError, KeyError, ValueError) as error:
            problems.add(path.name, f"entry {number}", f"unreadable: {error}", is_damage=True)
            continue
        if isinstance(page, str):
            problems.add(path.name, f"entry {number}", page)
        elif page is not None:
            yield page
    if archive.has_checksum and not archive.check():
        problems.add(path.name, "", "its checksum is wrong: some of its pages may be damaged", is_damage=True)


def _page(entry: Any, base: str, fetched_at: datetime) -> Page | str | None:
    """The page of an entry; None for redirects and the like; or a string that says what is wrong with it."""
    if entry.is_redirect:
        return None
    item = entry.get_item()
    host = entry.path.partition("/")[0]
    address = quote(entry.path, safe="/%:@!$&'()*+,;=~-._?")
    url = f"http://{address}" if is_host(host) and "/" in entry.path else urljoin(base, f"./{address}")
    if not urls.is_web_url(url):
        return f"no address can be made of its path: {entry.path[:100]!r}"
    if item.size > _MAX_ITEM_BYTES:
        return f"expected at most {_MAX_ITEM_BYTES} bytes, got {item.size}"
    headers = (("Content-Type", item.mimetype), ("Content-Length", str(item.size)))
    return Page(url=url, status=200, headers=headers, body=bytes(item.content), fetched_at=fetched_at)


def _metadata(archive: Any, name: str) -> str:
    if name not in archive.metadata_keys:
        return ""
    return str(archive.get_metadata(name).decode("utf-8", "replace")).strip()


def _wiki(archive: Any) -> str:
    """Where the articles of a Wikimedia wiki are; "" for any other file, and for old ones with other paths."""
    found = _WIKI.match(_metadata(archive, "Name"))
    if found is None or not archive.has_new_namespace_scheme:
        return ""
    return f"https://{found['language']}.{found['project']}.org/wiki/"


def _own_host(archive: Any, path: Path) -> str:
    """A host that no site on the internet has (ICANN reserves .internal), the same for every edition of a file."""
    name = _metadata(archive, "Name") or re.sub(r"[_-]\d{4}-\d\d$", "", path.stem)
    label = re.sub(r"[^a-z0-9]+", "-", name.lower())[:60].strip("-")
    return f"http://{label or 'pages'}.zim.internal/"


def _source(archive: Any) -> str:
    source = _metadata(archive, "Source")
    source = source if "://" in source else f"http://{source}"
    return f"{source.rstrip('/')}/" if urls.is_web_url(source) else ""


def _date(archive: Any) -> datetime:
    try:
        return datetime.fromisoformat(archive.get_metadata("Date").decode("ascii")).replace(tzinfo=UTC)
    except (RuntimeError, ValueError, KeyError):
        return datetime.now(UTC)
