"""One trial: the class browses, trouble is made, and what must always be true is checked the whole time."""

import asyncio
import contextlib
import logging
import random
import shutil
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.judge import Judge
from tests.chaos.lessons import word_of
from tests.chaos.promises import Promises
from tests.chaos.pupils import Place, Pupil
from tests.chaos.school import PATIENCE_S, School, small_disk
from tests.chaos.site import Site
from tests.chaos.trouble import IllArchive, Trouble
from tests.integration.client import Client
from tests.integration.clock import Clock, faketime
from tests.integration.origin import certificate
from tests.integration.processes import eventually

PUPILS = 24
_MOST_BYTES = 600 * 1024 * 1024
_MOST_FILES = 700
_LOOK_EVERY_S = 1.0
_PULSE_S, _LATE_S = 0.2, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tried. Whether there is a Squid and whether the clock jumps is up to the seed, unless it is said."""

    seed: int
    seconds: float
    squid: bool | None = None
    clock: bool | None = None


@dataclass(slots=True, kw_only=True)
class Report:
    trial: Trial
    surroundings: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    trouble: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"seed {self.trial.seed}, {self.trial.seconds:.0f} s, {self.surroundings}"]
        for name in ("asked", "answers", "trouble", "most"):
            counts: Counter[str] = getattr(self, name)
            told = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
            lines.append(f"{name} ({counts.total()}): {told}" if name != "most" else f"most: {told}")
        lines += [f"BROKEN {complaint}" for complaint in self.complaints[:40]]
        if len(self.complaints) > 40:
            lines.append(f"... and {len(self.complaints) - 40} more")
        if self.complaints:
            lines.append(
                f"again: python -m tests.chaos --seed {self.trial.seed} --seconds {self.trial.seconds:.0f}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What there is for a trial; what is empty or None is not."""

    squid: str
    clock: Clock | None
    disk: Path | None

    def __str__(self) -> str:
        told = {"a Squid": self.squid, "jumps of the clock": self.clock, "a disk that fills up": self.disk}
        return ", ".join(f"{'with' if there else 'WITHOUT'} {what}" for what, there in told.items())


