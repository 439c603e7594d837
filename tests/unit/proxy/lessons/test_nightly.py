"""Teachers' pages at night: what is checked, and when a mail goes out."""

import contextlib
from dataclasses import replace as changed
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from proxy.errors import LinkmendError
from proxy.lessons.errors import WorksheetError
from proxy.lessons.model import CheckState, LinkFinding, Replacement
from proxy.lessons.nightly import NightlyPageChecks, change_of
from proxy.settings import MailSettings, Settings, TeachSettings
from repair.fetch import FetchError
from tests.lessons import OFFERED, some_lessons
from tests.make import a_page

COURSE = "http://course.test/biology"
NIGHT = datetime(2026, 11, 18, 23, 0).astimezone()
MAIL = MailSettings(server="mail.test:25", sender="linkmend@school.test", security="none")
SETTINGS = changed(Settings(), mail=MAIL)


class World:
    """Sites as the checker sees them, a clock, and the mails that went out."""

    def __init__(self, lessons, settings, monkeypatch):
        self.lessons, self.now, self.mails, self.refuses = lessons, NIGHT, [], False
        self.links, self.dead, self.unknown, self.is_up = ["a", "b"], set(), set(), True
        self.read = 0
        monkeypatch.setattr(lessons._checker, "fetch_page", self._fetch)
        monkeypatch.setattr(lessons._checker, "check", self._check)
        monkeypatch.setattr(lessons.store, "_clock", lambda: self.now.timestamp())
        self.nights = NightlyPageChecks(
            lessons, lambda: settings, clock=lambda: self.now, deliver=self._deliver
        )

    async def _fetch(self, url):
        self.read += 1
        if not self.is_up:
            raise FetchError("nobody there")
        text = " words of the course page " * 20
        links = "".join(f"<p>Read <a href='http://site.test/{n}'>about {n}</a>{text}</p>" for n in self.links)
        html = f"<html><title>Biology</title><body><main>{links}</main></body></html>"
        return a_page(url=url, body=html.encode())

    async def _check(self, url):
        name = url.rpartition("/")[2]
        state = CheckState.DEAD if name in self.dead else CheckState.WORKS
        return LinkFinding(state=CheckState.UNKNOWN if name in self.unknown else state)

    def _deliver(self, mail, settings):
        if self.refuses:
            raise LinkmendError("mail.server: refused")
        self.mails.append((mail["To"], mail.get_content()))

    async def look(self, *, later=timedelta(0)):
        self.now += later
        await self.nights.look()
        await self.lessons.checks.wait()
        await self.nights.look()


@contextlib.asynccontextmanager
async def a_watched_page(folder, monkeypatch, settings=SETTINGS):
    async with some_lessons(folder, settings=settings) as lessons:
        world = World(lessons, settings, monkeypatch)
        lessons.teachers.set_mail("Ms A", "a@school.test", "en")
        await lessons.watch_page("Ms A", COURSE)
        await world.look()
        yield world


A_DAY = timedelta(days=1)


async def test_a_link_that_died_is_told_once_with_its_best_replacement(tmp_path, monkeypatch):
    async with a_watched_page(tmp_path, monkeypatch) as world:
        assert world.mails == []
        world.dead = {"b"}
        await world.look(later=A_DAY)
        [(to, text)] = world.mails
        assert to == "a@school.test"
        assert "http://site.test/b" in text
        assert OFFERED in text
        assert "http://site.test/a" not in text
        await world.look(later=A_DAY)
        assert len(world.mails) == 1
        world.dead = set()
        await world.look(later=A_DAY)
        assert "Works again: http://site.test/b" in world.mails[1][1]


async def test_a_cut_line_is_no_news(tmp_path, monkeypatch):
    async with a_watched_page(tmp_path, monkeypatch) as world:
        world.dead = {"b"}
        await world.look(later=A_DAY)
        world.unknown = {"a", "b"}
        await world.look(later=A_DAY)
        world.unknown, world.is_up = set(), False
        await world.look(later=A_DAY)
        assert len(world.mails) == 1
        assert world.lessons.store.of("Ms A", watched=True)[0].fault == "no_page"


async def test_pages_are_read_once_a_night_and_never_by_day(tmp_path, monkeypatch):
    async with a_watched_page(tmp_path, monkeypatch) as world:
        assert world.read == 1
        await world.look(later=timedelta(hours=13))
        assert world.read == 1
        await world.look(later=timedelta(hours=11))
        await world.look(later=timedelta(minutes=5))
        assert world.read == 2


async def test_a_mail_that_was_not_taken_is_sent_later(tmp_path, monkeypatch):
    async with a_watched_page(tmp_path, monkeypatch) as world:
        world.dead, world.refuses = {"b"}, True
        await world.look(later=A_DAY)
        world.refuses = False
        await world.look(later=timedelta(minutes=5))
        assert world.mails == []
        await world.look(later=timedelta(hours=2))
        assert len(world.mails) == 1


async def test_what_a_teacher_took_stays_when_the_page_is_read_again(tmp_path, monkeypatch):
    async with a_watched_page(tmp_path, monkeypatch) as world:
        await world.lessons.take(1, 1, "http://mine.test/")
        world.links = ["new", "a"]
        await world.look(later=A_DAY)
        links = world.lessons.store.links(1)
        assert [(link.url, link.taken) for link in links] == [
            ("http://site.test/new", ""),
            ("http://site.test/a", "http://mine.test/"),
        ]


async def test_a_teacher_has_only_so_many_pages(tmp_path, monkeypatch):
    settings = changed(SETTINGS, teach=TeachSettings(pages=1, lessons=1))
    async with a_watched_page(tmp_path, monkeypatch, settings) as world:
        assert (await world.lessons.watch_page("Ms A", COURSE + "/")).id == 1
        with pytest.raises(WorksheetError, match="too_many_pages"):
            await world.lessons.watch_page("Ms A", "http://course.test/other")
        for _ in range(3):
            await world.lessons.check_page("Ms A", "", COURSE)
        assert [each.page for each in world.lessons.store.of("Ms A", watched=True)] == [COURSE]


async def test_nothing_is_said_while_links_wait(tmp_path, monkeypatch):
    async with a_watched_page(tmp_path, monkeypatch) as world:
        page, links = world.lessons.store.watched()[0], world.lessons.store.links(1)
        waiting = replace(
            links[0],
            found=LinkFinding(state=CheckState.WAITING),
            replacements=(Replacement(url="", title=""),),
        )
        assert change_of(page, (waiting, links[1]), frozenset({"http://site.test/a"})) is None
