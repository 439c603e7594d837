"""The certificates of intercepted sites: made once for a site, kept in memory and on disk.

mitmproxy keeps a hundred of them in memory, for the authority's own key, and signs new ones on the event loop. Here
they use an elliptic-curve key of their own, a known site needs no new signature after a restart or in another
process, and signing runs in a thread. `mitmproxy` calls this through its `TlsConfig`.
"""

import asyncio
import hashlib
import logging
import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mitmproxy import certs, connection, ctx, tls
from OpenSSL import crypto

from addons.mitm.ownaddons import tlsconfig
from proxy.reach.identity import name_to_verify
from proxy.tls.authority import CertificateSite, leaf_certificate, leaf_key, place_private
from repair.bounded import BoundedDict

log = logging.getLogger(__name__)

IN_MEMORY = 2000
ON_DISK = 10_000
"""Sites whose certificates are kept; the limit is needed since clients may request any number of names."""
_REMOVED_AT_ONCE = 10  # the part that is removed when there are too many
_RENEW = timedelta(days=7)


class UnknownSite(LookupError):
    """There is no certificate for this site in memory."""

    def __init__(self, site: CertificateSite) -> None:
        super().__init__(site.common_name)
        self.site = site


class _KeptCert(certs.Cert):
    """mitmproxy converts it for OpenSSL with every handshake."""

    _converted: crypto.X509 | None = None

    def to_pyopenssl(self) -> crypto.X509:
        if self._converted is None:
            self._converted = super().to_pyopenssl()
        return self._converted


class SiteCertificates(certs.CertStore):
    """Replaces mitmproxy's store. `get_cert` uses only memory; `make` blocks."""

    def __init__(self, store: certs.CertStore, folder: Path) -> None:
        vars(self).update(vars(store))  # mitmproxy 12 makes one of more than 11 does; an admin's own stay
        self._in_memory = BoundedDict[CertificateSite, certs.CertStoreEntry](IN_MEMORY)
        self._folder: Path | None = folder / "sites"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._room = ON_DISK - sum(1 for _ in self._folder.iterdir())
            self._key = leaf_key(folder / "sites-key.pem")
        except OSError as error:
            log.warning("cannot store site certificates on disk, keeping them in memory: %s", error)
            self._folder, self._key = None, ec.generate_private_key(ec.SECP256R1())
        self._of_all = self._marks()

    def _marks(self) -> bytes:
        """Identifies the certificates of this authority and key."""
        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return self.default_ca._cert.fingerprint(SHA256()) + public

    def get_cert(
        self,
        commonname: str | None,
        sans: Iterable[x509.GeneralName],
        organization: str | None = None,
        *further: Any,
    ) -> certs.CertStoreEntry:
        """Raises UnknownSite."""
        if self.certs:
            return super().get_cert(commonname, sans, organization, *further)
        site = CertificateSite(common_name=commonname, names=tuple(sans), organization=organization)
        entry = self._in_memory.get(site)
        if entry is None or not _lasts(entry.cert._cert):
            raise UnknownSite(site)
        self._in_memory.move_to_end(site)
        return entry

    def keep(self, site: CertificateSite, certificate: x509.Certificate) -> None:
        """In memory."""
        self._in_memory[site] = certs.CertStoreEntry(
            _KeptCert(certificate),
            self._key,  # type: ignore[arg-type]  # annotated as an RSA key, and used as any
            self.default_chain_file,
            self.default_chain_certs,
        )

    def make(self, site: CertificateSite) -> x509.Certificate:
        """From disk, else newly signed."""
        path = self._folder / f"{self._digest(site)}.pem" if self._folder is not None else None
        if path is not None and (kept := _kept_in(path)) is not None:
            return kept
        public_key = self._key.public_key()
        authority, key = self.default_ca._cert, self.default_privatekey
        made = leaf_certificate(site, public_key=public_key, authority=authority, key=key)
        if path is not None:
            with suppress(OSError):  # it will be signed anew
                if self._room <= 0:
                    self._make_room(path.parent)
                place_private(path, made.public_bytes(Encoding.PEM))
                self._room -= 1
        return made

    def _make_room(self, folder: Path) -> None:
        """Remove some at random, which mostly hits a client that requested many."""
        kept = list(folder.iterdir())
        for path in random.sample(kept, min(len(kept), 1 + len(kept) // _REMOVED_AT_ONCE)):
            path.unlink(missing_ok=True)
        self._room = ON_DISK - sum(1 for _ in folder.iterdir())

    def _digest(self, site: CertificateSite) -> str:
        description = repr((site.common_name, site.names, site.organization)).encode(
            "utf-8", "surrogateescape"
        )
        return hashlib.blake2b(
            description, key=hashlib.sha256(self._of_all).digest(), digest_size=20
        ).hexdigest()


def _kept_in(path: Path) -> x509.Certificate | None:
    """The certificate in a file; removes a damaged or expiring one."""
    try:
        with suppress(ValueError):
            kept = x509.load_pem_x509_certificate(path.read_bytes())
            if _lasts(kept):
                return kept
        path.unlink()
    except OSError:
        pass  # nearly always: there is none
    return None


def _lasts(certificate: x509.Certificate) -> bool:
    now = datetime.now(UTC)
    return certificate.not_valid_before_utc < now < certificate.not_valid_after_utc - _RENEW


class FastTls(tlsconfig.TlsConfig):
    """mitmproxy's addon over our certificates."""

    name = "tlsconfig"

    def __init__(self) -> None:
        self._signing = ThreadPoolExecutor(1, thread_name_prefix="certificates")

    def running(self) -> None:
        """mitmproxy loads its authority here; mostly ours was, before anybody could connect
        (addons/mitm/master.py).
        """
        if self.certstore is None:
            self.configure(("confdir",))

    def configure(self, updated: Any) -> None:
        super().configure(updated)  # type: ignore[no-untyped-call]
        if self.certstore is not None and not isinstance(self.certstore, SiteCertificates):
            self.certstore = SiteCertificates(self.certstore, Path(ctx.options.confdir).expanduser())

    def tls_start_client_now(self, tls_start: tls.TlsData) -> bool:
        try:
            super().tls_start_client(tls_start)
        except UnknownSite:
            return False
        return True

    async def tls_start_client(self, tls_start: tls.TlsData) -> None:  # type: ignore[override]
        try:
            super().tls_start_client(tls_start)
        except UnknownSite as unseen:
            loop = asyncio.get_running_loop()
            store = self.certstore
            if isinstance(store, SiteCertificates):
                store.keep(unseen.site, await loop.run_in_executor(self._signing, store.make, unseen.site))
            super().tls_start_client(tls_start)

    def tls_start_server(self, tls_start: tls.TlsData) -> None:
        """Verify the certificate for the host that we connect to.

        mitmproxy would for the name in the client's greeting, whatever tunnel that came through.
        """
        server, client = tls_start.conn, tls_start.context.client
        if (
            isinstance(server, connection.Server)
            and server.address is not None
            and client.proxy_mode.type_name not in ("reverse", "transparent")
        ):
            server.sni = name_to_verify(server.address[0], server.sni)
        super().tls_start_server(tls_start)

    def done(self) -> None:
        self._signing.shutdown(wait=False)