async def run(trial: Trial, folder: Path) -> Report:
    """Everything is done in `folder`, which must be empty; linkmend's log stays there."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of writes to who has hung up
    luck = random.Random(trial.seed)
    wants_squid, wants_clock = luck.random() < 0.5, luck.random() < 0.3
    wants_squid = wants_squid if trial.squid is None else trial.squid
    wants_clock = wants_clock if trial.clock is None else trial.clock
    squid = shutil.which("squid", path="/usr/sbin:/usr/bin") if wants_squid else None
    clock = Clock(folder / "clock") if wants_clock and faketime() else None
    with small_disk(folder / "disk") as may_be_filled:
        means = Means(squid=squid or "", clock=clock, disk=folder / "disk" if may_be_filled else None)
        stage = await _Stage.set_up(trial, folder, luck, means)
        try:
            await stage.play(luck)
        finally:
            await asyncio.to_thread(stage.school.stop)
    return stage.told()


@dataclass(slots=True, kw_only=True)
class _Stage:
    report: Report
    site: Site
    judge: Judge
    school: School
    promises: Promises
    trouble: Trouble
    ports: tuple[int, ...]
    """Of the site: plain, with a good certificate, with one that nobody trusts, and plain where TLS is expected."""
    pupils: list[Pupil] = field(default_factory=list)

    @classmethod
    async def set_up(cls, trial: Trial, folder: Path, luck: random.Random, means: Means) -> "_Stage":
        trusted, good = certificate(folder, "127.0.0.1", "localhost", days=(-30, 30))
        (folder / "bad").mkdir()
        _, untrusted = certificate(folder / "bad", "127.0.0.1", days=(-30, 30))
        site = Site(luck=random.Random(luck.random()), is_shared_with_squid=bool(means.squid))
        ports = tuple([await site.listen(tls) for tls in (None, good, untrusted, None)])
        archive = IllArchive()
        judge = Judge(site=site, clock_is_true=means.clock is None)
        school = School(
            folder=folder,
            judge=judge,
            trusted=trusted,
            archive_port=await archive.serve(),
            squid_program=means.squid,
            clock=means.clock,
        )
        promises = Promises(data=school.data)
        trouble = Trouble(
            site=site,
            school=school,
            promises=promises,
            luck=random.Random(luck.random()),
            ill_archive=archive,
            disk=means.disk,
        )
        return cls(
            report=Report(trial=trial, surroundings=str(means)),
            site=site,
            judge=judge,
            school=school,
            promises=promises,
            trouble=trouble,
            ports=ports,
        )

    async def play(self, luck: random.Random) -> None:
        self.trouble.write_rules()
        await asyncio.to_thread(self.school.start)
        self._seat(luck)
        tasks = [asyncio.create_task(each) for each in (self.trouble.make(), self._watch(), self._pulse())]
        tasks += [asyncio.create_task(pupil.browse()) for pupil in self.pupils]
        done, _ = await asyncio.wait(
            tasks, timeout=self.report.trial.seconds, return_when=asyncio.FIRST_EXCEPTION
        )
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()
        await self._settle()

    def _seat(self, luck: random.Random) -> None:
        plain, good, untrusted, without_tls = self.ports
        place = Place(
            proxy_port=self.school.port,
            tls=ssl.create_default_context(cafile=str(self.school.proxy.ca)),
            sites=(f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{good}"),
            bad_sites=(f"https://127.0.0.1:{untrusted}", f"https://127.0.0.1:{without_tls}"),
            patience_s=PATIENCE_S,
        )
        self.pupils += [
            Pupil(number=number, place=place, judge=self.judge, luck=random.Random(luck.random()))
            for number in range(PUPILS)
        ]

    async def _watch(self) -> None:
        """Memory and descriptors of each process, and pages that nobody should have been led to."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            for role, resident, files in _figures(self.school):
                self.report.most[f"{role}: MB"] = max(self.report.most[f"{role}: MB"], resident >> 20)
                self.report.most[f"{role}: files"] = max(self.report.most[f"{role}: files"], files)
                if resident > _MOST_BYTES or files > _MOST_FILES:
                    self.judge.complain(f"{role} has {resident >> 20} MB and {files} files")
            if self.site.forbidden:
                self.judge.complain(f"the site was asked for {self.site.forbidden}")
                self.site.forbidden.clear()

    async def _pulse(self) -> None:
        """When this process itself was held up, as on a busy machine, so was the site: nobody is to blame then."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(_PULSE_S)
            late_s = time.monotonic() - before - _PULSE_S
            self.report.most["ms this process was held up"] = max(
                self.report.most["ms this process was held up"], int(late_s * 1000)
            )
            if late_s > _LATE_S:
                self.judge.disturb()

    async def _settle(self) -> None:
        """All is well again: rules, misses and pages must be there, in a new process."""
        self.site.badly = None
        self.trouble.edits += 1
        self.trouble.write_rules()
        await asyncio.sleep(3)
        await asyncio.to_thread(self.promises.note)
        await asyncio.to_thread(self.school.restart, gently=False)
        for lost in await asyncio.to_thread(self.promises.broken):
            self.judge.complain(f"at the end, {lost}")
        await asyncio.to_thread(self._look_around)

    def _look_around(self) -> None:
        client = Client(f"http://127.0.0.1:{self.school.port}")
        site = self.pupils[0].place.sites[0]
        blocked = client.open_page(f"{site}/forbidden/1").text
        if f"Edit {self.trouble.edits}" not in blocked:
            self.judge.complain(f"the last edit of the rules is not in force: {blocked[:300]}")
        ours = sorted(url for url in self.promises.pages if url.startswith(site))
        for url in ours[:: max(1, len(ours) // 12)]:
            try:
                eventually(lambda url=url: url in client.search(word_of(url)).text, "not found")
            except AssertionError:
                self.judge.complain(f"{url} is held, and not found by {word_of(url)}")

    def told(self) -> Report:
        report = self.report
        report.answers, report.trouble = self.judge.answers, self.trouble.counts
        for pupil in self.pupils:
            report.asked += pupil.asked
        report.complaints = self.judge.complaints
        report.complaints += [f"in the log: {traceback}" for traceback in self.school.tracebacks]
        return report


def _figures(school: School) -> Iterator[tuple[str, int, int]]:
    """The resident bytes and the open files of each process."""
    for role, pid in school.processes():
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
            resident = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
            yield role, resident, sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
