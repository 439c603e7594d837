"""The supervisor with processes that do next to nothing, in a program of its own: it forks and takes signals."""

import os
import re
import signal
import time

import pytest

from tests.unit.proxy.processes import programs
from tests.unit.proxy.processes.programs import lines_until

PROGRAM = """
import logging, os, select, signal, sys, time
from proxy.errors import StartError
from proxy.processes.workers import Role, Supervisor

logging.basicConfig(level="DEBUG", format="%(message)s", stream=sys.stderr)

def wait(station):
    signal.signal(signal.SIGHUP, lambda *_: say("hung up"))
    station.ready()
    select.select([station.lifeline], [], [])
    say("orphaned")

def say(text):
    os.write(1, f"{os.getpid()} {text}\\n".encode())

def fail(station):
    raise StartError("cannot listen on the moon")

def crash(station):
    station.ready()
    os._exit(3)

def deaf(station):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    station.ready()
    time.sleep(60)

def beat(station):
    station.ready()
    while not select.select([station.lifeline], [], [], 0.05)[0]:
        station.beat()

def hang(station):
    # The first stands still; whoever takes its place beats.
    first = not os.path.exists(sys.argv[4])
    open(sys.argv[4], "w").close()
    station.ready()
    station.beat()
    while not select.select([station.lifeline], [], [], 0.05)[0]:
        if not first:
            station.beat()

def stuck(station):
    # The first dies, the second never gets ready, whoever follows does.
    with open(sys.argv[4], "a") as begun:
        begun.write("x")
    before = os.path.getsize(sys.argv[4])
    if before == 2:
        time.sleep(60)
    station.ready()
    if before == 1:
        os._exit(3)
    say("at last")
    select.select([station.lifeline], [], [])

def late(station):
    while not os.path.exists(sys.argv[4]):
        time.sleep(0.02)
    wait(station)

def crash_once(station):
    first = not os.path.exists(sys.argv[4])
    open(sys.argv[4], "w").close()
    station.ready()
    if first:
        os._exit(3)
    say("at last")
    select.select([station.lifeline], [], [])

def no_fork(own=os.fork):
    os.fork = own
    raise BlockingIOError(11, "no process left")

def succeed():
    return [Role(name="another", run=wait)]

NAMED = {
    "wait": wait, "fail": fail, "crash": crash, "deaf": deaf, "hang": hang, "beat": beat,
    "stuck": stuck, "late": late, "crash once": crash_once,
}
office, worker, hangup = sys.argv[1:4]
supervisor = Supervisor(
    Role(name="office", run=NAMED[office]), [Role(name="worker", run=NAMED[worker])],
    grace_s=0.1, hang_timeout_s=float(os.environ.get("HANG_TIMEOUT_S", 60)),
)
supervisor.start_within_s = float(os.environ.get("START_WITHIN_S", 120))
try:
    supervisor.start()
except StartError as error:
    sys.exit(f"failed: {error}")
say("all ready")
if hangup == "no fork":
    os.fork = no_fork
supervisor.watch(succeed if hangup == "succeed" else lambda: say("asked again"))
supervisor.stop()
say("all gone")
"""


@pytest.fixture
def supervise(tmp_path):
    with programs.running(PROGRAM) as start:

        def begin(office="wait", worker="wait", hangup="tell", hang_timeout_s=60.0, start_within_s=120.0):
            limits = {"HANG_TIMEOUT_S": str(hang_timeout_s), "START_WITHIN_S": str(start_within_s)}
            return start(office, worker, hangup, tmp_path / "begun", **limits)

        yield begin


def test_all_are_started_and_stopped(supervise):
    running = supervise()
    lines_until(running, "all ready")
    running.send_signal(signal.SIGTERM)
    assert "all gone" in running.communicate(timeout=30)[0]
    assert running.returncode == 0


@pytest.mark.parametrize(("office", "worker"), [("fail", "wait"), ("wait", "fail")])
def test_what_one_says_that_cannot_start_is_what_the_supervisor_says(supervise, office, worker):
    running = supervise(office, worker)
    assert "failed: cannot listen on the moon" in running.communicate(timeout=30)[0]
    assert running.returncode == 1


def test_one_that_dies_again_and_again_is_started_less_and_less_often(supervise):
    running = supervise(worker="crash")
    said = "".join(lines_until(running, "again in") for _ in range(3))
    assert [float(pause) for pause in re.findall(r"again in ([\d.]+) s", said)] == [0.2, 0.5, 1.0]


def test_a_hang_up_reaches_all(supervise):
    running = supervise()
    lines_until(running, "all ready")
    running.send_signal(signal.SIGHUP)
    lines_until(running, "hung up")
    lines_until(running, "hung up")


def test_workers_that_take_over_are_there_before_the_old_ones_go(supervise):
    running = supervise(hangup="succeed")
    lines_until(running, "all ready")
    running.send_signal(signal.SIGHUP)
    lines_until(running, "another is process")
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=30)[0]
    assert "all gone" in said
    assert "ended" not in said


def test_without_their_supervisor_the_others_know(supervise):
    running = supervise()
    lines_until(running, "all ready")
    running.kill()
    assert running.communicate(timeout=30)[0].count("orphaned") == 2


def test_one_that_does_not_stop_is_killed(supervise):
    running = supervise(worker="deaf")
    lines_until(running, "all ready")
    running.send_signal(signal.SIGTERM)
    assert "do not stop: killed" in running.communicate(timeout=30)[0]
    assert running.returncode == 0


def test_one_that_stands_still_is_replaced_and_its_successor_left_alone(supervise):
    running = supervise(office="hang", worker="hang", hang_timeout_s=1.0)
    lines_until(running, "hangs: nothing heard of it for")
    lines_until(running, "again in")
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=30)[0]
    assert "all gone" in said
    assert "hangs" not in said


def test_nobody_is_blamed_when_all_stood_still_together(supervise):
    """As when a virtual machine is paused."""
    running = supervise(office="beat", worker="beat", hang_timeout_s=2.0)
    said = lines_until(running, "all ready")
    pids = [running.pid, *map(int, re.findall(r"is process (\d+)", said))]
    for pid in reversed(pids):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(5)  # longer than anybody may be silent
    os.kill(pids[0], signal.SIGCONT)
    for _ in range(2):  # it has looked at them when it is done with the first
        running.send_signal(signal.SIGHUP)
        lines_until(running, "asked again")
    for pid in pids[1:]:
        os.kill(pid, signal.SIGCONT)
    running.send_signal(signal.SIGTERM)
    assert "hangs" not in running.communicate(timeout=30)[0]


def test_a_successor_that_never_gets_ready_is_replaced_too(supervise):
    running = supervise(worker="stuck", hang_timeout_s=2.0, start_within_s=3.0)
    lines_until(running, "hangs: nothing heard of it for")
    lines_until(running, "at last")


def test_when_nobody_can_be_started_the_others_go_on_and_it_is_tried_again(supervise):
    running = supervise(worker="crash once", hangup="no fork")
    lines_until(running, "worker cannot be started: no process left")
    lines_until(running, "at last")


def test_settings_are_read_again_when_that_was_asked_during_the_start(supervise, tmp_path):
    running = supervise(worker="late")
    lines_until(running, "worker is process")
    running.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    (tmp_path / "begun").touch()
    lines_until(running, "asked again")
