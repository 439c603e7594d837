"""A service of lessons over a folder, for the tests of lessons and of teachers' pages. It reaches nothing."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.queue import FetchQueue
from proxy.lessons.service import LessonService
from proxy.lessons.teacherstore import TEACHER_FILE, TeacherStore
from proxy.reach.policy import ReachPolicy
from proxy.rules.parse import rules_of
from proxy.rules.ruleset import RuleSet
from proxy.settings import Settings
from repair.collection.database import Database
from repair.collection.pins import Pins
from repair.model import Alternative, RankedAlternatives
from repair.soft404.detector import Soft404Detector
from repair.soft404.sitestore import SiteStore

OFFERED = "http://new.test/page"


class OnePage:
    """Offers the same page for every dead link."""

    def __init__(self):
        self.asked = []

    async def repair(self, link, *, within_s=None):
        self.asked.append(link)
        offered = Alternative(url=OFFERED, title="The <b>new</b> page", reasons=("anchor", "no_such_reason"))
        return RankedAlternatives(link=link, alternatives=(offered,))


class NoPages:
    """A collection without pages."""

    async def page(self, url):
        return None


@contextlib.asynccontextmanager
async def some_lessons(folder, *, rules="", settings=None, repairs=None, saved=None, pins=None):
    """The service; its rules are given as text. Addresses of this machine are out of reach, so it sends nothing."""
    queue, threads = FetchQueue(folder / "queue.sqlite"), ThreadPoolExecutor(1)
    ruleset = RuleSet(rules_of(rules, "a.toml", lambda name: "")[0])
    settings = settings or Settings()
    sites, teachers = (
        SiteStore(folder / "lesson-sites.sqlite"),
        TeacherStore(folder / "lessons" / TEACHER_FILE),
    )
    database = Database(folder / "pins.sqlite")
    service = LessonService(
        folder / "lessons",
        settings=lambda: settings,
        reach=ReachPolicy,
        rules=lambda: ruleset,
        tls=True,
        detector=Soft404Detector(sites, threads),
        connectivity=Connectivity(),
        repairs=repairs or OnePage(),
        saved=saved or NoPages(),
        fetches=queue,
        turns=folder / "hosts",
        teachers=teachers,
        pins=pins or Pins(database),
    )
    try:
        yield service
    finally:
        await service.close()
        for store in (queue, sites, teachers, database):
            store.close()
        threads.shutdown()
