"""Mementos, archives that answer as told, and the memory of them, for the tests of the archive client."""

import asyncio

from addons.archives import Archives, ArchivesShown
from proxy.archives.client import RememberedCopies
from repair.memento.asking import Asker
from repair.memento.client import MementoClient
from repair.memento.datetimes import timestamp
from repair.memento.door import NoAnswer
from repair.memento.looking import Looker
from repair.memento.memory import Memory
from repair.memento.model import Memento
from repair.newversion import NewVersion
from repair.pipeline import Repairer
from repair.reader import Reader
from repair.settings import ArchivesSettings, RepairSettings
from tests.fakes import FakeClock
from tests.make import a_page

LOST = "http://lost.test/page"
BASE = "http://archive.test/"
NOW = 1_780_000_000.0


def a_memento(digits="20140301000000", original=LOST, archive="school", base=BASE, **known):
    url = known.pop("url", f"{base}{digits.ljust(14, '0')}/{original}")
    return Memento(url=url, at=timestamp(digits), archive=archive, original=original, **known)


def archived_page(digits="20140301000000", status=200, body=b"<title>Lost</title>", headers=()):
    """What an archive answers where it has a capture."""
    at = timestamp(digits).strftime("%a, %d %b %Y %H:%M:%S GMT")
    return a_page(status=status, body=body, headers=(("Memento-Datetime", at), *headers))


def archives_of(folder, collection, threads, *lines, hints=None, search_template=""):
    """The archives behind the repair page; without lines, none are asked."""
    client = MementoClient(ArchivesSettings(enabled=bool(lines), list=lines), folder)
    repairer = Repairer(collection, RepairSettings(), threads, hints=hints)
    versions = Reader(collection, threads).versions
    shown = ArchivesShown(
        portal=lambda: True, versions=versions, search=repairer.search, search_template=search_template
    )
    return Archives(
        client, RememberedCopies(client), NewVersion(collection, RepairSettings(), hints), threads, shown
    )


class TickingClock(FakeClock):
    """A clock that goes on a little whenever it is looked at."""

    def __call__(self):
        self.now += 0.01
        return self.now


class FakeDoor:
    """Answers by URL; what is not there is a 404, what is an exception is raised, None hangs."""

    def __init__(self, pages):
        self.pages = pages
        self.asked = []
        self.headers = []

    async def get(self, archive, url, *, max_bytes, headers=None):
        if not archive.owns(url):
            raise NoAnswer("leads to a foreign host")
        self.asked.append(url)
        self.headers.append(headers)
        answer = self.pages.get(url, a_page(status=404))
        if answer is None:
            await asyncio.sleep(60)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Asking:
    """An Asker and a Looker over a fake door and a real memory; a context manager."""

    def __init__(self, folder, pages, **settings):
        self.settings = ArchivesSettings(
            archive_deadline_s=settings.pop("archive_deadline_s", 5.0), **settings
        )
        self.clock = TickingClock(NOW)
        self.memory = Memory(folder / "archives.sqlite", max_bytes=10**6, clock=self.clock)
        self.door = FakeDoor(pages)
        self.asker = Asker(self.settings, self.door, self.memory, self.clock)
        self.looker = Looker(self.settings, self.asker, self.memory)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.memory.close()
