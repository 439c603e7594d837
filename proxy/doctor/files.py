"""The data folder: whether it can be used, whether the stores in it are whole, the certificate, the rules."""

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from proxy.doctor.model import Finding, Installation, fail, ok, warn
from proxy.logs import one_line
from proxy.pages.desktexts import tr
from proxy.rules.folder import load, rules_folder
from proxy.rules.model import RulesError

_CERTIFICATE = "ca/mitmproxy-ca.pem"
_SOON = timedelta(days=60)


async def check_data(installation: Installation) -> list[Finding]:
    data = installation.data
    if not data.exists():
        return [
            warn(
                "data",
                f"{data} does not exist yet",
                "`linkmend serve` makes it; check --data if you expected it",
            )
        ]
    if not data.is_dir():
        return [fail("data", f"{data} is not a folder", "choose another folder with --data")]
    unusable = [folder for folder in (data, *_folders(data)) if not _is_usable(folder)]
    if unusable:
        advice = "run linkmend, and this command, as the user who owns it; or give it to that user (chown -R)"
        return [fail("data", f"{unusable[0]} cannot be read and written by this user", advice)]
    return [ok("data", f"{data} can be read and written")]


def _folders(data: Path) -> Iterator[Path]:
    try:
        yield from sorted(each for each in data.iterdir() if each.is_dir())
    except OSError:
        return


def _is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


async def check_stores(installation: Installation) -> list[Finding]:
    """Read every database; takes some seconds for a large collection."""
    return await asyncio.to_thread(_check_databases, installation.data)


def _check_databases(data: Path) -> list[Finding]:
    databases = sorted(
        path
        for pattern in ("*.sqlite", "*/*.sqlite", "cache/*/*/cache.db")
        for path in data.glob(pattern)
        if ".damaged" not in path.name
    )
    findings = []
    for path in databases:
        problem = _damage(path)
        if problem:
            advice = "restore it from a backup (linkmend restore); without one, linkmend begins a new one"
            findings.append(fail("stores", f"{path}: {problem}", advice))
    return findings or [ok("stores", f"{len(databases)} databases are whole")]


def _damage(path: Path) -> str:
    """What is wrong with a database; "" when nothing is. It is opened so that nothing in it changes."""
    alone = not path.with_name(f"{path.name}-wal").exists()
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=10)) as database:
            answer = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        return str(error)
    return "" if answer == "ok" else answer.replace("\n", " ")[:200]


async def check_certificate(installation: Installation) -> list[Finding]:
    file = installation.data / _CERTIFICATE
    anew = tr(
        "restore it from a backup, or delete the folder ca to have a new one made, which all devices must trust"
    )
    if not file.exists():
        return [
            warn(
                "certificate",
                tr("no authority in {folder} yet", folder=str(file.parent)),
                tr("`linkmend serve` makes one at its first start"),
            )
        ]
    try:
        text = file.read_bytes()
        key, certificate = load_pem_private_key(text, password=None), x509.load_pem_x509_certificate(text)
        mode = file.stat().st_mode
    except (OSError, ValueError, TypeError) as error:
        return [fail("certificate", f"{file}: {str(error).partition(chr(10))[0][:200]}", anew)]
    if key.public_key() != certificate.public_key():
        return [
            fail(
                "certificate", tr("{file}: key and certificate do not belong together", file=str(file)), anew
            )
        ]
    now, ends = datetime.now(UTC), _utc(certificate, "not_valid_after")
    if not _utc(certificate, "not_valid_before") <= now <= ends:
        return [
            fail(
                "certificate",
                tr("{file} is not valid today (it ends on {day})", file=str(file), day=f"{ends:%Y-%m-%d}"),
                tr("check the clock; {else_}", else_=anew),
            )
        ]
    if mode & 0o077:
        return [
            fail(
                "certificate",
                tr("{file} can be read by other users", file=str(file)),
                tr("chmod 600 {file}; if the key leaked: {else_}", file=str(file), else_=anew),
            )
        ]
    if ends - now < _SOON:
        return [
            warn(
                "certificate",
                tr("valid until {day}", day=f"{ends:%Y-%m-%d}"),
                tr("plan a new one: all devices must trust it"),
            )
        ]
    return [ok("certificate", f"valid until {ends:%Y-%m-%d}, key readable by its owner only")]


def _utc(certificate: x509.Certificate, name: str) -> datetime:
    moment: datetime = getattr(certificate, f"{name}_utc", None) or getattr(certificate, name).replace(
        tzinfo=UTC
    )
    return moment


async def check_rules(installation: Installation) -> list[Finding]:
    folder = rules_folder(installation.settings.rules.folder, installation.data)
    try:
        count = len((await asyncio.to_thread(load, folder)).rules)
    except RulesError as error:
        return [
            fail("rules", one_line(str(error)), "correct the file; `linkmend rules check` lists all errors")
        ]
    return [ok("rules", f"{count} rules in {folder}")]
