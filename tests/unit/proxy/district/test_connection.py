from dataclasses import replace

import pytest
from psycopg import conninfo

from proxy.district.connection import connection_text
from proxy.errors import SettingsError
from proxy.settings import DistrictSettings

_FAR = DistrictSettings(
    database="postgresql://db1.example,db2.example:5433/linkmend", database_user="school_a"
)


def parts(settings):
    return conninfo.conninfo_to_dict(connection_text(settings))


def test_of_several_servers_the_one_that_takes_writes_is_wanted_and_certificates_are_checked(tmp_path):
    (tmp_path / "password").write_text("secret\nnot this\n")
    told = parts(replace(_FAR, database_password_file=str(tmp_path / "password")))
    assert (told["host"], told["user"], told["password"]) == ("db1.example,db2.example", "school_a", "secret")
    assert told["target_session_attrs"] == "read-write"
    assert (told["sslmode"], told["sslrootcert"]) == ("verify-full", "system")
    assert int(told["connect_timeout"]) <= 10


def test_the_districts_own_authority_is_trusted():
    assert parts(replace(_FAR, ca_file="/etc/district.pem"))["sslrootcert"] == "/etc/district.pem"


@pytest.mark.parametrize(
    "database", ["postgresql:///linkmend?host=/run/postgresql", "host=127.0.0.1 dbname=linkmend"]
)
def test_on_this_machine_no_certificate_is_asked_for(database):
    assert parts(DistrictSettings(database=database))["sslmode"] == "prefer"


def test_one_far_server_among_near_ones_is_enough_to_check_certificates():
    database = "postgresql://127.0.0.1,db2.example/linkmend"
    assert parts(DistrictSettings(database=database))["sslmode"] == "verify-full"


@pytest.mark.parametrize(
    "database", ["postgresql://u:hush@db1.example/x", "host=a password=hush", "hush://", "%% hush"]
)
def test_a_password_in_the_address_is_refused_and_not_repeated(database):
    with pytest.raises(SettingsError, match="database") as refused:
        connection_text(DistrictSettings(database=database))
    assert "hush" not in str(refused.value)


def test_a_password_file_that_cannot_be_read_is_a_wrong_setting():
    with pytest.raises(SettingsError, match="database_password_file"):
        connection_text(replace(_FAR, database_password_file="/nowhere/password"))
