"""An office and its keeper beside a process, in a program of its own: it forks and takes signals."""

import os
import re
import signal
from pathlib import Path

import pytest

from tests.unit.proxy.processes import programs
from tests.unit.proxy.processes.programs import lines_until

PROGRAM = """
import logging, os, select, signal, sys, time
from proxy.errors import StartError
from proxy.processes.keeper import Keeper
from proxy.processes.workers import Role

logging.basicConfig(level="DEBUG", format="%(message)s", stream=sys.stderr)

def say(text):
    os.write(1, f"{os.getpid()} {text}\\n".encode())

def wait(station):
    signal.signal(signal.SIGHUP, lambda *_: say("office hung up"))
    signal.signal(signal.SIGTERM, lambda *_: (say("office ends"), os._exit(0)))
    station.ready()
    until_gone(station.lifeline)
    say("office orphaned")

def until_gone(lifeline):
    while not select.select([lifeline], [], [], 0.2)[0]:  # a signal may come just before it waits
        pass

def fail(station):
    raise StartError("the collection is on the moon")

keeper = Keeper(
    Role(name="office", run={"wait": wait, "fail": fail}[sys.argv[1]]), lambda: say("read again")
)
try:
    keeper.start()
except StartError as error:
    sys.exit(f"failed: {error}")
signal.signal(signal.SIGHUP, lambda *_: keeper.hang_up())
signal.signal(signal.SIGTERM, lambda *_: (keeper.stop(), say("all gone"), os._exit(0)))
say("carries traffic")
until_gone(keeper.lifeline)
say("keeper gone")
"""


@pytest.fixture
def carry():
    with programs.running(PROGRAM) as start:
        yield lambda office="wait": start(office)


def office_of(said):
    return int(re.findall(r"office is process (\d+)", said)[-1])


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


def test_the_office_is_there_before_traffic_is_carried_and_ends_after_it(carry):
    running = carry()
    assert "office is process" in lines_until(running, "carries traffic")
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=30)[0]
    assert said.index("office ends") < said.index("all gone")


def test_an_office_that_cannot_start_is_what_the_program_says(carry):
    running = carry("fail")
    assert "failed: the collection is on the moon" in running.communicate(timeout=30)[0]
    assert running.returncode == 1


def test_an_office_that_dies_is_replaced_and_traffic_goes_on(carry):
    running = carry()
    first = office_of(lines_until(running, "carries traffic"))
    os.kill(first, signal.SIGKILL)
    assert office_of(lines_until(running, "office is process")) != first
    assert running.poll() is None


def test_a_hang_up_has_the_settings_read_for_this_office_and_the_next(carry):
    running = carry()
    lines_until(running, "carries traffic")
    running.send_signal(signal.SIGHUP)
    assert "read again" in lines_until(running, "office hung up")


def test_when_who_carries_traffic_is_killed_the_office_ends_in_order(carry):
    running = carry()
    lines_until(running, "carries traffic")
    running.kill()
    assert "office ends" in running.communicate(timeout=30)[0]


def test_when_the_keeper_is_killed_all_others_hear_of_it(carry):
    running = carry()
    office = office_of(lines_until(running, "carries traffic"))
    os.kill(parent_of(office), signal.SIGKILL)
    said = running.communicate(timeout=30)[0]
    assert "office orphaned" in said
    assert "keeper gone" in said
