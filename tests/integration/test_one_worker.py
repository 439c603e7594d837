"""`linkmend serve --workers 1`: one process carries the traffic, and a backend beside it repairs."""

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


def process_of(running, name="backend"):
    return int(re.findall(rf"{name} is process (\d+)", running.output)[-1])


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


def test_backend_runs_at_lower_priority_than_workers(running):
    worker, backend = process_of(running, "worker 1"), process_of(running)
    assert os.getpriority(os.PRIO_PROCESS, backend) > os.getpriority(os.PRIO_PROCESS, worker)
    assert os.sched_getscheduler(backend) == os.SCHED_BATCH


def test_a_backend_that_is_killed_costs_alternatives_until_it_is_back(origin, running):
    client = Client(running.url)
    read(origin, client, "marmots")
    before = process_of(running)
    os.kill(before, signal.SIGKILL)
    assert client.open_page(origin.url + "/marmots").status == 200
    assert client.open_page(origin.url + "/lost-marmots").miss == "not_found"
    eventually(lambda: process_of(running) != before, "it was not replaced")
    read(origin, client, "ocelots")


def test_pages_are_served_while_repairs_are_stuck(origin, running):
    client = Client(running.url)
    read(origin, client, "marmots")
    os.kill(process_of(running), signal.SIGSTOP)
    try:
        stuck = client.repair(origin.url + "/old/marmots")
        assert (stuck.status, stuck.told["alternatives"]) == (404, [])
        assert client.open_page(origin.url + "/marmots").status == 200
    finally:
        os.kill(process_of(running), signal.SIGCONT)


def test_new_settings_reach_the_backend_too(running):
    os.kill(running.process.pid, signal.SIGHUP)
    eventually(lambda: running.output.count("settings reloaded") == 2, "not both have read them")


def test_a_worker_that_is_killed_is_replaced_and_no_connection_refused(origin, running):
    origin.pages["/page"] = reply("hello")
    before = process_of(running, "worker 1")
    os.kill(before, signal.SIGKILL)
    assert Client(running.url).get(origin.url + "/page").text == "hello"
    assert process_of(running, "worker 1") != before


def test_killed_it_leaves_no_process_behind(running):
    others = [process_of(running), process_of(running, "worker 1")]
    running.process.kill()
    eventually(lambda: not any(map(is_there, others)), "a process is still there")
