"""Several processes as one program: an office and workers, started, watched, replaced and stopped together.

The supervisor carries no traffic and has no threads, so that it may fork whenever a process has to be replaced: the
new one has everything imported and comes up in a moment. It holds the listening sockets and the end of a pipe whose
other end every process watches: when the supervisor is gone, whatever the reason, the others end as well.

Each process beats like a heart: its event loop writes a byte every few seconds. One whose loop stands still is worse
than dead, since nobody takes its place; so after a generous while it is killed and replaced. Time is that of a clock
which stands still while the machine sleeps, and when the supervisor itself came late (a paused virtual machine, a box
that swaps) nobody is blamed for it.
"""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from proxy.errors import LinkmendError, StartError
from proxy.store.ballast import Ballast
from repair.errors import RepairError

log = logging.getLogger(__name__)

_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})
_READY = b"\0"
_BEAT = b"\1"
BEAT_EVERY_S = 2.0
_LOOK_AT_HEARTS_S = 5.0
_LATE_S = 2.0  # by so much the supervisor may itself be late before that counts for all
_START_S = 120.0  # a large store may have to be looked through first
_LOOK_S = 0.02
_WANTED_S = 1.0
_SOUND_S = 10.0  # who lived as long did not fail at the start
_PAUSE_S = 0.25
_MOST_PAUSE_S = 30.0
_OFFICE_S = 30.0
_BEYOND_GRACE_S = 5.0


class Stopped(Exception):
    """The supervisor was told to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """What a process has of its supervisor. `lifeline` can be read once that is gone; `beat` is to be called every
    `BEAT_EVERY_S` from the loop that does the work."""

    lifeline: int
    ready: Callable[[], None]
    beat: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a process is called and does: `run` returns when it was told to stop, and may raise LinkmendError."""

    name: str
    run: Callable[[Station], None]


@dataclass(slots=True, kw_only=True)
class _Child:
    role: Role
    pid: int
    status: int
    since: float = field(default_factory=time.monotonic)
    said: bytes = b""
    failures: int = 0
    beat_at: float = field(default_factory=time.monotonic)

    def is_ready(self) -> bool:
        self._listen()
        return self.said.startswith(_READY)

    def last_words(self) -> str:
        self._listen()
        return self.said.removeprefix(_READY).decode("utf-8", "replace")

    def silent_s(self, now: float) -> float:
        """How long ago its heart was last heard; while it is not ready, how long ago it was begun."""
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
                self.said += heard.replace(_BEAT, b"")


def are_possible() -> bool:
    """Whether this system has what the supervisor needs."""
    return hasattr(os, "fork") and hasattr(signal, "sigtimedwait")


