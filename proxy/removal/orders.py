"""Orders to remove pages, from a command to the running proxy: files in a folder of the data.

Only the running proxy can clear its memory and write the index. It holds a lock here and polls for orders. A
command that finds the lock free removes the page itself.
"""

import asyncio
import logging
import os
import secrets
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from proxy.errors import LinkmendError
from proxy.removal.remover import PageRemover, RemovalReport
from repair.errors import RepairError
from repair.locks import lock_alone
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.5
_MAX_WAIT_S = 300.0
_MAX_BYTES = 100_000


class RemovalOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A page to remove."""

    url: str
    from_log: bool = False


class RemovalResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an order: what was removed, or why it failed."""

    removed: RemovalReport | None = None
    problem: str = ""


class RemovalOrders:
    """The folder of orders. `answer_within_s` is how long a result may take to appear after its order is gone."""

    answer_within_s = 5.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock_file: int | None = None
        self._blind = RateLimitedLogger(log)
        self._watching: asyncio.Task[None] | None = None

    def has_running_proxy(self) -> bool:
        """Whether a running proxy polls for orders here."""
        if not self._lock():
            return True
        self._unlock()
        return False

    def submit(self, order: RemovalOrder) -> RemovalReport:
        """Have the running proxy carry out an order, and wait for the result. Raises LinkmendError."""
        name = secrets.token_hex(8)
        placed, answered = self._folder / f"{name}.order", self._folder / f"{name}.result"
        try:
            self._write(placed, msgspec.json.encode(order))
        except OSError as error:  # a full disk
            raise LinkmendError(f"{placed}: cannot write the removal order: {error.strerror}") from error
        self._wait_for(answered, placed)
        result = msgspec.json.decode(answered.read_bytes(), type=RemovalResult)
        answered.unlink()
        if result.removed is None:
            raise LinkmendError(result.problem)
        return result.removed

    def _wait_for(self, answered: Path, placed: Path) -> None:
        end = time.monotonic() + _MAX_WAIT_S
        taken_at: float | None = None
        while not answered.exists():
            if time.monotonic() > end or not self.has_running_proxy():
                placed.unlink(missing_ok=True)
                raise LinkmendError("the running proxy did not remove the page; stop it and try again")
            if taken_at is None and not placed.exists():
                taken_at = time.monotonic()
            if taken_at is not None and time.monotonic() - taken_at > self.answer_within_s:
                raise LinkmendError(
                    "the running proxy could not report the result; check whether the page is gone"
                )
            time.sleep(0.05)

    async def start(self, remover: PageRemover) -> None:
        """Carry out orders in this process from now on."""
        await remover.start()
        self._watching = asyncio.create_task(self._watch(remover))

    async def close(self) -> None:
        """Stop carrying out orders."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self, remover: PageRemover) -> None:
        try:
            while True:
                try:
                    if await asyncio.to_thread(self._lock):
                        for path in await asyncio.to_thread(self._waiting):
                            await self._carry_out(path, remover)
                except (
                    OSError
                ) as error:  # a full disk, or one that went read-only: the next look may do better
                    self._blind.warning("cannot read removal orders: %s", error)
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            self._unlock()

    async def _carry_out(self, path: Path, remover: PageRemover) -> None:
        try:
            order = await asyncio.to_thread(_read_order, path)
            result = RemovalResult(removed=await remover.remove(order.url, from_log=order.from_log))
        except (LinkmendError, RepairError, OSError, sqlite3.Error, msgspec.MsgspecError) as error:
            result = RemovalResult(problem=str(error))
        await asyncio.to_thread(self._answer, path, result)

    def _answer(self, order: Path, result: RemovalResult) -> None:
        with suppress(OSError):
            order.unlink(missing_ok=True)
            self._write(order.with_suffix(".result"), msgspec.json.encode(result))

    def _waiting(self) -> tuple[Path, ...]:
        return tuple(sorted(self._folder.glob("*.order")))

    def _write(self, path: Path, data: bytes) -> None:
        """Write atomically, so that nobody reads half an order."""
        fresh = path.with_name(path.name + ".new")
        try:
            fresh.write_bytes(data)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)

    def _lock(self) -> bool:
        if self._lock_file is not None:
            return True
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = lock_alone(self._folder / "lock")
        return self._lock_file is not None

    def _unlock(self) -> None:
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


def _read_order(path: Path) -> RemovalOrder:
    with path.open("rb") as file:
        return msgspec.json.decode(file.read(_MAX_BYTES), type=RemovalOrder)
