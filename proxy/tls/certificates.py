"""Certificates: whose are believed of origins, and that nobody but us reads the key of our own authority."""

import ssl
from pathlib import Path

import certifi

from proxy.errors import SettingsError
from proxy.files import write
from proxy.settings import ProxySettings


def origin_context(settings: ProxySettings) -> ssl.SSLContext | bool:
    """How requests of our own check an origin's certificate, the same way as readers' requests; False for not at all.

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
    """Take the key of our own authority away from everybody but its owner; the files that others could read.

    mitmproxy writes it so. A copy from a backup or from another machine may be readable by all, and whoever reads it
    can pretend to be any site. Raises OSError when a file is not ours to change.
    """
    loose = [file for file in sorted(folder.glob("mitmproxy-ca.*")) if file.stat().st_mode & 0o077]
    for file in loose:
        file.chmod(0o600)
    return loose


def trusted_file(added: str, folder: Path) -> str | None:
    """A PEM file of the public authorities together with those in the file `added`; None when nothing is added.

    mitmproxy takes a file instead of the public authorities, not beside them, so the two are joined in `folder`.
    Raises SettingsError when `added` cannot be read or holds no certificate, or the file cannot be written.
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
        # One that says so already is left alone: the disk may be full.
        if not joined.exists() or joined.read_bytes() != together:
            folder.mkdir(parents=True, exist_ok=True)
            write(joined, together, mode=0o600)  # all workers at once
    except OSError as error:
        raise SettingsError(f"proxy.trusted_ca: {joined} cannot be written: {error.strerror}") from error
    return str(joined)
