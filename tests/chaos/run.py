"""One trial: the class browses, trouble is made, and the invariants are checked all the time."""

import asyncio
import contextlib
import logging
import os
import random
import shutil
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.archive import Archive
from tests.chaos.excuses import Excuses
from tests.chaos.judge import Judge
from tests.chaos.lessons import word_of
from tests.chaos.promises import Promises
from tests.chaos.pupils import Place, Pupil
from tests.chaos.report import Report, Trial
from tests.chaos.school import NAME, PATIENCE_S, School, small_disk
from tests.chaos.site import Site
from tests.chaos.squidlog import SquidLog
from tests.chaos.trouble import Trouble
from tests.integration.client import Client
from tests.integration.clock import Clock, faketime
from tests.integration.origin import certificate
from tests.integration.processes import eventually

PUPILS = 24
_MOST_BYTES = 600 * 1024 * 1024
_MOST_FILES = 700
_LOOK_EVERY_S = 1.0
_TELL_EVERY_S = 60.0
_PULSE_S, _LATE_S = 0.2, 1.0
_LIMITED_PAGES = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The programs available for a trial; empty or None means missing."""

    squid: str
    clock: Clock | None
    disk: Path | None
    max_pages: int | None

    def __str__(self) -> str:
        told = {"Squid": self.squid, "clock": self.clock, "full disk": self.disk, "few pages": self.max_pages}
        return ", ".join(what if there else f"NO {what}" for what, there in told.items())


async def run(trial: Trial, folder: Path, say: Callable[[str], None] = lambda line: None) -> Report:
    """Run a trial in an empty `folder`, where linkmend's log stays; `say` gets progress lines."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of writes to closed connections
    luck = random.Random(trial.seed)
    wants_squid, wants_clock, wants_limit = luck.random() < 0.5, luck.random() < 0.3, luck.random() < 0.3
    wants_squid = wants_squid if trial.squid is None else trial.squid
    wants_clock = wants_clock if trial.clock is None else trial.clock
    squid = shutil.which("squid", path="/usr/sbin:/usr/bin") if wants_squid else None
    clock = Clock(folder / "clock") if wants_clock and faketime() else None
    with small_disk(folder / "disk") as may_be_filled:
        means = Means(
            squid=squid or "",
            clock=clock,
            disk=folder / "disk" if may_be_filled else None,
            max_pages=_LIMITED_PAGES if wants_limit else None,
        )
        stage = await _Stage.set_up(trial, folder, luck, means)
        try:
            await stage.play(luck, say)
        finally:
            await asyncio.to_thread(stage.school.stop)
        stage.judge.settle(all_of_it=True)
        if stage.judge.complaints:  # the small disk is unmounted, and its files may explain them
            await asyncio.to_thread(shutil.copytree, stage.school.data, folder / "data", dirs_exist_ok=True)
    return stage.told()


