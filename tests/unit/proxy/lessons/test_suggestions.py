"""What pupils looked for: whom it reaches, what is kept of it, and how much."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from proxy.lessons.model import LessonLink, Replacement
from proxy.lessons.store import LessonStore
from proxy.lessons.suggestions import EACH_DAY, MAX_WORDS, NETWORK_DAY, Suggestions
from proxy.lessons.teacherstore import TeacherStore
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from repair.parse.formats.worksheets.model import WorksheetFormat
from tests.desks import a_miss

DEAD, COURSE = "http://school.test/gone", "http://course.test/biology"


class School:
    def __init__(self, folder):
        self.now = datetime.now(UTC)
        self.folder = folder
        self.misses = MissStore(folder / "misses", MissesSettings())
        self.teachers = TeacherStore(folder / "teachers.sqlite", clock=lambda: self.now.timestamp())
        self.lessons = LessonStore(folder / "lessons.sqlite")
        self.service = Suggestions(
            self.teachers, self.misses, retention_days=lambda: 90, clock=lambda: self.now
        )
        self.service.owner_of_link = self.lessons.owner_of_link

    def add_lesson(self, owner, *, page="", shared=False, url=DEAD):
        lesson = self.lessons.add(
            owner, "t", WorksheetFormat.TEXT, [LessonLink(number=1, written=url, url=url)]
        )
        if page:
            self.lessons.watch(lesson.id, page)
        return self.lessons.publish(lesson.id) if shared else ""

    async def say(self, words="volcanoes in Kenya", *, client="c1", by=None, **known):
        miss = a_miss(**{"at": self.now, "client": client, **known})
        self.misses.record(miss)
        self.misses.flush()
        return await self.service.suggest(miss.id, words, client=by or client)

    def words_for(self, owner):
        return [each.words for each in self.teachers.suggestions(owner)]


@pytest.fixture
def school(tmp_path):
    school = School(tmp_path)
    with (
        contextlib.closing(school.misses),
        contextlib.closing(school.teachers),
        contextlib.closing(school.lessons),
    ):
        yield school


async def test_words_reach_the_teacher_on_whose_page_the_link_stood(school):
    school.add_lesson("Mr B", shared=True)
    school.add_lesson("Ms A", page=COURSE, url="http://elsewhere.test/")
    assert await school.say(source_url="https://www.course.test/biology/")
    assert (school.words_for("Ms A"), school.words_for("Mr B"), school.words_for("")) == (
        ["volcanoes in Kenya"],
        [],
        [],
    )


async def test_words_reach_the_teacher_whose_shared_lesson_has_the_link(school):
    school.add_lesson("Mr B")
    school.add_lesson("Ms A", shared=True)
    assert await school.say("one")
    assert await school.say("two", url="https://www.school.test/gone")
    assert (school.words_for("Ms A"), school.words_for("Mr B")) == (["two", "one"], [])


async def test_other_words_reach_the_reviewers(school):
    school.add_lesson("Mr B")
    assert await school.say()
    assert (school.words_for(""), school.words_for("Mr B")) == (["volcanoes in Kenya"], [])


async def test_only_who_missed_the_page_may_say_something_and_only_once(school):
    assert not await school.say(by="another")
    assert not await school.service.suggest("x" * 22, "words", client="c1")
    miss = a_miss(client="c2")
    school.misses.record(miss)
    school.misses.flush()
    assert await school.service.suggest(miss.id, "words", client="c2")
    assert not await school.service.suggest(miss.id, "more words", client="c2")


async def test_a_client_may_say_only_so_much_in_a_day(school):
    said = [await school.say(f"topic {'abcdefghij'[n]}") for n in range(EACH_DAY + 2)]
    assert said == [True] * EACH_DAY + [False] * 2
    assert await school.say("another", client="c2")
    school.now += timedelta(days=1)
    assert await school.say("the next day")


async def test_nothing_says_who_wrote_it_and_private_words_are_dropped(school):
    await school.say(
        "lava\nfrom <b>me</b> pupil@school.test 0712345678 http://a.test/?token=9f8e7d6c5b4a39281706f5e4d3c2b1a0 "
        + "x" * 900,
        client="client-hash-1",
        url="http://school.test/reset?token=9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    )
    [kept] = school.teachers.suggestions("")
    assert kept.words.startswith("lava from <b>me</b> x")
    assert len(kept.words) <= MAX_WORDS
    school.teachers._empty_journal()
    stored = (school.folder / "teachers.sqlite").read_bytes()
    for private in (b"client-hash-1", b"9f8e7d6c", b"pupil@", b"0712345678"):
        assert private not in stored


async def test_words_are_what_growing_looks_for(school):
    await school.say("volcanoes in Kenya")
    school.misses.flush()
    found = school.misses.read("SELECT words FROM searches", ())
    assert [row["words"] for row in found] == ["volcanoes in kenya"]


async def test_words_are_erased_when_misses_are(school):
    await school.say()
    school.now += timedelta(days=92)
    school.teachers.expire(90)
    assert school.words_for("") == []


def test_removed_page_leaves_lessons_and_the_pages_of_teachers(school):
    school.add_lesson("Ms A")
    school.add_lesson("Ms A", page="http://gone.test/page")
    offered = Replacement(url="https://gone.test/page", title="A private title")
    school.lessons.change(
        1,
        1,
        lambda link: replace(
            link, replacements=(offered,), taken="http://gone.test/page", held_on="2026-01-01"
        ),
    )
    assert school.lessons.forget("http://gone.test/page") == 2
    [link] = school.lessons.links(1)
    assert (link.url, link.taken, link.replacements) == (DEAD, "", ())
    assert school.lessons.of("Ms A", watched=True) == ()
    for file in school.folder.glob("lessons.sqlite*"):
        assert b"private title" not in file.read_bytes()
        assert b"gone.test" not in file.read_bytes()


async def test_a_form_that_another_site_sends_takes_nothing_from_its_user(school):
    for number in range(3 * EACH_DAY):
        assert not await school.service.suggest(f"made-up-{number}", "nonsense", client="c1")
    assert await school.say()


async def test_many_addresses_of_one_network_leave_room_for_others(school):
    kept = [await school.say(client=f"aaaaaa{number:010}") for number in range(NETWORK_DAY + 5)]
    assert (kept.count(True), kept[-1]) == (NETWORK_DAY, False)
    assert await school.say(client="bbbbbb0000000001")
