"""Trouble while the class browses: the seed draws each kind, and it is counted."""

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.archive import MOODS, Archive
from tests.chaos.badly import WAYS
from tests.chaos.excuses import Excuses
from tests.chaos.judge import Judge
from tests.chaos.promises import Promises
from tests.chaos.school import School
from tests.chaos.site import Site
from tests.integration.processes import DEMO, linkmend

_FORBIDDEN = '[[rule]]\nname = "exam"\nurl = "*/forbidden/*"\naction = "block"\nreason = "Edit {edit}"\n'
_BROKEN = ('[[rule]]\naction = "perhaps"\n', "[[rule", "\0\0", "[[rule]]\nurl = 7\n")
# One after the other, so that the promises stay clear, and ports are free again.
_ONE_AT_A_TIME = {
    *("kill proxy", "stop proxy", "kill Squid", "fill disk", "site: refuses"),
    *("command: import", "command: misses", "command: remove", "command: backup"),
}
# DNS failures excuse all requests for long; if they came more often, little would be checked.
_RARE = {"kill proxy": 0.5, "stop proxy": 0.4, "kill Squid": 0.7, "fill disk": 0.6}
_RARE |= {"names: fail": 0.4, "names: hang": 0.3} | {
    f"command: {name}": often
    for name, often in {"import": 0.2, "misses": 0.1, "remove": 0.25, "backup": 0.15}.items()
}
_NOT_FOUND_S = 3.0  # a name that was not found is not looked up again at once


