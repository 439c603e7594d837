"""proxy.trust: an authority that the admin adds joins the public ones."""

import ssl

import pytest

from proxy.errors import SettingsError
from proxy.trust import trusted_file
from tests.integration.origin import certificate


def test_without_an_addition_the_public_authorities_are_left_to_mitmproxy(tmp_path):
    assert trusted_file("", tmp_path) is None


def test_an_added_authority_is_trusted_beside_the_public_ones(tmp_path):
    pem, _ = certificate(tmp_path, "filter.school.test")
    joined = trusted_file(str(pem), tmp_path / "ca")
    trusted = ssl.create_default_context(cafile=joined).get_ca_certs()
    assert len(trusted) > 50
    assert any("filter.school.test" in str(authority["subject"]) for authority in trusted)


@pytest.mark.parametrize("content", [None, b"", b"not a certificate", b"\xff\xfe"])
def test_a_file_that_is_missing_or_holds_none_is_named(tmp_path, content):
    path = tmp_path / "filter.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match="proxy.trusted_ca: .*filter.pem"):
        trusted_file(str(path), tmp_path)
