"""The schools of a trial and their readers; each answer is checked at once."""

import json
import random
import re
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

from proxy.misses.store import DATABASE
from repair.collection.collection import Collection
from repair.settings import CollectionSettings
from tests.chaos.district.line import Line
from tests.integration.client import Answer, Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import Linkmend
from tests.integration.test_districtsearch import pages

SITE = "http://www.school-topics.org"
_NEWS = "http://news.school-topics.org"
_DAY = datetime(2026, 3, 2, tzinfo=UTC)
_PATIENCE_S = 60.0
_OUT_OF_TIME = 0.02
_THINKING_S = (0.2, 0.8)
_READERS = 4
_PROGRAMS = 0.1
_ALTERNATIVES = re.compile(r'<ol id="alternatives".*?</ol>', re.DOTALL)
_LISTED = re.compile(r'<li data-url="([^"]+)"')
_LATER = re.compile(r'<div id="late" data-next="([^"]+)"')
FEW = 3
_OFTEN = """
SELECT url, date(at, 'unixepoch'), kind, count(*) FROM misses WHERE url IN (
    SELECT url FROM misses WHERE client <> '' GROUP BY url HAVING count(DISTINCT client) >= ?
) GROUP BY 1, 2, 3
"""

PAGES = {document.url: document for document in pages(SITE)}


def serve_pages(origin: Origin) -> None:
    """Put the site's pages on the origin; whatever else is asked for is missing."""
    for url, document in PAGES.items():
        origin.pages[url.removeprefix(SITE)] = _as_html(document.title, document.text)


def add_news(origin: Origin, number: int) -> str:
    """One more page, which no school has yet; returns its address."""
    origin.pages[f"/news/{number}.html"] = _as_html(
        f"News {number}", f"What happened at volcano number {number}, with lava, ash and a crater. " * 5
    )
    return f"{_NEWS}/news/{number}.html"


def _as_html(title: str, text: str) -> bytes:
    return reply(
        f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{text}</p></html>",
        Cache_Control="public, max-age=600",
    )


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the readers of all schools saw."""

    complaints: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    repairs_s: dict[str, list[float]] = field(default_factory=dict)
    missed: dict[str, Counter[str]] = field(default_factory=dict)
    news: set[str] = field(default_factory=set)
    worse: list[tuple["School", str, str]] = field(default_factory=list)
    """Repairs for which a lone school offered what this one did not: to be looked up in its log."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note_repair(self, name: str, seconds: float) -> None:
        """Note how long a repair took, under the name of a school and what was asked."""
        with self.lock:
            self.repairs_s.setdefault(name, []).append(seconds)

    def complain(self, text: str) -> None:
        """Note that an invariant was broken."""
        with self.lock:
            self.complaints.append(text)

    def judge_worse(self) -> None:
        """Complain of repairs that were worse, unless the school's log says that they ran out of time.

        On a machine that is busy with killed engines a ranking may take longer than `repair.deadline_s`; a few may.
        """
        for school, lost, text in self.worse:
            if re.search(rf"timed out after [0-9.]+ s: {re.escape(lost)}", school.running.output):
                self.counts["repairs out of time"] += 1
            else:
                self.complain(text)
        if self.counts["repairs out of time"] > max(1, self.counts["repairs"] * _OUT_OF_TIME):
            self.complain(f"{self.counts['repairs out of time']} repairs ran out of time")