class Supervisor:
    """Runs one office and its workers until it is told to stop. Each may take `start_within_s` to be ready."""

    start_within_s = _START_S

    def __init__(
        self,
        office: Role,
        workers: Sequence[Role],
        *,
        grace_s: float,
        hang_timeout_s: float = 0.0,
        room: Ballast | None = None,
    ) -> None:
        """Who does not beat for `hang_timeout_s` is replaced (0: never); `room` is let go before anybody starts."""
        self._hang_timeout_s = hang_timeout_s
        self._look_s = min(_LOOK_AT_HEARTS_S, hang_timeout_s / 4) if hang_timeout_s > 0 else _LOOK_AT_HEARTS_S
        self._room = room
        self._looked_at = time.monotonic()
        self._office_role = office
        self._worker_roles = tuple(workers)
        self._grace_s = grace_s
        self._office: dict[int, _Child] = {}
        self._workers: dict[int, _Child] = {}
        self._leaving: dict[int, float] = {}  # when to end those who do not go
        self._due: list[tuple[float, Role, int]] = []
        self._hung_up = False
        """SIGHUP came when nobody could be told."""
        self._lifeline, self._held = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def start(self) -> None:
        """Start all, each when it can. Raises StartError with what one of them said, or Stopped."""
        try:
            self._all_ready([self._begin(self._office_role, self._office)])
            # One before the rest: it makes the certificate authority, and whatever else is made once.
            for roles in (self._worker_roles[:1], self._worker_roles[1:]):
                self._all_ready([self._begin(role, self._workers) for role in roles])
        except BaseException:
            self.stop()
            raise

    def watch(
        self,
        on_hangup: Callable[[], Sequence[Role] | None],
        *,
        is_wanted: Callable[[], bool] | None = None,
    ) -> None:
        """Replace who dies, until SIGTERM or SIGINT, or until `is_wanted`, asked every second, says no.

        On SIGHUP `on_hangup` says which workers take the place of those there are; None: they are told of it too.
        """
        most_s = self._look_s if is_wanted is None else _WANTED_S
        with contextlib.suppress(Stopped):
            while is_wanted is None or is_wanted():
                patience_s = 0.0 if self._hung_up else min(self._patience_s(), most_s)
                if _told(patience_s) == signal.SIGHUP or self._hung_up:
                    self._hung_up = False
                    self._hang_up(on_hangup)
                self._reap()
                self._begin_due()
                self._end_hung()
                self._hold_room()
        log.info("stopping: %d workers", len(self._workers))

    def stop(self) -> None:
        """Workers first, so that the office hears the last of them."""
        self._due.clear()
        self._end(self._workers, wait_s=self._grace_s + _BEYOND_GRACE_S)
        self._end(self._office, wait_s=_OFFICE_S)

    # Starting

    def _begin(self, role: Role, among: dict[int, _Child], *, failures: int = 0) -> _Child:
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
            self._become(role, saying)
        os.close(saying)
        child = among[pid] = _Child(role=role, pid=pid, status=status, failures=failures)
        log.debug("%s is process %d", role.name, pid)
        return child

    def _become(self, role: Role, saying: int) -> NoReturn:
        code = 1
        try:
            os.close(self._held)
            for signum in _SIGNALS:
                signal.signal(signum, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until somebody takes it
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # a terminal's goes to all: the supervisor says who stops when
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            role.run(
                Station(
                    lifeline=self._lifeline,
                    ready=lambda: _say(saying, _READY),
                    beat=lambda: _say(saying, _BEAT),
                )
            )
            code = 0
        except (LinkmendError, RepairError) as error:
            _say(saying, str(error).encode("utf-8", "replace"))
        except BaseException:  # the process ends here, and must not go on as its parent
            log.exception("%s failed", role.name)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _all_ready(self, children: Sequence[_Child]) -> None:
        end = time.monotonic() + self.start_within_s
        for child in children:
            while not child.is_ready():
                self._hung_up |= _told(_LOOK_S) == signal.SIGHUP
                if _has_ended(child.pid):
                    self._forget(child)
                    if not child.is_ready():
                        raise StartError(child.last_words() or f"{child.role.name} ended at its start")
                    self._replace(child)
                if time.monotonic() > end:
                    raise StartError(f"{child.role.name} did not start within {self.start_within_s:.0f} s")

    # Watching

    def _patience_s(self) -> float:
        moments = [moment for moment, *_ in self._due] + list(self._leaving.values())
        return min((self._look_s, *(max(0.0, moment - time.monotonic()) for moment in moments)))

    def _children(self) -> tuple[_Child, ...]:
        return (*self._office.values(), *self._workers.values())

    def _end_hung(self) -> None:
        """Kill who does not beat any more: `_reap` has somebody else in its place."""
        now = time.monotonic()
        late_s = now - self._looked_at - self._look_s
        self._looked_at = now
        for child in self._children():
            if late_s > _LATE_S:
                child.beat_at += late_s
            if self._hang_timeout_s <= 0 or child.pid in self._leaving:
                continue
            silent_s = child.silent_s(now)
            if silent_s > (self._hang_timeout_s if child.is_ready() else self.start_within_s):
                log.error(
                    "%s (process %d) hangs: nothing heard of it for %.0f s",
                    child.role.name,
                    child.pid,
                    silent_s,
                )
                _send(child.pid, signal.SIGKILL)
                child.beat_at = child.since = now  # it takes a moment to die

    def _hold_room(self) -> None:
        if self._room is not None and not self._due and all(child.is_ready() for child in self._children()):
            self._room.hold()

    def _reap(self) -> None:
        for child in self._children():
            if _has_ended(child.pid):
                self._forget(child)
                if child.pid not in self._leaving:
                    self._replace(child)
                self._leaving.pop(child.pid, None)
        now = time.monotonic()
        for pid in [pid for pid, until in self._leaving.items() if until <= now]:
            self._leaving[pid] = float("inf")
            _send(pid, signal.SIGKILL)

    def _replace(self, child: _Child) -> None:
        sound = time.monotonic() - child.since >= _SOUND_S
        failures = 0 if sound else child.failures + 1
        pause_s = 0.0 if sound else _pause_s(failures)
        why = child.last_words() or "without a word"
        log.error("%s (process %d) ended: %s; again in %.1f s", child.role.name, child.pid, why, pause_s)
        self._due.append((time.monotonic() + pause_s, child.role, failures))

    def _begin_due(self) -> None:
        now = time.monotonic()
        due, self._due = (
            [each for each in self._due if each[0] <= now],
            [each for each in self._due if each[0] > now],
        )
        for _, role, failures in due:
            among = self._office if role is self._office_role else self._workers
            try:
                self._begin(role, among, failures=failures)
            except OSError as error:  # no memory, no process left: those there are must not suffer for it
                pause_s = _pause_s(failures + 1)
                log.error("%s cannot be started: %s; again in %.1f s", role.name, error.strerror, pause_s)
                self._due.append((now + pause_s, role, failures + 1))

    def _hang_up(self, on_hangup: Callable[[], Sequence[Role] | None]) -> None:
        try:
            following = on_hangup()
        except LinkmendError as error:
            log.error("settings not reloaded, the old ones stay: %s", error)
            return
        if following is not None:
            self._succeed(following)
        for pid in (*self._office, *self._workers):
            if pid not in self._leaving:
                _send(pid, signal.SIGHUP)

    def _succeed(self, following: Sequence[Role]) -> None:
        """New workers beside the old ones, which then finish what they are at and go."""
        old = tuple(self._workers)
        self._due = [each for each in self._due if each[1] is self._office_role]
        self._worker_roles = tuple(following)
        begun = [self._begin(role, self._workers) for role in following]
        try:
            self._all_ready(begun)
        except StartError as error:
            log.error("a new worker did not start: %s", error)
            gone = [child for child in begun if child.pid not in self._workers]
            self._due.extend((time.monotonic() + _PAUSE_S, child.role, 1) for child in gone)
        for pid in old:
            self._leaving[pid] = time.monotonic() + self._grace_s + _BEYOND_GRACE_S
            _send(pid, signal.SIGTERM)

    # Stopping

    def _end(self, children: dict[int, _Child], *, wait_s: float) -> None:
        for pid in children:
            _send(pid, signal.SIGTERM)
        end = time.monotonic() + wait_s
        while children:
            for child in [child for child in children.values() if _has_ended(child.pid)]:
                self._forget(child)
            if children and time.monotonic() > end:
                log.error("%d processes do not stop: killed", len(children))
                for pid in children:
                    _send(pid, signal.SIGKILL)
                end = float("inf")
            if children:
                signal.sigtimedwait({signal.SIGCHLD}, _LOOK_S)

    def _forget(self, child: _Child) -> None:
        child.close()
        self._office.pop(child.pid, None)
        self._workers.pop(child.pid, None)


def _pause_s(failures: int) -> float:
    """How long to wait before the next try after so many that failed."""
    return float(min(_PAUSE_S * 2 ** min(failures - 1, 20), _MOST_PAUSE_S))


def _told(patience_s: float) -> int | None:
    """The signal that came, if one did in this time. Raises Stopped for those that mean it."""
    told = signal.sigtimedwait(_SIGNALS, patience_s)
    if told is not None and told.si_signo in (signal.SIGTERM, signal.SIGINT):
        raise Stopped
    return told.si_signo if told is not None else None


def _say(saying: int, words: bytes) -> None:
    with contextlib.suppress(OSError):
        os.write(saying, words)


def _send(pid: int, signum: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signum)


def _has_ended(pid: int) -> bool:
    """Whether a child has; it is gone then, and its number may be another's."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
