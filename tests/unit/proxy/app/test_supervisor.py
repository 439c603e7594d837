"""The supervisor with processes that do next to nothing, in a program of its own: it forks and takes signals."""

import os
import re
import signal
import time

import pytest

from tests.unit.proxy.app import programs
from tests.unit.proxy.app.programs import lines_until

pytestmark = pytest.mark.slow

PROGRAM = """
import logging, os, select, signal, sys, time
from proxy.errors import StartError
from proxy.app.supervisor import ProcessSpec, Supervisor

logging.basicConfig(level="DEBUG", format="%(message)s", stream=sys.stderr)

def wait(context):
    signal.signal(signal.SIGHUP, lambda *_: say("reloads"))
    context.ready("")
    select.select([context.lifeline], [], [])
    say("orphaned")

def listen(context):
    context.ready("127.0.0.1:8080")
    select.select([context.lifeline], [], [])

def say(text):
    os.write(1, f"{os.getpid()} {text}\\n".encode())

def fail(context):
    raise StartError("cannot listen on the moon")

def crash(context):
    context.ready("")
    os._exit(3)

def deaf(context):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.ready("")
    time.sleep(60)

def beat(context):
    context.ready("")
    while not select.select([context.lifeline], [], [], 0.05)[0]:
        context.beat()

def hang(context):
    # The first stands still; whoever takes its place beats.
    first = not os.path.exists(sys.argv[4])
    open(sys.argv[4], "w").close()
    context.ready("")
    context.beat()
    while not select.select([context.lifeline], [], [], 0.05)[0]:
        if not first:
            context.beat()

def stuck(context):
    # The first dies, the second never gets ready, whoever follows does.
    with open(sys.argv[4], "a") as begun:
        begun.write("x")
    before = os.path.getsize(sys.argv[4])
    if before == 2:
        time.sleep(60)
    context.ready("")
    if before == 1:
        os._exit(3)
    say("at last")
    select.select([context.lifeline], [], [])

def late(context):
    while not os.path.exists(sys.argv[4]):
        time.sleep(0.02)
    wait(context)

def crash_once(context):
    first = not os.path.exists(sys.argv[4])
    open(sys.argv[4], "w").close()
    context.ready("")
    if first:
        os._exit(3)
    say("at last")
    select.select([context.lifeline], [], [])

def no_fork(own=os.fork):
    os.fork = own
    raise BlockingIOError(11, "no process left")

def succeed():
    return [ProcessSpec(name="another", run=wait)]

NAMED = {
    "wait": wait, "listen": listen, "fail": fail, "crash": crash, "deaf": deaf, "hang": hang, "beat": beat,
    "stuck": stuck, "late": late, "crash once": crash_once,
}
backend, worker, reload = sys.argv[1:4]
supervisor = Supervisor(
    ProcessSpec(name="backend", run=NAMED[backend]), [ProcessSpec(name="worker", run=NAMED[worker])],
    grace_s=0.1, hang_timeout_s=float(os.environ.get("HANG_TIMEOUT_S", 60)),
)
supervisor.start_within_s = float(os.environ.get("START_WITHIN_S", 120))
try:
    address = supervisor.start()
except StartError as error:
    sys.exit(f"failed: {error}")
say(f"all ready {address}")
if reload == "no fork":
    os.fork = no_fork
supervisor.watch(succeed if reload == "succeed" else lambda: say("reads again"))
supervisor.stop()
say("all gone")
"""


@pytest.fixture
def supervise(tmp_path):
    with programs.running(PROGRAM) as start:

        def begin(backend="wait", worker="wait", reload="tell", hang_timeout_s=60.0, start_within_s=120.0):
            limits = {"HANG_TIMEOUT_S": str(hang_timeout_s), "START_WITHIN_S": str(start_within_s)}
            return start(backend, worker, reload, tmp_path / "begun", **limits)

        yield begin


def test_all_are_started_and_stopped(supervise):
    running = supervise()
    lines_until(running, "all ready")
    running.send_signal(signal.SIGTERM)
    assert "all gone" in running.communicate(timeout=30)[0]
    assert running.returncode == 0


def test_a_worker_that_opens_its_own_socket_tells_where_it_listens(supervise):
    running = supervise(worker="listen")
    assert "all ready 127.0.0.1:8080\n" in lines_until(running, "all ready")


@pytest.mark.parametrize(("backend", "worker"), [("fail", "wait"), ("wait", "fail")])
def test_what_one_says_that_cannot_start_is_what_the_supervisor_says(supervise, backend, worker):
    running = supervise(backend, worker)
    assert "failed: cannot listen on the moon" in running.communicate(timeout=30)[0]
    assert running.returncode == 1


def test_one_that_dies_again_and_again_is_started_less_and_less_often(supervise):
    running = supervise(worker="crash")
    said = "".join(lines_until(running, "again in") for _ in range(3))
    assert [float(pause) for pause in re.findall(r"again in ([\d.]+) s", said)] == [0.2, 0.5, 1.0]


def test_a_reload_reaches_all(supervise):
    running = supervise()
    lines_until(running, "all ready")
    running.send_signal(signal.SIGHUP)
    lines_until(running, "reloads")
    lines_until(running, "reloads")


def test_workers_that_take_over_are_there_before_the_old_ones_go(supervise):
    running = supervise(reload="succeed")
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
    running = supervise(backend="hang", worker="hang", hang_timeout_s=1.0)
    lines_until(running, "hangs: no heartbeat for")
    lines_until(running, "again in")
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=30)[0]
    assert "all gone" in said
    assert "hangs" not in said


def test_nobody_is_blamed_when_all_stood_still_together(supervise):
    """As when a virtual machine is paused."""
    running = supervise(backend="beat", worker="beat", hang_timeout_s=2.0)
    said = lines_until(running, "all ready")
    pids = [running.pid, *map(int, re.findall(r"is process (\d+)", said))]
    for pid in reversed(pids):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(5)  # longer than anybody may be silent
    os.kill(pids[0], signal.SIGCONT)
    for _ in range(2):  # it has looked at them when it is done with the first
        running.send_signal(signal.SIGHUP)
        lines_until(running, "reads again")
    for pid in pids[1:]:
        os.kill(pid, signal.SIGCONT)
    running.send_signal(signal.SIGTERM)
    assert "hangs" not in running.communicate(timeout=30)[0]


def test_a_successor_that_never_gets_ready_is_replaced_too(supervise):
    running = supervise(worker="stuck", hang_timeout_s=2.0, start_within_s=3.0)
    lines_until(running, "hangs: no heartbeat for")
    lines_until(running, "at last")


def test_when_nobody_can_be_started_the_others_go_on_and_it_is_tried_again(supervise):
    running = supervise(worker="crash once", reload="no fork")
    lines_until(running, "worker cannot be started: no process left")
    lines_until(running, "at last")


def test_settings_are_read_again_when_that_was_asked_during_the_start(supervise, tmp_path):
    running = supervise(worker="late")
    lines_until(running, "worker is process")
    running.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    (tmp_path / "begun").touch()
    lines_until(running, "reads again")
