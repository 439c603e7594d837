"""Which certificate authorities of origins are trusted: the public ones, and what the admin adds."""

import ssl
from pathlib import Path

import certifi

from proxy.errors import SettingsError
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


def trusted_file(added: str, folder: Path) -> str | None:
    """A PEM file of the public authorities together with those in the file `added`; None when nothing is added.

    mitmproxy takes a file instead of the public authorities, not beside them, so the two are joined in `folder`.
    Raises SettingsError when `added` cannot be read or holds no certificate.
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
    folder.mkdir(parents=True, exist_ok=True)
    joined = folder / "trusted.pem"
    fresh = joined.with_suffix(".new")
    fresh.write_bytes(Path(certifi.where()).read_bytes() + b"\n" + own)
    fresh.replace(joined)
    return str(joined)
