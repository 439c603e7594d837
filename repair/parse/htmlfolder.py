"""A folder of HTML files, as wget or a web server's document root has it.

The URL of a file comes from `base_url`, or from folders named after hosts (`host.name/path`, also below
`http` or `https`). An `index.html` is yielded under the name of its folder, then under its own, with the same
bytes. Symbolic links are never followed: they may lead anywhere.
"""

import mimetypes
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urljoin

from repair.errors import ImportFailed
from repair.model import Page
from repair.parse.decode import MAX_IMPORTED_BYTES
from repair.parse.formats.kinds import CONTENT_TYPES, kind_of_url
from repair.parse.problems import ImportProblems

_MAX_FILE_BYTES = MAX_IMPORTED_BYTES
_INDEX_NAMES = frozenset({"index.html", "index.htm", "index.xhtml"})
_HOST = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9](?:[:+]\d{1,5})?", re.I
)
_SAFE = "/%:@!$&'()*+,;=~-._"
_LOOKS_LIKE_HTML = re.compile(
    rb"^\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)


def html_folder(path: Path, base_url: str | None, problems: ImportProblems) -> Iterator[Page]:
    """The files of a folder as pages, in a stable order; raises ImportFailed when their URLs are unknown."""
    bases = {Path(): base_url} if base_url else _host_folders(path)
    if not bases:
        raise ImportFailed(
            f"{path}: expected folders named like hosts (school.example), or a base URL for its files"
        )
    found = [(folder, base, file) for folder, base in bases.items() for file in _files(path / folder)]
    for number, (folder, base, file) in enumerate(found):
        problems.share = number / len(found)
        yield from _pages(file, file.relative_to(path / folder).as_posix(), base, problems)


def is_host(name: str) -> bool:
    """Whether a folder's name is a host, perhaps with a port; `notes.txt` passes too, so this is for folders only."""
    return len(name) <= 260 and _HOST.fullmatch(name) is not None


def _host_folders(path: Path) -> dict[Path, str]:
    if is_host(path.name):
        return {Path(): f"http://{path.name.replace('+', ':')}/"}
    found: dict[Path, str] = {}
    for scheme, parent in (("http", ""), ("http", "http"), ("https", "https")):
        if not (path / parent).is_dir():
            continue
        for folder in sorted((path / parent).iterdir()):
            if is_host(folder.name) and folder.is_dir() and not folder.is_symlink():
                found[folder.relative_to(path)] = f"{scheme}://{folder.name.replace('+', ':')}/"
    return found


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            file = Path(parent) / name
            if file.is_file() and not file.is_symlink():
                yield file


def _pages(file: Path, relative: str, base: str, problems: ImportProblems) -> Iterator[Page]:
    try:
        status = file.stat()
        if status.st_size > _MAX_FILE_BYTES:
            problems.add(str(file), "", f"expected at most {_MAX_FILE_BYTES} bytes, got {status.st_size}")
            return
        body = file.read_bytes()
    except OSError as error:
        problems.add(str(file), "", f"cannot read the file: {error.strerror}")
        return
    fetched_at = datetime.fromtimestamp(status.st_mtime, UTC)
    headers = (("Content-Type", _content_type(file.name, body)), ("Content-Length", str(len(body))))
    for address in _addresses(relative):
        url = urljoin(base, address) if address else base
        yield Page(url=url, status=200, headers=headers, body=body, fetched_at=fetched_at)


def _addresses(relative: str) -> Iterator[str]:
    """The relative URLs of a file; wget writes the query into the name, behind a `?`."""
    # Names that are not UTF-8 come as surrogates; their bytes are those of the URL.
    path, mark, query = relative.partition("?")
    address = quote(path, safe=_SAFE, errors="surrogateescape")
    tail = f"?{quote(query, safe=_SAFE + '?', errors='surrogateescape')}" if mark else ""
    # "./" keeps a first segment with a colon from being read as a scheme.
    parent, _, name = path.rpartition("/")
    if name.lower() in _INDEX_NAMES and not mark:
        yield f"./{quote(parent, safe=_SAFE, errors='surrogateescape')}/" if parent else ""
    yield f"./{address}{tail}"


def _content_type(name: str, body: bytes) -> str:
    kind = kind_of_url(name)
    if kind is not None:  # the system's own list may not know it
        return CONTENT_TYPES[kind]
    guessed, coding = mimetypes.guess_type(name.partition("?")[0], strict=False)
    if (
        guessed is not None
        and coding is None
        and not name.lower().endswith((".php", ".asp", ".aspx", ".jsp", ".cgi"))
    ):
        return guessed
    return "text/html" if _LOOKS_LIKE_HTML.match(body[:2048]) else "application/octet-stream"
