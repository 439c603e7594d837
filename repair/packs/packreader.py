"""Reads packs: what one says of itself, and its pages.

A WACZ or ZIM of another program says nothing of itself, and is no worse for it.
"""

import importlib
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

from repair.model import Page
from repair.packs import packmodel, waczwriter, zimwriter
from repair.packs.packmodel import MAX_LIST_BYTES, PackManifest, read_manifest
from repair.packs.zimlinks import with_addresses
from repair.parse.decode import MAX_IMPORTED_BYTES
from repair.parse.load import ImportFormat, load
from repair.parse.problems import ImportProblems

_UNREADABLE = (
    OSError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
)


def pack_manifest(path: Path) -> PackManifest | None:
    """The lists of a pack; None for files that are no packs of ours. Raises ValueError when they are unreadable."""
    suffix = path.suffix.lower() if path.is_file() else ""
    if suffix == ".wacz":
        return _from_wacz(path)
    archive = _open_zim(path) if suffix == ".zim" else None
    return None if archive is None else _from_zim(archive)


def load_pack(path: Path, manifest: PackManifest) -> ImportFormat:
    """The pages and files of a pack. A ZIM has no addresses but those of its list; a WACZ is read like any other."""
    archive = _open_zim(path) if path.suffix.lower() == ".zim" else None
    if archive is None:
        return load(path)
    problems = ImportProblems()
    return ImportFormat(_zim_pages(path.name, archive, manifest, problems), problems)


def _zim_pages(file: str, archive: Any, manifest: PackManifest, problems: ImportProblems) -> Iterator[Page]:
    addresses = {packed.path: url for url, packed in manifest.pages.items()}
    for number, (url, packed) in enumerate(manifest.pages.items()):
        problems.share = number / len(manifest.pages)
        try:
            item = archive.get_entry_by_path(packed.path).get_item()
            if item.size > MAX_IMPORTED_BYTES:
                raise ValueError(f"expected at most {MAX_IMPORTED_BYTES} bytes, got {item.size}")
            body, kind = bytes(item.content), packed.type
        except (RuntimeError, KeyError, ValueError) as error:
            problems.add(file, url, f"unreadable: {error}", is_damage=True)
            continue
        if item.mimetype == "text/html":
            kind = "text/html; charset=utf-8"
            body = with_addresses(body.decode("utf-8", "replace"), packed.path, addresses).encode()
        headers = (("Content-Type", kind), ("Content-Length", str(len(body))))
        fetched_at = packed.fetched if packed.fetched.tzinfo else packed.fetched.replace(tzinfo=UTC)
        yield Page(url=url, status=200, headers=headers, body=body, fetched_at=fetched_at)
    if archive.has_checksum and not archive.check():
        problems.add(file, "", "its checksum is wrong: some of its pages may be damaged", is_damage=True)


def _from_zim(archive: Any) -> PackManifest | None:
    names = [zimwriter.METADATA + name for name in (packmodel.HEADER, packmodel.FILES)]
    if names[0] not in archive.metadata_keys:
        return None
    try:
        header, lines = (_metadata(archive, name) for name in names)
    except (RuntimeError, KeyError) as error:
        raise ValueError(str(error)) from error
    return read_manifest(header, lines)


def _from_wacz(path: Path) -> PackManifest | None:
    names = [waczwriter.FOLDER + name for name in (packmodel.HEADER, packmodel.FILES)]
    try:
        with zipfile.ZipFile(path) as archive:
            if names[0] not in archive.namelist():
                return None
            header, lines = (_member(archive, name) for name in names)
    except KeyError as error:
        raise ValueError(str(error)) from error
    except _UNREADABLE as error:
        raise ValueError(f"unreadable: {error}") from error
    return read_manifest(header, lines)


def _open_zim(path: Path) -> Any | None:
    """The file; None when libzim is missing or cannot read it, which `load` explains."""
    try:
        return importlib.import_module("libzim.reader").Archive(path)
    except (ImportError, RuntimeError):
        return None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as stream:
        return _bounded(stream.read(MAX_LIST_BYTES + 1), name)


def _metadata(archive: Any, name: str) -> bytes:
    item = archive.get_metadata_item(name)
    if item.size > MAX_LIST_BYTES:
        raise ValueError(f"{name}: expected at most {MAX_LIST_BYTES} bytes")
    return bytes(item.content)


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_LIST_BYTES:
        raise ValueError(f"{name}: expected at most {MAX_LIST_BYTES} bytes")
    return data
