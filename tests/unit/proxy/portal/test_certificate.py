"""proxy.portal.certificate: the certificate in every format, the key in none."""

import hashlib
import plistlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from proxy.portal.certificate import certificate, fingerprint
from proxy.portal.devices import CertificateForm
from tests.integration.origin import certificate as make_certificate


@pytest.fixture
def pem(tmp_path):
    path, _ = make_certificate(tmp_path, "linkmend.test")
    return path


def der_of(pem):
    return x509.load_pem_x509_certificate(pem.read_bytes()).public_bytes(Encoding.DER)


def test_every_form_holds_the_same_certificate(pem):
    der = der_of(pem)
    assert certificate(pem, CertificateForm.DER) == der
    for form in (CertificateForm.PEM, CertificateForm.PEM_CRT):
        assert x509.load_pem_x509_certificate(certificate(pem, form)).public_bytes(Encoding.DER) == der


def test_profile_is_valid_for_phones(pem):
    told = plistlib.loads(certificate(pem, CertificateForm.PROFILE, note="Why <b>"))
    (payload,) = told["PayloadContent"]
    assert (told["PayloadType"], told["PayloadDescription"]) == ("Configuration", "Why <b>")
    assert (payload["PayloadType"], payload["PayloadContent"]) == ("com.apple.security.root", der_of(pem))
    assert told["PayloadUUID"] != payload["PayloadUUID"]
    assert certificate(pem, CertificateForm.PROFILE) == certificate(pem, CertificateForm.PROFILE)


def test_private_key_is_never_included(pem):
    pem.write_bytes(pem.read_bytes() + b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")
    for form in CertificateForm:
        assert b"PRIVATE" not in certificate(pem, form)


def test_the_fingerprint_is_written_as_devices_show_it(pem):
    assert fingerprint(pem).replace(":", "").lower() == hashlib.sha256(der_of(pem)).hexdigest()
    assert len(fingerprint(pem)) == 95