class School:
    """A running linkmend with a part of the site's pages; without a `line` it is alone."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        part: int,
        parts: int,
        settings: str,
        line: Line | None = None,
        login: str = "",
    ) -> None:
        self.name, self.line, self.login = name, line, login
        self.data = folder / name
        self.own = [url for at, url in enumerate(PAGES) if at % parts == part]
        with Collection.open(self.data / "collection", CollectionSettings()) as collection:
            for url in self.own:
                collection.add(PAGES[url], fetched_at=_DAY)
            collection.commit()
        self.running = Linkmend(self.data, settings=settings)
        self.clients = [Client(self.running.url, source=f"127.0.{at + 1}.1") for at in range(_READERS)]

    def often_missed(self) -> set[tuple[str, str, str, int]]:
        """What at least FEW readers missed, as its own log has it: address, day, kind, and how often."""
        with closing(sqlite3.connect(f"file:{self.data / 'misses' / DATABASE}?mode=ro", uri=True)) as log:
            return set(log.execute(_OFTEN, (FEW,)))


class Readers(threading.Thread):
    """The readers of one school, one request after the other; with a `twin`, everything is asked there too."""

    def __init__(
        self, school: School, twin: School | None, origin: Origin, findings: Findings, luck: random.Random
    ) -> None:
        super().__init__(daemon=True)
        self._school, self._twin, self._origin = school, twin, origin
        self._findings, self._luck = findings, luck
        self._stopping = threading.Event()
        self._reader = 0
        self._elsewhere = [url for url in PAGES if url not in school.own]

    def run(self) -> None:
        """Browse until told to stop."""
        while not self._stopping.wait(self._luck.uniform(*_THINKING_S)):
            try:
                self._luck.choices((self._open_page, self._miss, self._open_news), (4, 5, 1))[0]()
            except Exception as error:  # noqa: BLE001  (no answer at all is a finding too)
                self._findings.complain(f"{self._school.name}: {type(error).__name__}: {error}")

    def stop(self) -> None:
        """Browse no more."""
        self._stopping.set()
        self.join(2 * _PATIENCE_S)

    def _asked(self, url: str, *, as_program: bool = False) -> list[tuple[School, Answer, float]]:
        """The answer of the school, and of its twin, in either order, by the same reader."""
        self._reader = reader = self._luck.randrange(_READERS)
        schools = [school for school in (self._school, self._twin) if school is not None]
        self._luck.shuffle(schools)
        answers = []
        for school in schools:
            began = time.monotonic()
            client = school.clients[reader]
            answer = (client.repair if as_program else client.open_page)(url, timeout_s=_PATIENCE_S)
            answers.append((school, answer, time.monotonic() - began))
        return sorted(answers, key=lambda each: each[0] is not self._school)

    def _open_page(self) -> None:
        url = self._luck.choice(self._school.own)  # what it opened it would have, and need no district for
        self._check_page(url, PAGES[url].title)

    def _open_news(self) -> None:
        """A page that is new today; other schools open some of the same."""
        number = self._luck.randrange(40)
        url = add_news(self._origin, number)
        self._findings.news.add(url)
        self._check_page(url, f"News {number}")

    def _check_page(self, url: str, title: str) -> None:
        for school, answer, _ in self._asked(url):
            if answer.status != 200 or f"<h1>{title}</h1>" not in answer.text:
                self._findings.complain(f"{school.name}: {url}: {answer.status} {answer.text[:100]!r}")
        self._findings.counts["pages"] += 1

    def _miss(self) -> None:
        """A page at an old address; every second one is another school's, and only the district knows the new one."""
        is_elsewhere = self._luck.random() < 0.5
        known = self._elsewhere if is_elsewhere else self._school.own
        # Some are missed by many readers: only of those the district is told.
        is_often = self._luck.random() < 0.5
        right = self._luck.choice(known[:6] if is_often else known)
        # Many pages fit the name of a topic alone: then another may come first, but never none.
        is_clear = is_often or is_elsewhere or self._luck.random() < 0.6
        topic, _, part = right.removeprefix(f"{SITE}/").removesuffix(".html").partition("/")
        name = f"{topic}-{part}" if is_clear else topic
        lost = f"{SITE}/old/{'often' if is_often else self._luck.randrange(10**6)}/{name}.html"
        is_program = self._luck.random() < _PROGRAMS
        answers = self._asked(lost, as_program=is_program)
        for school, answer, took_s in answers:
            if (answer.status, answer.miss) != (404, "not_found"):
                self._findings.complain(f"{school.name}: {lost}: {answer.status} {answer.miss}")
                return
            what = "programs" if is_program else "pages"
            self._findings.note_repair(f"{school.name}, {what}", took_s)
            with self._findings.lock:
                self._findings.missed.setdefault(school.name, Counter())[lost] += 1
        offered = [_offered(answer) for _, answer, _ in answers]
        if (
            self._twin is not None
            and not is_elsewhere
            and offered[1]
            and not (offered[1][0] in offered[0][:3] if is_clear else offered[0])
        ):
            text = f"{lost}: alone {offered[1][:3]}, in the district {offered[0][:5]}"
            self._findings.worse.append((self._school, lost, text))
        self._findings.counts["repairs"] += 1
        later = [] if is_program else self._ask_later(lost, answers[0][1], offered[0])
        if is_elsewhere:
            self._count_help(right, offered, later, is_program=is_program)

    def _ask_later(self, lost: str, page: Answer, offered: list[str]) -> list[str]:
        """What the script of a repair page adds to it."""
        asked = _LATER.search(page.text)
        if asked is None:
            return []
        began = time.monotonic()
        client = self._school.clients[self._reader]
        answer = client.get(f"{SITE}{unescape(asked[1])}", timeout_s=_PATIENCE_S, Origin="null")
        self._findings.note_repair(f"{self._school.name}, what comes later", time.monotonic() - began)
        added = _LISTED.findall(answer.text)
        if answer.status != 200 or set(added) & set(offered):
            self._findings.complain(f"{self._school.name}: {lost}: added {answer.status} {added}")
        return added

    def _count_help(
        self, right: str, offered: list[list[str]], later: list[str], *, is_program: bool
    ) -> None:
        """Count whether a page that only other schools have was offered, at once or later."""
        counts = self._findings.counts
        whom = "program" if is_program else "reader"
        help_came = "at once" if right in offered[0][:3] else "later" if right in later else "never"
        counts[f"times {whom} missed another school's page, offered {help_came}"] += 1
        counts["such pages offered by the lone school"] += any(right in each[:3] for each in offered[1:])


def _offered(answer: Answer) -> list[str]:
    """The addresses of the offered pages: of a program's answer, or of a page, without what comes later."""
    if answer.headers.get_content_type() == "application/json":
        return [each["url"] for each in json.loads(answer.body)["alternatives"]]
    listed = _ALTERNATIVES.search(answer.text)
    return list(map(unescape, _LISTED.findall(listed[0]))) if listed else []
