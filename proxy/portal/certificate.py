"""The CA certificate that devices must trust, in the file formats they accept; never its key."""

import hashlib
import plistlib
import uuid
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from proxy.portal.devices import CertificateForm


def certificate(path: Path, form: CertificateForm, *, note: str = "") -> bytes:
    """The certificate as a file. `path` holds no key; anything else in it is left out.

    `note` is the description in a profile. Raises OSError or ValueError. Blocking.
    """
    found = x509.load_pem_x509_certificate(path.read_bytes())
    if form in (CertificateForm.PEM, CertificateForm.PEM_CRT):
        return found.public_bytes(Encoding.PEM)
    der = found.public_bytes(Encoding.DER)
    return _profile(der, note) if form is CertificateForm.PROFILE else der


def fingerprint(path: Path) -> str:
    """SHA-256 as devices show it: pairs of digits with colons. Raises OSError or ValueError. Blocking."""
    found = x509.load_pem_x509_certificate(path.read_bytes())
    digest = hashlib.sha256(found.public_bytes(Encoding.DER))
    return digest.digest().hex(":").upper()


def _profile(der: bytes, note: str) -> bytes:
    """A configuration profile for iPhones and iPads. Its identifiers derive from the certificate, so a newer copy
    replaces it.
    """
    name = uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(der).hexdigest())
    payload = {
        "PayloadType": "com.apple.security.root",
        "PayloadVersion": 1,
        "PayloadIdentifier": f"internal.linkmend.ca.{name}",
        "PayloadUUID": str(uuid.uuid5(name, "certificate")).upper(),
        "PayloadDisplayName": "linkmend",
        "PayloadCertificateFileName": "linkmend-ca.cer",
        "PayloadContent": der,
    }
    return plistlib.dumps(
        {
            "PayloadType": "Configuration",
            "PayloadVersion": 1,
            "PayloadIdentifier": f"internal.linkmend.{name}",
            "PayloadUUID": str(name).upper(),
            "PayloadDisplayName": "linkmend",
            "PayloadDescription": note,
            "PayloadRemovalDisallowed": False,
            "PayloadContent": [payload],
        }
    )
