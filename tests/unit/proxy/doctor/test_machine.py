"""Checks of the machine."""

import os
import socket
import time
from contextlib import closing

from proxy.doctor.machine import check_clock, check_disk, check_ports, check_python
from proxy.doctor.model import FindingLevel, Installation
from proxy.settings import AdminSettings, MetricsSettings, ProxySettings, Settings


def an_installation(data, *, running=False, **settings):
    dull = {"desk": AdminSettings(enabled=False), "metrics": MetricsSettings(enabled=False)}
    return Installation(settings=Settings(**{**dull, **settings}), data=data, running=running)


def a_port():
    listener = socket.create_server(("127.0.0.1", 0))
    return closing(listener), f"127.0.0.1:{listener.getsockname()[1]}"


async def test_a_machine_that_runs_the_tests_is_well(tmp_path):
    for check in (check_python, check_clock):
        assert [finding.level for finding in await check(an_installation(tmp_path))] == [FindingLevel.OK]


async def test_a_port_that_another_program_has_is_a_failure(tmp_path):
    listening, address = a_port()
    with listening:
        (finding,) = await check_ports(an_installation(tmp_path, proxy=ProxySettings(listen=address)))
    assert finding.level is FindingLevel.FAIL
    assert f"proxy.listen: cannot listen on {address}" in finding.found
    assert "another program has this port" in finding.advice


async def test_a_free_port_is_fine(tmp_path):
    (finding,) = await check_ports(an_installation(tmp_path, proxy=ProxySettings(listen="127.0.0.1:0")))
    assert finding.level is FindingLevel.OK


async def test_a_running_linkmend_has_to_answer_on_its_ports(tmp_path):
    listening, address = a_port()
    running = an_installation(tmp_path, running=True, proxy=ProxySettings(listen=address))
    with listening:
        assert [finding.level for finding in await check_ports(running)] == [FindingLevel.OK]
    assert [finding.level for finding in await check_ports(running)] == [FindingLevel.FAIL]


async def test_an_address_of_another_machine_is_a_failure(tmp_path):
    (finding,) = await check_ports(an_installation(tmp_path, proxy=ProxySettings(listen="192.0.2.1:8080")))
    assert finding.level is FindingLevel.FAIL
    assert "one of this machine's" in finding.advice


async def test_a_clock_behind_the_files_is_a_failure(tmp_path):
    (tmp_path / "misses").mkdir()
    file = tmp_path / "misses" / "misses.sqlite"
    file.touch()
    os.utime(file, (time.time() + 90_000,) * 2)
    (finding,) = await check_clock(an_installation(tmp_path))
    assert (finding.level, "are newer" in finding.found) == (FindingLevel.FAIL, True)


async def test_a_folder_that_is_still_to_be_made_has_the_disk_above_it(tmp_path):
    (finding,) = await check_disk(an_installation(tmp_path / "a" / "b"))
    assert "GB free" in finding.found
