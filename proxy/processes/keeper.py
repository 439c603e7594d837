"""An office beside the one process that carries traffic, kept by a third: it starts it, and anew when it dies.

A process that carries traffic has threads and may not fork. So it forks once, at its very start, and the process made
then does nothing but watch over the office. It costs next to no memory: everything it has, it shares.
"""

import contextlib
import logging
import os
import signal
from collections.abc import Callable
from typing import NoReturn

from proxy.errors import LinkmendError, StartError
from proxy.processes.workers import Role, Stopped, Supervisor

log = logging.getLogger(__name__)

_READY = b"\0"


class Keeper:
    """Keeps an office. To be started before there is a thread."""

    def __init__(self, office: Role, on_hangup: Callable[[], None], *, hang_timeout_s: float = 0.0) -> None:
        """On SIGHUP `on_hangup` is called in the keeper, then the office hears of it; it may raise LinkmendError.

        An office that does not beat for `hang_timeout_s` is replaced (0: never).
        """
        self._office = office
        self._on_hangup = on_hangup
        self._hang_timeout_s = hang_timeout_s
        self._pid = 0
        self.lifeline = -1
        """Can be read once the keeper is gone."""

    def start(self) -> None:
        """Fork, and wait for the office. Raises StartError with what it said."""
        parent = os.getpid()
        self.lifeline, saying = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self.lifeline)
            self._keep(parent, saying)
        os.close(saying)
        said = os.read(self.lifeline, 4096)
        if said != _READY:
            os.waitpid(self._pid, 0)
            raise StartError(said.decode("utf-8", "replace") or "the office ended at its start")

    def hang_up(self) -> None:
        """Have the settings read again."""
        self._send(signal.SIGHUP)

    def stop(self) -> None:
        """End the office, once it has heard all, and wait for it."""
        self._send(signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self.lifeline)

    def _send(self, signum: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signum)

    def _keep(self, parent: int, saying: int) -> NoReturn:
        code = 1
        try:
            # A terminal's SIGINT is not for us: who carries traffic says when it has finished.
            os.setpgid(0, 0)
            supervisor = Supervisor(self._office, (), grace_s=0.0, hang_timeout_s=self._hang_timeout_s)
            with contextlib.suppress(Stopped):
                supervisor.start()
                os.write(saying, _READY)
                supervisor.watch(self._hung_up, is_wanted=lambda: os.getppid() == parent)
                supervisor.stop()
            code = 0
        except LinkmendError as error:
            with contextlib.suppress(OSError):
                os.write(saying, str(error).encode("utf-8", "replace"))
        except BaseException:  # the process ends here, and must not go on as its parent
            log.exception("the keeper of the office failed")
        finally:
            os._exit(code)

    def _hung_up(self) -> None:
        self._on_hangup()
