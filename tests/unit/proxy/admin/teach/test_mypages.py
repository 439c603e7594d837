"""My pages, topics and suggestions, and the desk's proposals, as a browser uses them."""

import contextlib
import dataclasses

from proxy.admin.auditlog import AuditLog
from proxy.admin.roles import Role
from proxy.settings import Settings, TeachSettings
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicstore import TopicStore
from tests.desks import PASSWORD, a_browser, a_desk, app_of, cheap_passwords
from tests.lessons import OFFERED, some_lessons
from tests.unit.proxy.admin.teach.test_pages import check, make_dead

DEAD = "http://127.0.0.1/one"


@contextlib.asynccontextmanager
async def a_school(folder, *, settings=None):
    """A desk; a browser of two teachers and of a reviewer."""
    settings = settings or Settings()
    cheap_passwords(folder).set_password(PASSWORD + "s")
    async with (
        a_desk(folder, settings=settings) as desk,
        some_lessons(folder, settings=settings, pins=Pins(desk.collection.database)) as lessons,
        contextlib.AsyncExitStack() as stack,
    ):
        topics = stack.enter_context(contextlib.closing(TopicDatabase(folder / "topics")))
        app, browsers = app_of(dataclasses.replace(desk, lessons=lessons, topics=topics)), []
        for name, role in (("Ms A", Role.TEACHER), ("Mr B", Role.TEACHER), ("Rev", Role.REVIEWER)):
            cheap_passwords(folder).set_account(name, role, PASSWORD)
            browser = await stack.enter_async_context(a_browser(app))
            assert (
                await browser.post("/teach/login", {"name": name, "password": PASSWORD}, token="")
            ).status == 303
            browsers.append(browser)
        yield desk, lessons, topics, *browsers


def pinned(desk):
    found = Pins(desk.collection.database).of(DEAD)
    return found.target if found else None


async def fix(browser, path, action="everyone"):
    return await browser.post(f"{path}/link", {"number": "1", "action": action, "url": OFFERED}, on=path)


async def test_fix_for_everybody_waits_for_a_reviewer_who_can_undo_it(tmp_path):
    async with a_school(tmp_path) as (desk, lessons, _, teacher, _, reviewer):
        path = await check(teacher, lessons, links=DEAD)
        make_dead(lessons)
        assert "Fix for everybody" in await teacher.text(path)
        await fix(teacher, path)
        assert pinned(desk) is None
        assert "a reviewer decides" in await teacher.text(path)
        page = await reviewer.text("/admin/proposals")
        assert "Ms A" in page
        assert "ShownAddress" not in page
        await reviewer.post("/admin/proposals/approve", {"id": "1"}, on="/admin/proposals")
        assert pinned(desk) == OFFERED
        assert "Replaced for everybody" in await teacher.text(path)
        await reviewer.post("/admin/proposals/undo", {"id": "1"}, on="/admin/proposals")
        assert pinned(desk) is None
        await reviewer.post("/admin/proposals/refuse", {"id": "1"}, on="/admin/proposals")
        assert "Not accepted" in await teacher.text(path)
    noted = [(each.who, each.action, each.about) for each in AuditLog(tmp_path / "audit.jsonl").recent(20)]
    assert ("Rev", "POST /admin/proposals/approve", "proposal 1 of Ms A, 127.0.0.1") in noted
    assert ("Ms A", "POST /teach/lessons/{id}/link", "lesson 1: everyone") in noted


async def test_fix_at_once_is_pinned_and_taken_back_by_the_teacher(tmp_path):
    settings = dataclasses.replace(Settings(), teach=TeachSettings(fix_at_once=True))
    async with a_school(tmp_path, settings=settings) as (desk, lessons, _, teacher, _, reviewer):
        path = await check(teacher, lessons, links=DEAD)
        await fix(teacher, path)
        assert pinned(desk) is None, "only dead links are replaced"
        make_dead(lessons)
        await fix(teacher, path)
        assert pinned(desk) == OFFERED
        assert "by Ms A" in await reviewer.text("/admin/proposals")
        await fix(teacher, path, "take-back")
        assert pinned(desk) is None


async def test_topic_is_started_within_the_budget_and_never_replaces_one(tmp_path):
    settings = dataclasses.replace(Settings(), teach=TeachSettings(topic_pages=150, topic_bytes=1_000_000))
    async with a_school(tmp_path, settings=settings) as (_, _, topics, teacher, other, _):
        store = TopicStore(topics)
        fields = {"name": "Volcanoes", "words": "lava\nmagma", "seeds": "volcano.test/start", "pages": "100"}
        assert (await teacher.post("/teach/topics", fields, on="/teach/topics")).status == 303
        begun = store.get("Volcanoes")
        assert (begun.words, begun.seeds, begun.max_pages) == (
            ("lava", "magma"),
            ("https://volcano.test/start",),
            100,
        )
        assert begun.max_bytes <= 1_000_000
        again = await other.post("/teach/topics", {**fields, "words": "spam"}, on="/teach/topics")
        assert again.status == 400
        assert "already" in await again.text()
        assert "Volcanoes" not in await other.text("/teach/topics")
        await other.post("/teach/topics/remove", {"name": "Volcanoes"}, on="/teach/topics")
        assert store.get("Volcanoes") == begun
        await teacher.post("/teach/topics", {**fields, "name": "Bees"}, on="/teach/topics")
        assert store.get("Bees").max_pages == 50
        await teacher.post("/teach/topics/remove", {"name": "Bees"}, on="/teach/topics")
        spent = await teacher.post("/teach/topics", {**fields, "name": "More"}, on="/teach/topics")
        assert "used up" in await spent.text()
        assert store.get("More") is None


async def test_suggestions_are_seen_by_whom_they_are_for(tmp_path):
    async with a_school(tmp_path) as (_, lessons, _, teacher, other, reviewer):
        lessons.teachers.suggest("Ms A", DEAD, "<b>bees</b>")
        lessons.teachers.suggest("", DEAD, "honey")
        text = await teacher.text("/teach/suggestions")
        assert "&lt;b&gt;bees" in text
        assert "honey" not in text
        assert "bees" not in await other.text("/teach/suggestions")
        assert "honey" in await reviewer.text("/admin/suggestions")
        await other.post("/teach/suggestions/done", {"id": "1"}, on="/teach/suggestions")
        assert len(lessons.teachers.suggestions("Ms A")) == 1
        await teacher.post("/teach/suggestions/done", {"id": "1"}, on="/teach/suggestions")
        assert lessons.teachers.suggestions("Ms A") == ()


async def test_mail_address_must_be_one(tmp_path):
    async with a_school(tmp_path) as (_, lessons, _, teacher, *_):
        for wrong in ("nobody", "a@b.test\r\nBcc: c@d.test", "a@b.test, c@d.test", "<a@b.test>"):
            assert (await teacher.post("/teach/pages/mail", {"mail": wrong}, on="/teach/pages")).status == 400
        await teacher.post("/teach/pages/mail", {"mail": "a@b.test"}, on="/teach/pages")
        assert lessons.teachers.mail_of("Ms A") == ("a@b.test", "en")
