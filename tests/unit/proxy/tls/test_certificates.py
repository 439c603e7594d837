"""proxy.tls.certificates: an authority that the admin adds joins the public ones."""

import os
import ssl
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.errors import SettingsError
from proxy.tls.certificates import keep_key_private, trusted_file
from tests.integration.origin import certificate


def test_without_an_addition_the_public_authorities_are_left_to_mitmproxy(tmp_path):
    assert trusted_file("", tmp_path) is None


def test_an_added_authority_is_trusted_beside_the_public_ones(tmp_path):
    pem, _ = certificate(tmp_path, "filter.school.test")
    joined = trusted_file(str(pem), tmp_path / "ca")
    trusted = ssl.create_default_context(cafile=joined).get_ca_certs()
    assert len(trusted) > 50
    assert any("filter.school.test" in str(authority["subject"]) for authority in trusted)


def test_all_workers_may_join_them_at_once(tmp_path):
    pem, _ = certificate(tmp_path, "filter.school.test")
    with ThreadPoolExecutor(8) as workers:
        joined = set(workers.map(lambda _: trusted_file(str(pem), tmp_path / "ca"), range(60)))
    assert joined == {str(tmp_path / "ca" / "trusted.pem")}
    assert [path.name for path in (tmp_path / "ca").iterdir()] == ["trusted.pem"]


def test_an_equal_trust_file_is_not_written_again(tmp_path):
    pem, _ = certificate(tmp_path, "filter.school.test")
    joined = trusted_file(str(pem), tmp_path / "ca")
    written = os.stat(joined)
    assert trusted_file(str(pem), tmp_path / "ca") == joined
    assert os.stat(joined).st_ino == written.st_ino


def test_a_disk_that_takes_no_more_is_named(tmp_path):
    pem, _ = certificate(tmp_path, "filter.school.test")
    (tmp_path / "ca" / "trusted.pem").mkdir(parents=True)  # nothing can be written there
    with pytest.raises(SettingsError, match="trusted.pem"):
        trusted_file(str(pem), tmp_path / "ca")


@pytest.mark.parametrize("content", [None, b"", b"not a certificate", b"\xff\xfe"])
def test_a_file_that_is_missing_or_holds_none_is_named(tmp_path, content):
    path = tmp_path / "filter.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match="proxy.trusted_ca: .*filter.pem"):
        trusted_file(str(path), tmp_path)


def test_a_key_that_others_could_read_is_private_again(tmp_path):
    for name in ("mitmproxy-ca.pem", "mitmproxy-ca.p12", "mitmproxy-ca-cert.pem"):
        (tmp_path / name).write_bytes(b"x")
        (tmp_path / name).chmod(0o644)
    assert {file.name for file in keep_key_private(tmp_path)} == {"mitmproxy-ca.pem", "mitmproxy-ca.p12"}
    assert (tmp_path / "mitmproxy-ca.pem").stat().st_mode & 0o777 == 0o600
    assert keep_key_private(tmp_path) == []
    assert keep_key_private(tmp_path / "absent") == []
