"""Certificates: which origins are trusted, and file permissions of our own authority's key."""

import ssl
from pathlib import Path

import certifi

from proxy.atomicfiles import write
from proxy.errors import SettingsError
from proxy.settings import ProxySettings


def origin_context(settings: ProxySettings) -> ssl.SSLContext | bool:
    """The TLS context for our own requests, with the same checks as for users' requests; False for no checks.

    Raises SettingsError.
    """
    if not settings.verify_origins:
        return False
    context = ssl.create_default_context(cafile=certifi.where())
    if settings.trusted_ca:
        try:
            context.load_verify_locations(cafile=settings.trusted_ca)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"proxy.trusted_ca: {settings.trusted_ca}: expected certificates in PEM form"
            ) from error
    return context


def keep_key_private(folder: Path) -> list[Path]:
    """Make our authority's key readable for its owner only; returns the files that others could read.

    mitmproxy writes it so. A copy from a backup or another machine may be readable by all, and anyone with the key
    can impersonate any site. Raises OSError when a file belongs to another user.
    """
    loose = [file for file in sorted(folder.glob("mitmproxy-ca.*")) if file.stat().st_mode & 0o077]
    for file in loose:
        file.chmod(0o600)
    return loose


def trusted_file(added: str, folder: Path) -> str | None:
    """A PEM file of the public authorities and those in the file `added`; None when `added` is empty.

    mitmproxy uses a file instead of the public authorities, not in addition, so this joins the two in `folder`.
    Raises SettingsError when `added` is unreadable or has no certificate, or the new file cannot be written.
    """
    if not added:
        return None
    try:
        own = Path(added).read_bytes()
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=own.decode("ascii"))
    except OSError as error:
        raise SettingsError(f"proxy.trusted_ca: {added}: {error.strerror}") from error
    except (ValueError, ssl.SSLError) as error:
        raise SettingsError(f"proxy.trusted_ca: {added}: expected certificates in PEM form") from error
    joined = folder / "trusted.pem"
    try:
        together = Path(certifi.where()).read_bytes() + b"\n" + own
        # Do not rewrite an equal file: the disk may be full.
        if not joined.exists() or joined.read_bytes() != together:
            folder.mkdir(parents=True, exist_ok=True)
            write(joined, together, mode=0o600)  # atomic, since all workers do it at once
    except OSError as error:
        raise SettingsError(f"proxy.trusted_ca: cannot write {joined}: {error.strerror}") from error
    return str(joined)
