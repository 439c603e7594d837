"""The line to the district's PostgreSQL is encrypted, and its server is who it says: a real server, with TLS."""

from dataclasses import replace

import pytest

from proxy.district.connection import connected
from proxy.errors import DistrictUnavailable
from tests.integration.origin import certificate

_NAME = "db1.district.test"


@pytest.fixture(scope="module")
def secured(start_postgres, tmp_path_factory):
    """A server with a certificate of its own, and the file with which it is known."""
    server, folder = start_postgres(), tmp_path_factory.mktemp("tls")
    pem, _ = certificate(folder, _NAME)
    server.use_tls(pem, pem.with_suffix(".key"))
    return server, pem


def district(server, ca_file, *, name=_NAME):
    """Settings as of another machine: a name, which leads here."""
    address = f"postgresql://{name}:{server.port}/postgres?hostaddr=127.0.0.1"
    return replace(server.settings(), database=address, ca_file=str(ca_file))


def test_a_school_reaches_the_database_encrypted_when_its_authority_vouches_for_the_name(secured):
    with connected(district(*secured)) as connection:
        encrypted = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
    assert encrypted == (True,)


def test_nobody_talks_to_a_server_that_another_authority_vouches_for(secured, tmp_path):
    other, _ = certificate(tmp_path, _NAME)
    with (
        pytest.raises(DistrictUnavailable, match="certificate verify failed"),
        connected(district(secured[0], other)),
    ):
        pass


def test_nobody_talks_to_a_server_with_another_name(secured):
    server, pem = secured
    with (
        pytest.raises(DistrictUnavailable, match="does not match host name"),
        connected(district(server, pem, name="db2.district.test")),
    ):
        pass


def test_nobody_talks_in_clear_to_a_server_elsewhere(start_postgres, secured):
    with (
        pytest.raises(DistrictUnavailable, match="does not support SSL"),
        connected(district(start_postgres(), secured[1])),
    ):
        pass
