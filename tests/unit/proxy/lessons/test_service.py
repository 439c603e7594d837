"""Lessons from a worksheet to its corrected copy, without any network."""

from datetime import UTC, datetime

import pytest

from proxy.lessons.errors import WorksheetError
from proxy.lessons.model import CheckState, LinkFinding
from proxy.settings import ProxySettings, Settings, TeachSettings
from repair.model import HeldPage, MissKind
from repair.parse.formats.worksheets.model import WorksheetFormat
from tests.lessons import OFFERED, OnePage, some_lessons

BLOCK = '[[rule]]\nname = "games"\nurl = "*/games/*"\naction = "block"\nclient = ["10.0.3.0/24"]\n'
SHEET = b"# Rocks\n\n[basalt columns](http://a.test/games/1#top) are old. http://a.test/games/2 http://a.test/games/1#top\n"


async def a_lesson(lessons, data=SHEET, format_=WorksheetFormat.MARKDOWN):
    lesson = await lessons.check_worksheet("A", "", format_, data, file_name="a.md")
    await lessons.checks.wait()
    return lesson


async def test_links_are_checked_once_each_under_the_rules_of_every_network(tmp_path):
    async with some_lessons(tmp_path, rules=BLOCK) as lessons:
        lesson = await a_lesson(lessons)
        links = lessons.store.links(lesson.id)
        assert lesson.title == "Rocks"
        assert [(link.url, link.found.state, link.found.rule) for link in links] == [
            ("http://a.test/games/1", CheckState.BLOCKED, "games"),
            ("http://a.test/games/2", CheckState.BLOCKED, "games"),
        ]
        assert links[0].anchor == "basalt columns"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/x", "http://[::1]/", "http://169.254.169.254/", "http://localhost/", "http://0/"],
)
async def test_nothing_of_this_machine_or_its_cloud_is_reached(tmp_path, url):
    async with some_lessons(tmp_path) as lessons:
        lesson = await a_lesson(lessons, url.encode(), WorksheetFormat.TEXT)
        assert lessons.store.links(lesson.id)[0].found.state is CheckState.FORBIDDEN


async def test_page_of_this_machine_is_not_read_for_its_links(tmp_path):
    async with some_lessons(tmp_path) as lessons:
        with pytest.raises(WorksheetError, match="no_page"):
            await lessons.check_page("A", "", "http://127.0.0.1/course")
        with pytest.raises(WorksheetError, match="no_address"):
            await lessons.check_page("A", "", "file:///etc/passwd")


async def test_offline_nothing_is_requested_and_nothing_claimed(tmp_path):
    settings = Settings(proxy=ProxySettings(offline=True))
    async with some_lessons(tmp_path, settings=settings) as lessons:
        lesson = await a_lesson(lessons, b"http://a.test/", WorksheetFormat.TEXT)
        assert lessons.store.links(lesson.id)[0].found.state is CheckState.UNKNOWN


async def test_dead_link_gets_replacements_by_its_words_and_the_day_it_was_saved(tmp_path, monkeypatch):
    repairs = OnePage()

    class Saved:
        async def page(self, url):
            at = datetime(2026, 5, 3, 12, tzinfo=UTC)
            return HeldPage(
                url=url, title="", text="", language="", fetched_at=at, pinned=False, has_copy=True
            )

    async def dead(url):
        return LinkFinding(state=CheckState.DEAD, kind=MissKind.GONE)

    async with some_lessons(tmp_path, repairs=repairs, saved=Saved()) as lessons:
        monkeypatch.setattr(lessons._checker, "check", dead)
        lesson = await a_lesson(lessons)
        link = lessons.store.links(lesson.id)[0]
        assert link.held_on == "2026-05-03"
        assert [each.url for each in link.replacements] == [OFFERED]
    assert (repairs.asked[0].kind, repairs.asked[0].anchor) == (MissKind.GONE, "basalt columns")


async def test_corrected_document_has_the_replacement_wherever_the_link_was(tmp_path):
    async with some_lessons(tmp_path, rules=BLOCK) as lessons:
        lesson = await a_lesson(lessons)
        assert await lessons.corrected(lesson) == SHEET
        await lessons.take(lesson.id, 1, OFFERED)
        assert await lessons.corrected(lesson) == SHEET.replace(
            b"http://a.test/games/1#top", OFFERED.encode()
        )


async def test_restart_goes_on_with_what_waits(tmp_path):
    async with some_lessons(tmp_path, rules=BLOCK) as lessons:
        lesson = await a_lesson(lessons)
        await lessons.check_again(lesson.id)
    async with some_lessons(tmp_path, rules=BLOCK) as lessons:
        await lessons.start()
        await lessons.checks.wait()
        assert {link.found.state for link in lessons.store.links(lesson.id)} == {CheckState.BLOCKED}


async def test_further_links_than_allowed_are_left_out(tmp_path):
    settings = Settings(teach=TeachSettings(max_links=3))
    async with some_lessons(tmp_path, rules=BLOCK, settings=settings) as lessons:
        many = "\n".join(f"http://a.test/games/{n}" for n in range(9)).encode()
        lesson = await a_lesson(lessons, many, WorksheetFormat.TEXT)
        assert len(lessons.store.links(lesson.id)) == 3


@pytest.mark.parametrize(
    ("format_", "data"),
    [
        (WorksheetFormat.DOCX, b"PK\x03\x04 broken"),
        (WorksheetFormat.PDF, b"not a PDF"),
        (WorksheetFormat.HTML, "<a href='http://a.test/'>".encode("utf-16")),
    ],
)
async def test_unreadable_worksheet_makes_no_lesson(tmp_path, format_, data):
    async with some_lessons(tmp_path) as lessons:
        with pytest.raises(WorksheetError, match="unreadable"):
            await lessons.check_worksheet("A", "", format_, data)
        assert lessons.store.of("A") == ()


async def test_personal_address_is_not_kept(tmp_path):
    async with some_lessons(tmp_path, rules=BLOCK) as lessons:
        lesson = await a_lesson(
            lessons, b"http://a.test/games/x?token=0123456789abcdef0123456789abcdef", WorksheetFormat.TEXT
        )
        with pytest.raises(WorksheetError, match="not_queued"):
            await lessons.keep(lesson.id, 1, "now")


class FaultyCollection:
    """A collection that fails as only a fault of ours would, for one page."""

    async def page(self, url):
        if url.endswith("/1"):
            raise RuntimeError("a fault")


async def test_fault_costs_one_link_and_not_the_whole_check(tmp_path):
    offline = Settings(proxy=ProxySettings(offline=True))
    async with some_lessons(tmp_path, settings=offline, saved=FaultyCollection()) as lessons:
        lesson = await a_lesson(lessons)
        states = [link.found.state for link in lessons.store.links(lesson.id)]
        assert states == [CheckState.UNKNOWN, CheckState.UNKNOWN]
        assert lessons.store.unfinished() == ()
