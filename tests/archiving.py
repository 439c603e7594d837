"""Mementos, archives that answer as told, and the memory of them, for the tests of the archive client."""

import asyncio

from proxy.archives.client import RememberedCopies, archive_http
from proxy.archives.repairpagearchives import ArchiveDisplay, RepairPageArchives
from proxy.reach.policy import ReachPolicy
from repair.collection.asynccollection import AsyncCollection
from repair.memento.archivequery import ArchiveQuerier
from repair.memento.asyncstore import AsyncArchiveStore
from repair.memento.client import MementoClient
from repair.memento.datetimes import timestamp
from repair.memento.model import Memento
from repair.memento.replay import MementoReplay
from repair.newversion import NewVersionQueries
from repair.pipeline import Repairer
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


def memento_client(settings, folder, *, parent="", reach=ReachPolicy, **known):
    """A client of archives that sends real requests."""
    return MementoClient(settings, folder, archive_http(settings, reach=reach, parent=parent), **known)


def archives_of(folder, collection, threads, *lines, hints=None, search_template=""):
    """The archives behind the repair page; without lines, none are asked."""
    client = memento_client(ArchivesSettings(enabled=bool(lines), list=lines), folder)
    repairer = Repairer(collection, RepairSettings(), threads, hints=hints)
    versions = AsyncCollection(collection, threads).versions
    shown = ArchiveDisplay(
        portal=lambda: True, versions=versions, search=repairer.search, search_template=search_template
    )
    return RepairPageArchives(
        client,
        RememberedCopies(client),
        NewVersionQueries(collection, RepairSettings(), hints),
        threads,
        shown,
    )


class TickingClock(FakeClock):
    """A clock that goes on a little whenever it is looked at."""

    def __call__(self):
        self.now += 0.01
        return self.now


class FakeFetcher:
    """Answers by URL; what is not there is a 404, what is an exception is raised, None hangs."""

    def __init__(self, pages):
        self.pages = pages
        self.asked = []
        self.headers = []

    async def get(self, url, *, limits, headers):
        self.asked.append(url)
        self.headers.append(headers)
        answer = self.pages.get(url, a_page(status=404))
        if answer is None:
            await asyncio.sleep(60)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Asking:
    """An Asker and a Looker over a fake client and a real memory; a context manager."""

    def __init__(self, folder, pages, **settings):
        self.settings = ArchivesSettings(
            archive_deadline_s=settings.pop("archive_deadline_s", 5.0), **settings
        )
        self.clock = TickingClock(NOW)
        self.memory = AsyncArchiveStore(folder / "archives.sqlite", max_bytes=10**6, clock=self.clock)
        self.fetcher = FakeFetcher(pages)
        self.asker = ArchiveQuerier(self.settings, self.fetcher, self.memory, self.clock)
        self.looker = MementoReplay(self.settings, self.asker, self.memory)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.memory.close()
