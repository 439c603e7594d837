"""`linkmend serve --workers 1`: the process that was started carries the traffic, and an office beside it repairs."""

import os
import re
import signal

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually

SETTINGS = '[log]\nlevel = "debug"\n[repair]\ndeadline_s = 0.5\n[collection]\ncommit_every_s = 0.2\n'


@pytest.fixture
def running(start_linkmend):
    return start_linkmend("--workers", "1", settings=SETTINGS)


def office_of(running):
    return int(re.findall(r"office is process (\d+)", running.output)[-1])


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def read(origin, client, name):
    """Have a page opened, and wait until it is offered."""
    page = f"<title>{name}</title><p>All about {name}, and nothing else in the whole world.</p>"
    origin.pages[f"/{name}"] = reply(page, Cache_Control="max-age=60")
    assert client.open_page(f"{origin.url}/{name}").status == 200
    offered = eventually(
        lambda: client.repair(f"{origin.url}/old/{name}").told["alternatives"], f"{name} is not offered"
    )
    assert offered[0]["url"] == f"{origin.url}/{name}"


def test_who_finds_and_draws_repair_pages_makes_way_for_who_carries_traffic(running):
    started = running.process.pid
    assert os.getpriority(os.PRIO_PROCESS, office_of(running)) > os.getpriority(os.PRIO_PROCESS, started)
    assert os.sched_getscheduler(office_of(running)) == os.SCHED_BATCH


def test_an_office_that_is_killed_costs_alternatives_until_it_is_back(origin, running):
    client = Client(running.url)
    read(origin, client, "marmots")
    before = office_of(running)
    os.kill(before, signal.SIGKILL)
    assert client.open_page(origin.url + "/marmots").status == 200
    assert client.open_page(origin.url + "/lost-marmots").miss == "not_found"
    eventually(lambda: office_of(running) != before, "it was not replaced")
    read(origin, client, "ocelots")


def test_readers_are_answered_while_repairs_are_stuck(origin, running):
    client = Client(running.url)
    read(origin, client, "marmots")
    os.kill(office_of(running), signal.SIGSTOP)
    try:
        stuck = client.repair(origin.url + "/old/marmots")
        assert (stuck.status, stuck.told["alternatives"]) == (404, [])
        assert client.open_page(origin.url + "/marmots").status == 200
    finally:
        os.kill(office_of(running), signal.SIGCONT)


def test_new_settings_reach_the_office_too(running):
    os.kill(running.process.pid, signal.SIGHUP)
    eventually(lambda: running.output.count("settings reloaded") == 2, "not both have read them")


def test_killed_it_leaves_nobody_behind(running):
    office = office_of(running)
    running.process.kill()
    eventually(lambda: not is_there(office), "the office is still there")
