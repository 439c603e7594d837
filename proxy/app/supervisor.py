"""Child processes as one program: the backend and the workers are started, watched, replaced and stopped together.

The supervisor carries no traffic and has no threads, so that it may fork whenever a process has to be replaced: the
new one has everything imported and comes up in a moment. It holds the listening sockets and the end of a pipe whose
other end every child watches: when the supervisor is gone, whatever the reason, the children stop as well.

The event loop of each child writes a heartbeat every few seconds. A child whose loop hangs is worse than a dead one,
since nothing takes its place; so after `hang_timeout_s` it is killed and replaced. Time is that of a clock which
stands still while the machine sleeps, and when the supervisor itself was late (a paused virtual machine, a box that
swaps) no child is blamed for it.
"""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from proxy.errors import LinkmendError, StartError
from proxy.store.reserve import DiskReserve
from repair.errors import RepairError

log = logging.getLogger(__name__)

_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})
_READY = b"\0"
_HEARTBEAT = b"\1"
HEARTBEAT_S = 2.0
_CHECK_S = 5.0
_LATE_S = 2.0  # by so much the supervisor may itself be late before that counts for all
_START_S = 120.0  # a large store may have to be looked through first
_POLL_S = 0.02
_SOUND_S = 10.0  # a child that lived as long did not fail at the start
_PAUSE_S = 0.25
_MOST_PAUSE_S = 30.0
_BACKEND_STOP_S = 30.0
_BEYOND_GRACE_S = 5.0


