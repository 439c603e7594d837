"""What happens while the class browses: each kind of trouble, drawn from the seed, counted."""

import asyncio
import contextlib
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.badly import WAYS
from tests.chaos.promises import Promises
from tests.chaos.school import School
from tests.chaos.site import Site
from tests.integration.processes import DEMO, linkmend

_FORBIDDEN = '[[rule]]\nname = "exam"\nurl = "*/forbidden/*"\naction = "block"\nreason = "Edit {edit}"\n'
_BROKEN = ('[[rule]]\naction = "perhaps"\n', "[[rule", "\0\0", "[[rule]]\nurl = 7\n")
# One after the other, so that what was promised can be told, and ports are free again.
_ONE_AT_A_TIME = {"kill_proxy", "stop_proxy", "kill_squid", "fill_disk", "command", "site: refuses"}
_RARE = {"kill_proxy": 0.5, "stop_proxy": 0.4, "command": 0.3, "kill_squid": 0.7, "fill_disk": 0.6}


@dataclass(slots=True, kw_only=True)
class Trouble:
    """Makes trouble of one kind after the other, sometimes several at once."""

    site: Site
    school: School
    promises: Promises
    luck: random.Random
    ill_archive: "IllArchive"
    disk: Path | None
    counts: Counter[str] = field(default_factory=Counter)
    edits: int = 0

    async def make(self) -> None:
        """Until cancelled; what is under way then is put right."""
        kinds = self._kinds()
        likely = [_RARE.get(kind, 1.0) for kind in kinds]
        async with asyncio.TaskGroup() as under_way:
            while True:
                await asyncio.sleep(self.luck.uniform(0.2, 1.5))
                kind = self.luck.choices(list(kinds), likely)[0]
                self.counts[kind] += 1
                if kind in _ONE_AT_A_TIME:
                    await kinds[kind]()
                else:
                    under_way.create_task(kinds[kind]())

    def _kinds(self) -> dict[str, Callable[[], Awaitable[None]]]:
        kinds = {f"site: {name}": self._badly(name) for name in WAYS}
        kinds |= {
            "site: refuses": self._refuse,
            "kill_worker": self._kill_worker,
            "kill_office": self._kill_office,
            "kill_proxy": self._kill_proxy,
            "stop_proxy": self._stop_proxy,
            "reload": self._reload,
            "edit_rules": self._edit_rules,
            "break_rules": self._break_rules,
            "ill_archive": self._sicken_archive,
            "command": self._command,
            "edit_pages": self._edit_pages,
        }
        if self.school.squid is not None:
            kinds["kill_squid"] = self._kill_squid
        if self.disk is not None:
            kinds["fill_disk"] = self._fill_disk
        if self.school.clock is not None:
            kinds["set_clock"] = self._set_clock
        return kinds

    def _badly(self, name: str) -> Callable[[], Awaitable[None]]:
        async def answer_badly() -> None:
            self.site.badly = (WAYS[name], self.luck.uniform(0.1, 0.7))
            await asyncio.sleep(self.luck.uniform(0.5, 3))
            self.site.badly = None

        return answer_badly

    async def _refuse(self) -> None:
        await self.site.refuse()
        try:
            away_s = self.luck.uniform(0.2, 3)
            self.school.judge.disturb(away_s)
            await asyncio.sleep(away_s)
        finally:
            await self.site.accept()
            self.school.judge.disturb()

    async def _kill_worker(self) -> None:
        self.school.judge.disturb()
        self.school.kill(f"worker {self.luck.choice((1, 2))}")

    async def _kill_office(self) -> None:
        """Which costs nobody an answer."""
        self.school.kill("office")

    async def _kill_proxy(self) -> None:
        await self._restart(gently=False)

    async def _stop_proxy(self) -> None:
        await self._restart(gently=True)

    async def _restart(self, *, gently: bool) -> None:
        await asyncio.to_thread(self.promises.note)
        await asyncio.to_thread(self.school.restart, gently=gently)
        for lost in await asyncio.to_thread(self.promises.broken):
            self.school.judge.complain(f"after a restart, {lost}")

    async def _reload(self) -> None:
        self.school.reload()

    async def _edit_rules(self) -> None:
        self.edits += 1
        self.write_rules()

    async def _break_rules(self) -> None:
        with contextlib.suppress(OSError):
            (self.school.rules / "10.toml").write_text(self.luck.choice(_BROKEN), encoding="utf-8")

    def write_rules(self) -> None:
        """Good rules, with the number of the edit in their reason."""
        self.school.rules.mkdir(parents=True, exist_ok=True)
        fresh = self.school.rules / ".10.new"
        with contextlib.suppress(OSError):  # the disk may be full
            fresh.write_text(_FORBIDDEN.format(edit=self.edits), encoding="utf-8")
            fresh.replace(self.school.rules / "10.toml")

    async def _sicken_archive(self) -> None:
        self.ill_archive.mood = self.luck.choice(("hangs", "drips", "babbles", "knows nothing"))

    async def _edit_pages(self) -> None:
        for _ in range(20):
            self.site.edit()

    async def _command(self) -> None:
        """An import, which writes to the index as well and has it committed, or a look into the store."""
        data = self.school.data
        commands = (("import", DEMO, "--data", data), ("misses", "top", "--data", data))
        await asyncio.to_thread(linkmend, *self.luck.choice(commands))

    async def _kill_squid(self) -> None:
        await asyncio.to_thread(self.school.kill_squid, self.luck.uniform(0.0, 3.0))

    async def _fill_disk(self) -> None:
        ballast = self.disk / "ballast"
        try:
            await asyncio.to_thread(_fill, ballast)
            await asyncio.sleep(self.luck.uniform(1, 5))
        finally:
            ballast.unlink(missing_ok=True)

    async def _set_clock(self) -> None:
        jump_s = self.luck.choice((-86_400, -3_600, -60, -5, 5, 60, 3_600, 86_400))
        self.school.clock.set(jump_s)
        await asyncio.sleep(self.luck.uniform(1, 6))
        self.school.clock.set(0)


def _fill(ballast: Path) -> None:
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        free = os.statvfs(ballast.parent)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        while file.write(b"x" * 4096):
            pass


@dataclass(slots=True)
class IllArchive:
    """A web archive that answers as its mood is."""

    mood: str = "hangs"

    async def serve(self) -> int:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            if self.mood == "hangs":
                await asyncio.sleep(30)
            for byte in b"HTTP/1.1 200 OK\r\n" if self.mood == "drips" else b"":
                writer.write(bytes([byte]))
                await asyncio.sleep(1)
            if self.mood == "babbles":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<http://[>; rel=memento")
            if self.mood == "knows nothing":
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()