@dataclass(slots=True, kw_only=True)
class Trouble:
    """Makes trouble, one kind after the other, sometimes several at once."""

    site: Site
    site_urls: tuple[str, ...]
    school: School
    judge: Judge
    excuses: Excuses
    promises: Promises
    luck: random.Random
    archive: Archive
    disk: Path | None
    counts: Counter[str] = field(default_factory=Counter)
    edits: int = 0
    _past: deque[tuple[float, float, str]] = field(default_factory=lambda: deque(maxlen=100))
    _now: dict[str, float] = field(default_factory=dict)
    _removing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a page that was promised may go."""

    async def make(self) -> None:
        """Make trouble until cancelled; then undo what is under way."""
        kinds = self._kinds()
        likely = [_RARE.get(kind, 1.0) for kind in kinds]
        async with asyncio.TaskGroup() as under_way:
            while True:
                await asyncio.sleep(self.luck.uniform(0.2, 1.5))
                kind = self.luck.choices(list(kinds), likely)[0]
                self.counts[kind] += 1
                if kind in _ONE_AT_A_TIME:
                    await self._noted(kind, kinds[kind])
                else:
                    under_way.create_task(self._noted(kind, kinds[kind]))

    def around(self, began: float, ended: float) -> list[str]:
        """The trouble between two times, or shortly before."""
        now = time.monotonic()
        known = [*self._past, *((since, now, kind) for kind, since in self._now.items())]
        return [
            f"{since - ended:+.1f} to {until - ended:+.1f} s: {kind}"
            for since, until, kind in sorted(known)
            if until > began - 10 and since < ended
        ]

    async def _noted(self, kind: str, trouble: Callable[[], Awaitable[None]]) -> None:
        since = self._now[kind] = time.monotonic()
        try:
            await trouble()
        finally:
            self._now.pop(kind, None)
            self._past.append((since, time.monotonic(), kind))

    def _kinds(self) -> dict[str, Callable[[], Awaitable[None]]]:
        kinds = {f"site: {name}": self._badly(name) for name in WAYS}
        kinds |= {f"archive: {mood}": self._archive(mood) for mood in MOODS}
        kinds |= {
            "site: refuses": self._refuse,
            "site: edits": self._edit_pages,
            "kill worker": self._kill_worker,
            "kill backend": self._kill_backend,
            "kill proxy": self._kill_proxy,
            "stop proxy": self._stop_proxy,
            "pause worker": self._pause_worker,
            "pause backend": self._pause_backend,
            "reload": self._reload,
            "rules: edit": self._edit_rules,
            "rules: break": self._break_rules,
            "command: import": self._import,
            "command: misses": self._misses,
            "command: remove": self._remove,
            "command: backup": self._backup,
        }
        if self.school.squid is not None:
            kinds["kill Squid"] = self._kill_squid
        else:
            kinds |= {"names: fail": self._names(0.0), "names: hang": self._names(6.0)}
        if self.disk is not None:
            kinds["fill disk"] = self._fill_disk
        if self.school.clock is not None:
            kinds["set clock"] = self._set_clock
        return kinds

    def _badly(self, name: str) -> Callable[[], Awaitable[None]]:
        async def answer_badly() -> None:
            self.site.badly = (WAYS[name], self.luck.uniform(0.1, 0.7))
            await asyncio.sleep(self.luck.uniform(0.5, 3))
            self.site.badly = None

        return answer_badly

    def _archive(self, mood: str) -> Callable[[], Awaitable[None]]:
        async def change_mood() -> None:
            self.archive.mood = mood

        return change_mood

    def _names(self, hang_s: float) -> Callable[[], Awaitable[None]]:
        async def look_up_in_vain() -> None:
            away_s = self.luck.uniform(1, 5)
            self.excuses.away(away_s + hang_s + _NOT_FOUND_S)
            self.school.resolve(hang_s)
            try:
                await asyncio.sleep(away_s)
            finally:
                self.school.resolve(["127.0.0.1"])
                self.excuses.away(hang_s + _NOT_FOUND_S)

        return look_up_in_vain

    async def _refuse(self) -> None:
        """The site refuses connections and drops the open ones."""
        await self.site.refuse()
        try:
            away_s = self.luck.uniform(0.2, 3)
            self.excuses.cut()
            self.excuses.away(away_s)
            await asyncio.sleep(away_s)
        finally:
            await self.site.accept()
            self.excuses.away()

    async def _kill_worker(self) -> None:
        self.excuses.cut()
        self.school.kill(f"worker {self.luck.choice((1, 2))}")

    async def _kill_backend(self) -> None:
        """Kill the backend. That may cost no client an answer and lose nothing committed: the next restart shows."""
        if not self._removing.locked():
            async with self._removing:
                await asyncio.to_thread(self.promises.note)
        await asyncio.to_thread(self.school.kill_backend)

    async def _pause_worker(self) -> None:
        """Stop a worker for a while. Requests that waited may then time out."""
        seconds = self.luck.uniform(0.5, 6)
        self.excuses.away(seconds)
        self.excuses.backend(seconds)
        await asyncio.to_thread(self.school.pause, f"worker {self.luck.choice((1, 2))}", seconds)

    async def _pause_backend(self) -> None:
        """Stop the backend for a while. That may cost no client an answer."""
        seconds = self.luck.uniform(0.5, 8)
        self.excuses.backend(seconds + 2)
        await asyncio.to_thread(self.school.pause, "backend", seconds)

    async def _kill_proxy(self) -> None:
        await self._restart(gently=False)

    async def _stop_proxy(self) -> None:
        await self._restart(gently=True)

    async def _restart(self, *, gently: bool) -> None:
        await asyncio.to_thread(self.promises.note)
        await asyncio.to_thread(self.school.restart, gently=gently)
        for lost in await asyncio.to_thread(self.promises.broken):
            self.judge.complain(f"after a restart, {lost}")

    async def _reload(self) -> None:
        self.school.reload()

    async def _edit_rules(self) -> None:
        self.edits += 1
        self.write_rules()

    async def _break_rules(self) -> None:
        with contextlib.suppress(OSError):
            (self.school.rules / "10.toml").write_text(self.luck.choice(_BROKEN), encoding="utf-8")

    def write_rules(self) -> None:
        """Write valid rules, with the number of the edit in their reason."""
        self.school.rules.mkdir(parents=True, exist_ok=True)
        fresh = self.school.rules / ".10.new"
        with contextlib.suppress(OSError):  # the disk may be full
            fresh.write_text(_FORBIDDEN.format(edit=self.edits), encoding="utf-8")
            fresh.replace(self.school.rules / "10.toml")

    async def _edit_pages(self) -> None:
        for _ in range(20):
            self.site.edit()

    async def _import(self) -> None:
        """Import pages: another process adds to the index and merges all its segments."""
        await self._command("import", DEMO)

    async def _misses(self) -> None:
        await self._command("misses", "top")

    async def _remove(self) -> None:
        """Remove a page: the whole index is rebuilt while everybody goes on."""
        async with self._removing:
            held = await asyncio.to_thread(self.promises.held)
            ours = [url for url in sorted(held) if url.startswith(self.site_urls)]
            if ours:
                url = self.luck.choice(ours)
                self.promises.forget(url)
                await self._command("remove", "--yes", url)

    async def _backup(self) -> None:
        """Make a backup and restore it elsewhere: all that was there at the start must be in it."""
        await asyncio.to_thread(self.promises.note)
        place = self.school.folder / "backup"
        place.mkdir(exist_ok=True)
        promised = Promises(data=self.school.data, is_limited=self.promises.is_limited)
        promised.misses, promised.pages = set(self.promises.misses), set(self.promises.pages)
        try:
            made = await self._command("backup", place / "all.tar.zst")
            if made and await self._command("restore", place / "all.tar.zst", data=place / "data"):
                for lost in await asyncio.to_thread(promised.broken, place / "data"):
                    self.judge.complain(f"in a backup, {lost}")
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    async def _command(self, *words: str | Path, data: Path | None = None) -> bool:
        """Run a command; whether it succeeded. Without a backend it may fail."""
        began = time.monotonic()
        config = () if data else ("--config", self.school.data.with_suffix(".toml"))
        try:
            done = await asyncio.to_thread(linkmend, *words, *config, "--data", data or self.school.data)
        except subprocess.TimeoutExpired as error:
            self.judge.complain(f"linkmend {words[0]} does not end: {error}")
            return False
        is_honest = done.returncode == 1 and self.excuses.may_lack_backend(began)
        if (done.returncode and not is_honest) or "Traceback" in done.stderr:
            told = f"{done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}"
            self.judge.complain(f"linkmend {' '.join(map(str, words))} ended with {told}")
        return done.returncode == 0

    async def _kill_squid(self) -> None:
        await asyncio.to_thread(self.school.kill_squid, self.luck.uniform(0.0, 3.0))

    async def _fill_disk(self) -> None:
        ballast = self.disk / "ballast"
        filling = asyncio.create_task(asyncio.to_thread(_fill, ballast))
        try:
            await asyncio.shield(filling)
            await asyncio.sleep(self.luck.uniform(1, 5))
        finally:
            await filling  # cancelling leaves the thread running, which would still fill the disk
            ballast.unlink(missing_ok=True)

    async def _set_clock(self) -> None:
        jump_s = self.luck.choice((-86_400, -3_600, -60, -5, 5, 60, 3_600, 86_400))
        self.school.clock.set(jump_s)
        try:
            await asyncio.sleep(self.luck.uniform(1, 6))
        finally:
            self.school.clock.set(0)


def _fill(ballast: Path) -> None:
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        free = os.statvfs(ballast.parent)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        while file.write(b"x" * 4096):
            pass
