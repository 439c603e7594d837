"""Checks of the data folder."""

import os
import sqlite3
from contextlib import closing

import pytest

from proxy.doctor.files import check_certificate, check_data, check_rules, check_stores
from proxy.doctor.model import FindingLevel, Installation
from proxy.settings import Settings
from proxy.tls.authority import ensure_authority


@pytest.fixture
def installation(tmp_path):
    (tmp_path / "misses").mkdir()
    with closing(sqlite3.connect(tmp_path / "misses" / "misses.sqlite")) as database:
        database.execute("CREATE TABLE t (x)")
        database.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 200)
        database.commit()
    ensure_authority(tmp_path / "ca")
    return Installation(settings=Settings(), data=tmp_path, running=False)


async def levels(check, installation):
    return [finding.level for finding in await check(installation)]


@pytest.mark.parametrize("check", [check_data, check_stores, check_certificate, check_rules])
async def test_a_data_folder_in_order_is_well_and_stays_as_it_is(check, installation):
    before = sorted(path.name for path in installation.data.rglob("*"))
    assert await levels(check, installation) == [FindingLevel.OK]
    assert sorted(path.name for path in installation.data.rglob("*")) == before


@pytest.mark.parametrize("at", [0, 4096 * 5], ids=["header", "middle"])
async def test_a_damaged_store_is_a_failure(installation, at):
    file = installation.data / "misses" / "misses.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[:at] + b"\xff" * 8192 + whole[at + 8192 :])
    (finding,) = await check_stores(installation)
    assert finding.level is FindingLevel.FAIL
    assert "misses.sqlite" in finding.found
    assert "restore" in finding.advice


async def test_a_certificate_that_is_none_is_a_failure(installation):
    (installation.data / "ca" / "mitmproxy-ca.pem").write_text("not a certificate")
    assert await levels(check_certificate, installation) == [FindingLevel.FAIL]


async def test_a_key_that_belongs_to_another_certificate_is_a_failure(installation, tmp_path):
    ensure_authority(tmp_path / "other")
    file = installation.data / "ca" / "mitmproxy-ca.pem"
    mark = "-----BEGIN CERTIFICATE-----"
    key = file.read_text().partition(mark)[0]
    other = (tmp_path / "other" / "mitmproxy-ca.pem").read_text().partition(mark)[2]
    file.write_text(key + mark + other)
    (finding,) = await check_certificate(installation)
    assert (finding.level, "do not belong together" in finding.found) == (FindingLevel.FAIL, True)


async def test_a_key_that_others_can_read_is_a_failure(installation):
    (installation.data / "ca" / "mitmproxy-ca.pem").chmod(0o644)
    (finding,) = await check_certificate(installation)
    assert (finding.level, "chmod 600" in finding.advice) == (FindingLevel.FAIL, True)


async def test_before_the_first_start_there_is_no_certificate(tmp_path):
    new = Installation(settings=Settings(), data=tmp_path / "new", running=False)
    for check in (check_data, check_certificate):
        assert await levels(check, new) == [FindingLevel.WARN]


async def test_a_data_folder_that_is_a_file_is_a_failure(tmp_path):
    (tmp_path / "data").touch()
    taken = Installation(settings=Settings(), data=tmp_path / "data", running=False)
    assert await levels(check_data, taken) == [FindingLevel.FAIL]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
async def test_a_folder_that_may_not_be_read_is_a_failure(installation):
    (installation.data / "misses").chmod(0)
    try:
        (finding,) = await check_data(installation)
    finally:
        (installation.data / "misses").chmod(0o700)
    assert (finding.level, "chown" in finding.advice) == (FindingLevel.FAIL, True)


async def test_a_rule_with_an_error_is_a_failure(installation):
    (installation.data / "rules.d").mkdir()
    (installation.data / "rules.d" / "10.toml").write_text('[[rule]]\nactoin = "pass"\n')
    (finding,) = await check_rules(installation)
    assert finding.level is FindingLevel.FAIL
    assert "10.toml" in finding.found
