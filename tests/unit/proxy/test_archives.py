"""proxy.archives: the archive client as the settings want it."""

import pytest

from proxy.archives import client_from, pretends
from proxy.errors import SettingsError
from proxy.settings import load
from tests.make import a_page


@pytest.mark.parametrize(
    ("environment", "offline"),
    [
        ({}, False),
        ({"LINKMEND_PROXY_OFFLINE": "true"}, True),
        ({"LINKMEND_ARCHIVES_ENABLED": "false"}, True),
    ],
)
async def test_offline_and_switched_off_nobody_is_asked(tmp_path, environment, offline):
    async with client_from(load(environment=environment), tmp_path) as client:
        assert client.offline is offline
        assert set(client.archives) == {"internetarchive", "arquivo.pt", "ukwa"}


def test_an_authority_that_cannot_be_read_is_named(tmp_path):
    settings = load(environment={"LINKMEND_PROXY_TRUSTED_CA": str(tmp_path / "absent.pem")})
    with pytest.raises(SettingsError, match="proxy.trusted_ca"):
        client_from(settings, tmp_path)


def test_pages_that_only_say_sorry_pretend_and_others_do_not():
    sorry = b"<title>Page not found</title><h1>Page not found</h1><p>Sorry, this page does not exist.</p>"
    lesson = (
        b"<title>Rivers</title><h1>Rivers</h1><p>Water flows from the mountains to the sea in rivers.</p>"
    )
    assert pretends(a_page(body=sorry))
    assert not pretends(a_page(body=lesson))
