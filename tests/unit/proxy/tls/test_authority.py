"""proxy.tls.authority: keys and certificates of the proxy's own authority."""

import stat

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mitmproxy import certs

from proxy.tls.authority import CertificateSite, ensure_authority, leaf_certificate, leaf_key, place_private


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_authority_has_a_curve_key_that_only_its_owner_can_read(tmp_path):
    ensure_authority(tmp_path / "ca")
    file = tmp_path / "ca" / "mitmproxy-ca.pem"
    assert isinstance(load_pem_private_key(file.read_bytes(), None), ec.EllipticCurvePrivateKey)
    assert mode(file) == 0o600
    assert mode(tmp_path / "ca" / "mitmproxy-ca.p12") == 0o600


def test_mitmproxy_takes_it_for_its_own(tmp_path):
    ensure_authority(tmp_path)
    store = certs.CertStore.from_store(tmp_path, "mitmproxy", 2048)
    published = x509.load_pem_x509_certificate((tmp_path / "mitmproxy-ca-cert.pem").read_bytes())
    assert store.default_ca._cert == published
    assert store.default_ca.is_ca


def test_an_authority_that_is_there_stays(tmp_path):
    certs.CertStore.create_store(tmp_path, "mitmproxy", 2048)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ensure_authority(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_public_files_that_are_missing_come_back(tmp_path):
    ensure_authority(tmp_path)
    before = (tmp_path / "mitmproxy-ca-cert.pem").read_bytes()
    (tmp_path / "mitmproxy-ca-cert.pem").unlink()
    ensure_authority(tmp_path)
    assert (tmp_path / "mitmproxy-ca-cert.pem").read_bytes() == before


def test_a_damaged_authority_is_left_as_it_is(tmp_path):
    (tmp_path / "mitmproxy-ca.pem").write_bytes(b"nothing")
    ensure_authority(tmp_path)
    assert (tmp_path / "mitmproxy-ca.pem").read_bytes() == b"nothing"


def test_a_private_file_is_placed_once(tmp_path):
    assert place_private(tmp_path / "a", b"first")
    assert not place_private(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("damage", [None, b"", b"nothing"])
def test_the_key_of_sites_is_kept_and_a_damaged_one_replaced(tmp_path, damage):
    path = tmp_path / "key.pem"
    first = leaf_key(path)
    if damage is not None:
        path.write_bytes(damage)
    second = leaf_key(path)
    assert (first.private_numbers() == second.private_numbers()) is (damage is None)
    assert mode(path) == 0o600


@pytest.mark.parametrize("name", ["school.test", f"{'a' * 63}.test"])
def test_a_site_gets_a_certificate_that_its_authority_signed(tmp_path, name):
    ensure_authority(tmp_path)
    store = certs.CertStore.from_store(tmp_path, "mitmproxy", 2048)
    key = ec.generate_private_key(ec.SECP256R1())
    site = CertificateSite(common_name=name, names=(x509.DNSName(name),), organization="School")
    authority = store.default_ca._cert
    made = leaf_certificate(
        site, public_key=key.public_key(), authority=authority, key=store.default_privatekey
    )
    made.verify_directly_issued_by(authority)
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [name]
    assert made.public_key() == key.public_key()
