"""The certificate authority of a new installation: an elliptic-curve key, in the files that mitmproxy expects.

mitmproxy would create an RSA key, whose signatures take four times as long. An existing authority of any kind stays,
since devices trust it. The certificates of sites use another elliptic-curve key, which signs every handshake.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BASENAME = "mitmproxy"
_NAME = "linkmend"
_YEARS = 10
LEAF_LIFETIME = timedelta(days=365)
_BEFORE = timedelta(days=2)  # for devices whose clocks are behind

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSite:
    """The site that a certificate is for."""

    common_name: str | None
    names: tuple[x509.GeneralName, ...]
    organization: str | None = None


def ensure_authority(folder: Path) -> None:
    """Create an authority unless there is one, and its missing public files. Raises OSError.

    If several processes try at the same time, one creates it: the key file appears complete or not at all.
    """
    key_file = folder / f"{BASENAME}-ca.pem"
    if not key_file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _authority_certificate(key)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        if place_private(key_file, secret + certificate.public_bytes(Encoding.PEM)):
            bundle = pkcs12.serialize_key_and_certificates(
                _NAME.encode(), key, certificate, None, NoEncryption()
            )
            place_private(folder / f"{BASENAME}-ca.p12", bundle)
    with suppress(ValueError):  # the code that reads the key reports a damaged one
        _publish(folder, x509.load_pem_x509_certificate(key_file.read_bytes()))


def _publish(folder: Path, certificate: x509.Certificate) -> None:
    """Write the certificate without its key, in the forms that devices import."""
    pem = certificate.public_bytes(Encoding.PEM)
    p12 = pkcs12.serialize_key_and_certificates(_NAME.encode(), None, certificate, None, NoEncryption())
    for ending, data in (("pem", pem), ("cer", pem), ("p12", p12)):
        path = folder / f"{BASENAME}-ca-cert.{ending}"
        if not path.exists():
            path.write_bytes(data)


def leaf_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key of all sites' certificates, kept in a file; replaces a damaged one. Raises OSError."""
    for _ in range(2):
        key = ec.generate_private_key(ec.SECP256R1())
        if place_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())):
            return key
        with suppress(ValueError, TypeError, UnsupportedAlgorithm):
            kept = load_pem_private_key(path.read_bytes(), None)
            if isinstance(kept, ec.EllipticCurvePrivateKey):
                return kept
        path.unlink(missing_ok=True)
    return key


def leaf_certificate(
    site: CertificateSite,
    *,
    public_key: ec.EllipticCurvePublicKey,
    authority: x509.Certificate,
    key: SigningKey,
) -> x509.Certificate:
    """A certificate for a site, signed by the authority."""
    # RFC 5280 4.1.2.6: a common name has at most 64 characters; without a subject the names are critical.
    named = site.common_name is not None and len(site.common_name) < 64
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, site.common_name or "")] if named else []
    if site.organization:
        subject.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, site.organization))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .subject_name(x509.Name(subject))
        .issuer_name(authority.subject)
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + LEAF_LIFETIME)
        .public_key(public_key)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(site.names), critical=not named)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    return builder.sign(key, hashes.SHA256())


def place_private(path: Path, data: bytes) -> bool:
    """Create a complete file that only its owner can read; False when it exists already. Raises OSError."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.link(fresh, path)
    except FileExistsError:
        return False
    finally:
        fresh.unlink(missing_ok=True)
    return True


def _authority_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, _NAME),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _NAME),
        ]
    )
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .subject_name(name)
        .issuer_name(name)
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_SIGNS_CERTIFICATES, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return builder.sign(key, hashes.SHA256())


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