class StopRequested(Exception):
    """The supervisor received SIGTERM or SIGINT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildContext:
    """What a child has of its supervisor.

    `lifeline` can be read once the supervisor is gone; `ready` tells where the child listens, if it does by itself;
    `beat` is to be called every `HEARTBEAT_S` from the loop that does the work.
    """

    lifeline: int
    ready: Callable[[str], None]
    beat: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """What a child is called and does: `run` returns when it was told to stop, and may raise LinkmendError."""

    name: str
    run: Callable[[ChildContext], None]


@dataclass(slots=True, kw_only=True)
class _Child:
    spec: ProcessSpec
    pid: int
    status: int
    failures: int = 0
    since: float = field(default_factory=time.monotonic)
    beat_at: float = field(default_factory=time.monotonic)
    kill_at: float | None = None
    """When it is to be killed, of a child that was told to stop."""
    output: bytes = b""

    def is_ready(self) -> bool:
        self._listen()
        return self.output.startswith(_READY)

    def address(self) -> str:
        """Where it listens, as it said when it was ready."""
        return self.output.removeprefix(_READY).partition(b"\n")[0].decode() if self.is_ready() else ""

    def last_words(self) -> str:
        words = self.output.partition(b"\n")[2] if self.is_ready() else self.output
        return words.decode("utf-8", "replace")

    def silent_s(self, now: float) -> float:
        """How long ago its last heartbeat was; while it is not ready, how long ago it was started."""
        return now - (self.beat_at if self.is_ready() else self.since)

    def close(self) -> None:
        self._listen()
        os.close(self.status)
        self.status = -1

    def _listen(self) -> None:
        if self.status >= 0:
            with contextlib.suppress(BlockingIOError):
                heard = os.read(self.status, 65_536)
                if heard:
                    self.beat_at = time.monotonic()
                self.output += heard.replace(_HEARTBEAT, b"")


def is_supported() -> bool:
    """Whether this system has what the supervisor needs."""
    return hasattr(os, "fork") and hasattr(signal, "sigtimedwait")


class Supervisor:
    """Runs the backend and its workers until it is told to stop. Each may take `start_within_s` to be ready."""

    start_within_s = _START_S

    def __init__(
        self,
        backend: ProcessSpec,
        workers: Sequence[ProcessSpec],
        *,
        grace_s: float,
        hang_timeout_s: float = 0.0,
        room: DiskReserve | None = None,
    ) -> None:
        """A child silent for `hang_timeout_s` is replaced (0: never). `room` is freed before each start."""
        self._hang_timeout_s = hang_timeout_s
        self._check_s = min(_CHECK_S, hang_timeout_s / 4) if hang_timeout_s > 0 else _CHECK_S
        self._room = room
        self._checked_at = time.monotonic()
        self._backend = backend
        self._workers = tuple(workers)
        self._grace_s = grace_s
        self._children: dict[int, _Child] = {}
        self._due: list[tuple[float, ProcessSpec, int]] = []
        """When to start what again, and how often it failed before."""
        self._reload_wanted = False
        self._lifeline, self._held = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def start(self) -> str:
        """Start all; where the first worker listens. Raises StartError with a child's output, or StopRequested."""
        try:
            self._wait_ready([self._fork(self._backend)])
            # One before the rest: it makes the certificate authority, and whatever else is made once.
            first = [self._fork(spec) for spec in self._workers[:1]]
            self._wait_ready(first)
            self._wait_ready([self._fork(spec) for spec in self._workers[1:]])
        except BaseException:
            self.stop()
            raise
        return first[0].address() if first else ""

    def watch(self, on_reload: Callable[[], Sequence[ProcessSpec] | None]) -> None:
        """Replace children that die or hang, until SIGTERM or SIGINT.

        On SIGHUP `on_reload` says which workers take the place of those there are; None: the same, which are told.
        """
        with contextlib.suppress(StopRequested):
            while True:
                if _next_signal(0.0 if self._reload_wanted else self._pause_s()) == signal.SIGHUP:
                    self._reload_wanted = True
                if self._reload_wanted:
                    self._reload_wanted = False
                    self._reload(on_reload)
                self._reap()
                self._start_due()
                self._kill_hung()
                self._hold_room()
        log.info("stopping: %d workers", len(self._of(self._workers)))

    def stop(self) -> None:
        """Stop the workers first, so that the backend gets the last that they have to say."""
        self._due.clear()
        backend = self._of((self._backend,))
        others = [child for child in self._children.values() if child not in backend]
        self._end(others, wait_s=self._grace_s + _BEYOND_GRACE_S)
        self._end(backend, wait_s=_BACKEND_STOP_S)

    def _of(self, specs: Iterable[ProcessSpec]) -> list[_Child]:
        wanted = tuple(specs)
        return [child for child in self._children.values() if child.spec in wanted]

    # Starting

    def _fork(self, spec: ProcessSpec, *, failures: int = 0) -> _Child:
        if self._room is not None:
            self._room.release()
        status, saying = os.pipe()
        os.set_blocking(status, False)
        os.set_blocking(saying, False)
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError:
            os.close(status)
            os.close(saying)
            raise
        if pid == 0:
            self._run_child(spec, saying)
        os.close(saying)
        child = self._children[pid] = _Child(spec=spec, pid=pid, status=status, failures=failures)
        log.debug("%s is process %d", spec.name, pid)
        return child

    def _run_child(self, spec: ProcessSpec, saying: int) -> NoReturn:
        code = 1
        try:
            os.close(self._held)
            for signum in _SIGNALS:
                signal.signal(signum, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the child handles it
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's goes to all: the supervisor decides
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            spec.run(
                ChildContext(
                    lifeline=self._lifeline,
                    ready=lambda address: _say(saying, _READY + address.encode() + b"\n"),
                    beat=lambda: _say(saying, _HEARTBEAT),
                )
            )
            code = 0
        except (LinkmendError, RepairError) as error:
            _say(saying, str(error).encode("utf-8", "replace"))
        except BaseException:  # the process ends here, and must not go on as its parent
            log.exception("%s failed", spec.name)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _wait_ready(self, children: Sequence[_Child]) -> None:
        end = time.monotonic() + self.start_within_s
        for child in children:
            while not child.is_ready():
                self._reload_wanted |= _next_signal(_POLL_S) == signal.SIGHUP
                if _has_ended(child.pid):
                    self._forget(child)
                    if not child.is_ready():
                        raise StartError(child.last_words() or f"{child.spec.name} ended at its start")
                    self._replace(child)
                if time.monotonic() > end:
                    raise StartError(f"{child.spec.name} did not start within {self.start_within_s:.0f} s")

    # Watching

    def _pause_s(self) -> float:
        """How long there is nothing to do, unless a signal comes."""
        moments = [moment for moment, *_ in self._due]
        moments += [child.kill_at for child in self._children.values() if child.kill_at is not None]
        return min((self._check_s, *(max(0.0, moment - time.monotonic()) for moment in moments)))

    def _kill_hung(self) -> None:
        """Kill children without heartbeat: `_reap` has them replaced."""
        now = time.monotonic()
        late_s = now - self._checked_at - self._check_s
        self._checked_at = now
        for child in self._children.values():
            if late_s > _LATE_S:
                child.beat_at += late_s
            if self._hang_timeout_s <= 0 or child.kill_at is not None:
                continue
            silent_s = child.silent_s(now)
            if silent_s > (self._hang_timeout_s if child.is_ready() else self.start_within_s):
                log.error(
                    "%s (process %d) hangs: no heartbeat for %.0f s", child.spec.name, child.pid, silent_s
                )
                _send(child.pid, signal.SIGKILL)
                child.beat_at = child.since = now  # it takes a moment to die

    def _hold_room(self) -> None:
        ready = not self._due and all(child.is_ready() for child in self._children.values())
        if self._room is not None and ready:
            self._room.hold()

    def _reap(self) -> None:
        for child in tuple(self._children.values()):
            if _has_ended(child.pid):
                self._forget(child)
                if child.kill_at is None:
                    self._replace(child)
            elif child.kill_at is not None and child.kill_at <= time.monotonic():
                child.kill_at = float("inf")
                _send(child.pid, signal.SIGKILL)

    def _replace(self, child: _Child) -> None:
        is_sound = time.monotonic() - child.since >= _SOUND_S
        failures = 0 if is_sound else child.failures + 1
        pause_s = 0.0 if is_sound else _retry_s(failures)
        why = child.last_words() or "no reason given"
        log.error("%s (process %d) ended: %s; again in %.1f s", child.spec.name, child.pid, why, pause_s)
        self._due.append((time.monotonic() + pause_s, child.spec, failures))

    def _start_due(self) -> None:
        now = time.monotonic()
        due = [each for each in self._due if each[0] <= now]
        self._due = [each for each in self._due if each[0] > now]
        for _, spec, failures in due:
            try:
                self._fork(spec, failures=failures)
            except OSError as error:  # no memory, no process left: the other children must not suffer for it
                pause_s = _retry_s(failures + 1)
                log.error("%s cannot be started: %s; again in %.1f s", spec.name, error.strerror, pause_s)
                self._due.append((now + pause_s, spec, failures + 1))

    def _reload(self, on_reload: Callable[[], Sequence[ProcessSpec] | None]) -> None:
        try:
            following = on_reload()
        except LinkmendError as error:
            log.error("settings not reloaded, the old ones stay: %s", error)
            return
        if following is not None:
            self._succeed(following)
        for child in self._children.values():
            if child.kill_at is None:
                _send(child.pid, signal.SIGHUP)

    def _succeed(self, following: Sequence[ProcessSpec]) -> None:
        """Start new workers beside the old ones, which then drain and end."""
        old = self._of(self._workers)
        self._due = [each for each in self._due if each[1] is self._backend]
        self._workers = tuple(following)
        started = [self._fork(spec) for spec in following]
        try:
            self._wait_ready(started)
        except StartError as error:
            log.error("a new worker did not start: %s", error)
            gone = [child for child in started if child.pid not in self._children]
            self._due.extend((time.monotonic() + _PAUSE_S, child.spec, 1) for child in gone)
        for child in old:
            child.kill_at = time.monotonic() + self._grace_s + _BEYOND_GRACE_S
            _send(child.pid, signal.SIGTERM)

    # Stopping

    def _end(self, children: list[_Child], *, wait_s: float) -> None:
        for child in children:
            _send(child.pid, signal.SIGTERM)
        end = time.monotonic() + wait_s
        while children:
            for child in [child for child in children if _has_ended(child.pid)]:
                self._forget(child)
                children.remove(child)
            if children and time.monotonic() > end:
                log.error("%d processes do not stop: killed", len(children))
                for child in children:
                    _send(child.pid, signal.SIGKILL)
                end = float("inf")
            if children:
                signal.sigtimedwait({signal.SIGCHLD}, _POLL_S)

    def _forget(self, child: _Child) -> None:
        child.close()
        self._children.pop(child.pid, None)


def _retry_s(failures: int) -> float:
    """How long to wait before the next try after so many that failed."""
    return float(min(_PAUSE_S * 2 ** min(failures - 1, 20), _MOST_PAUSE_S))


def _next_signal(within_s: float) -> int | None:
    """The signal that came, if one did in this time. Raises StopRequested for SIGTERM and SIGINT."""
    received = signal.sigtimedwait(_SIGNALS, within_s)
    if received is not None and received.si_signo in (signal.SIGTERM, signal.SIGINT):
        raise StopRequested
    return received.si_signo if received is not None else None


def _say(saying: int, words: bytes) -> None:
    with contextlib.suppress(OSError):
        os.write(saying, words)


def _send(pid: int, signum: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signum)


def _has_ended(pid: int) -> bool:
    """Whether a child has ended; it is gone then, and its number may be another's."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
