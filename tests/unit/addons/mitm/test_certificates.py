"""addons.mitm.certificates: certificates of sites are made once."""

from datetime import timedelta

import pytest
from cryptography import x509
from mitmproxy import certs

from addons.mitm import certificates
from addons.mitm.certificates import SiteCertificates, UnknownSite
from proxy.tls import authority
from proxy.tls.authority import CertificateSite, ensure_authority

NAMES = (x509.DNSName("school.test"),)
SITE = CertificateSite(common_name="school.test", names=NAMES)


@pytest.fixture
def open_store(tmp_path):
    ensure_authority(tmp_path)
    return lambda: SiteCertificates(certs.CertStore.from_store(tmp_path, "mitmproxy", 2048), tmp_path)


def test_a_site_is_unseen_until_its_certificate_is_kept(open_store):
    store = open_store()
    with pytest.raises(UnknownSite) as unseen:
        store.get_cert("school.test", NAMES)
    assert unseen.value.site == SITE
    made = store.make(SITE)
    store.keep(SITE, made)
    entry = store.get_cert("school.test", NAMES)
    assert entry.cert._cert == made
    assert entry.privatekey.public_key() == made.public_key()
    assert entry.cert.to_pyopenssl() is entry.cert.to_pyopenssl()


def test_another_process_finds_it_on_disk(open_store):
    assert open_store().make(SITE) == open_store().make(SITE)


def test_nobody_else_can_read_it(open_store, tmp_path):
    open_store().make(SITE)
    (kept,) = (tmp_path / "sites").iterdir()
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "other",
    [
        CertificateSite(common_name="school.test", names=(*NAMES, x509.DNSName("b.test"))),
        CertificateSite(common_name="school.test", names=NAMES, organization="School"),
    ],
)
def test_what_it_is_for_is_part_of_its_name(open_store, other):
    assert open_store().make(SITE) != open_store().make(other)


def test_a_new_authority_does_not_use_the_old_ones(open_store, tmp_path):
    before = open_store().make(SITE)
    (tmp_path / "mitmproxy-ca.pem").unlink()
    ensure_authority(tmp_path)
    after = open_store().make(SITE)
    assert after.fingerprint(after.signature_hash_algorithm) != before.fingerprint(
        before.signature_hash_algorithm
    )


@pytest.mark.parametrize("damage", [b"", b"nothing"])
def test_a_damaged_one_is_made_anew(open_store, tmp_path, damage):
    open_store().make(SITE)
    (kept,) = (tmp_path / "sites").iterdir()
    kept.write_bytes(damage)
    assert open_store().make(SITE) == open_store().make(SITE)


def test_one_that_runs_out_is_made_anew_in_memory_and_on_disk(open_store, monkeypatch):
    monkeypatch.setattr(authority, "LEAF_LIFETIME", timedelta(days=3))
    store = open_store()
    store.keep(SITE, store.make(SITE))
    with pytest.raises(UnknownSite):
        store.get_cert("school.test", NAMES)
    monkeypatch.undo()
    store.keep(SITE, open_store().make(SITE))
    assert store.get_cert("school.test", NAMES)


def test_memory_and_disk_are_bounded(open_store, tmp_path, monkeypatch):
    monkeypatch.setattr(certificates, "IN_MEMORY", 2)
    monkeypatch.setattr(certificates, "ON_DISK", 3)
    store = open_store()
    sites = [CertificateSite(common_name=f"{number}.test", names=NAMES) for number in range(5)]
    for site in sites:
        store.keep(site, store.make(site))
    assert len(store._in_memory) == 2
    assert len(list((tmp_path / "sites").iterdir())) == 3
    assert (tmp_path / "sites" / f"{store._digest(sites[-1])}.pem").exists(), "who comes last is kept too"


def test_where_nothing_can_be_written_certificates_are_still_made(open_store, tmp_path):
    (tmp_path / "sites").write_bytes(b"a file")
    store = open_store()
    store.keep(SITE, store.make(SITE))
    assert store.get_cert("school.test", NAMES)