@dataclass(slots=True, kw_only=True)
class _Stage:
    report: Report
    site: Site
    excuses: Excuses
    judge: Judge
    school: School
    promises: Promises
    trouble: Trouble
    place: Place
    pupils: list[Pupil] = field(default_factory=list)

    @classmethod
    async def set_up(cls, trial: Trial, folder: Path, luck: random.Random, means: Means) -> "_Stage":
        trusted, good = certificate(folder, "127.0.0.1", NAME, days=(-30, 30))
        (folder / "bad").mkdir()
        _, untrusted = certificate(folder / "bad", "127.0.0.1", days=(-30, 30))
        site = Site(luck=random.Random(luck.random()), is_shared_with_squid=bool(means.squid))
        plain, secure, distrusted, without_tls = [
            await site.listen(tls) for tls in (None, good, untrusted, None)
        ]
        host = "127.0.0.1" if means.squid else NAME
        place = Place(
            sites=(f"http://{host}:{plain}", f"https://{host}:{secure}"),
            bad_sites=(f"https://127.0.0.1:{distrusted}", f"https://127.0.0.1:{without_tls}"),
            patience_s=PATIENCE_S,
        )
        archive = Archive(random.Random(luck.random()))
        await archive.serve()
        excuses = Excuses(site=site, squid=SquidLog(folder / "squid" / "access.log") if means.squid else None)
        judge = Judge(excuses=excuses, clock_is_true=means.clock is None)
        school = School(
            folder=folder,
            judge=judge,
            excuses=excuses,
            trusted=trusted,
            archive_port=archive.port,
            squid_program=means.squid,
            clock=means.clock,
            **({"max_pages": means.max_pages} if means.max_pages else {}),
        )
        promises = Promises(data=school.data, is_limited=means.max_pages is not None)
        trouble = Trouble(
            site=site,
            site_urls=place.sites,
            school=school,
            judge=judge,
            excuses=excuses,
            promises=promises,
            luck=random.Random(luck.random()),
            archive=archive,
            disk=means.disk,
        )
        stage = cls(
            report=Report(trial=trial, surroundings=str(means)),
            site=site,
            excuses=excuses,
            judge=judge,
            school=school,
            promises=promises,
            trouble=trouble,
            place=place,
        )
        judge.trace = stage.trace
        return stage

    async def play(self, luck: random.Random, say: Callable[[str], None]) -> None:
        self.trouble.write_rules()
        await asyncio.to_thread(self.school.start)
        self._seat(luck)
        self.judge.began = time.monotonic()
        others = (self.trouble.make(), self._watch(), self._pulse(), self._probe(), self._tell(say))
        tasks = [asyncio.create_task(each) for each in others]
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
        tls = ssl.create_default_context(cafile=str(self.school.proxy.ca))
        self.pupils += [
            Pupil(
                number=number,
                place=self.place,
                proxy_port=self.school.port,
                tls=tls,
                judge=self.judge,
                luck=random.Random(luck.random()),
            )
            for number in range(PUPILS)
        ]

    def trace(self, path: str, began: float, ended: float) -> str:
        """The events around an exchange: trouble, the site, Squid, and the log of linkmend."""
        lines = [f"  trouble: {each}" for each in self.trouble.around(began, ended)]
        lines += [
            f"  site: {at - ended:+.1f} s: {told} ({url.split('://')[0]})"
            for at, url, told in self.site.past
            if path and url.endswith(path) and began - 60 < at < ended
        ]
        if self.excuses.squid is not None:
            for site in self.place.sites:
                lines += [
                    f"  Squid: {each}" for each in self.excuses.squid.lines(site + path, since=began - 60)
                ]
        lines += [f"  log: {each}" for each in self.school.proxy.log.between(began, ended, path)[-40:]]
        return "\n".join(lines)

    async def _watch(self) -> None:
        """Check memory and descriptors of each process, and requests for pages that no link should lead to."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            for role, resident, files in _figures(self.school):
                self.report.most[f"{role}: MB"] = max(self.report.most[f"{role}: MB"], resident >> 20)
                self.report.most[f"{role}: files"] = max(self.report.most[f"{role}: files"], files)
                if role != "harness" and (excess := too_much(resident, files)):
                    self.judge.complain(f"{role} has {excess}")
            if self.site.forbidden:
                self.judge.complain(f"the site was asked for {self.site.forbidden}")
                self.site.forbidden.clear()
            self.report.most["calm seconds"] += not self.excuses.any()
            self.school.gather_faults()
            self.judge.settle()

    async def _pulse(self) -> None:
        """Notice when this process was delayed, as on a busy machine: then the site was too."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(_PULSE_S)
            late_s = time.monotonic() - before - _PULSE_S
            self.report.most["ms this process was held up"] = max(
                self.report.most["ms this process was held up"], int(late_s * 1000)
            )
            if late_s > _LATE_S:
                self.excuses.all()

    async def _probe(self) -> None:
        """Check that monitoring is answered too, unless the backend, which has the numbers, is down."""
        while True:
            await asyncio.sleep(2)
            for port, path in ((self.school.metrics_port, "/metrics"), (self.school.desk_port, "/")):
                began = time.monotonic()
                try:
                    async with asyncio.timeout(PATIENCE_S):
                        status = await _status(port, path)
                except (OSError, EOFError, ValueError) as error:  # a timeout is an OSError
                    if not self.excuses.may_lack_backend(began):
                        self.judge.complain(f"{path} on port {port} does not answer: {error!r}")
                else:
                    self.judge.answers[f"linkmend's {path}"] += 1
                    if status >= 500 and not self.excuses.may_lack_backend(began):
                        self.judge.complain(f"{path} on port {port} answers {status}")

    async def _tell(self, say: Callable[[str], None]) -> None:
        while True:
            await asyncio.sleep(_TELL_EVERY_S)
            say(self.told().line())

    async def _settle(self) -> None:
        """After all trouble: rules, misses and pages must be there in a new process."""
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
        site = self.place.sites[0]
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
        report.lasted_s = min(time.monotonic() - self.judge.began, report.trial.seconds)
        report.answers, report.trouble = self.judge.answers, self.trouble.counts
        report.asked = Counter()
        for pupil in self.pupils:
            report.asked += pupil.asked
        report.restarts = Counter(begun=self.school.begun + self.school.proxy.log.begun)
        report.promised = Counter(pages=len(self.promises.pages), misses=len(self.promises.misses))
        report.complaints, report.more_complaints = self.judge.complaints, self.judge.more_complaints
        return report


def too_much(resident: int, files: int) -> str:
    """Which limits a process exceeds; empty when none."""
    is_within = resident <= _MOST_BYTES and files <= _MOST_FILES
    return "" if is_within else f"{resident >> 20} MB and {files} files"


def _figures(school: School) -> Iterator[tuple[str, int, int]]:
    """The resident bytes and the open files of each process."""
    for role, pid in (("harness", os.getpid()), *school.processes()):
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
            resident = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
            yield role, resident, sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


async def _status(port: int, path: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        return int(answer.split(b" ")[1])
    except IndexError:
        raise EOFError("nothing came") from None
    finally:
        writer.close()
