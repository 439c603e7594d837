"""The teachers' pages, as a browser uses them: logging in, checking, changing, sharing."""

import contextlib
import dataclasses
import re

import aiohttp
import pytest
from msgspec.structs import replace

from proxy.admin.auditlog import AuditLog
from proxy.admin.roles import Role
from proxy.lessons.model import CheckState, LinkFinding, Replacement
from proxy.settings import Settings, TeachSettings
from repair.model import MissKind
from tests.desks import PASSWORD, a_browser, a_desk, app_of, cheap_passwords, through_proxy
from tests.lessons import OFFERED, some_lessons

BLOCK = '[[rule]]\nname = "games"\nurl = "*/games/*"\naction = "block"\n'
LINKS = "http://127.0.0.1/one\nhttp://games.test/games/1\nwww.127.0.0.1.invalid/games/2"


@contextlib.asynccontextmanager
async def a_school(folder, *names, settings=None):
    """A desk with lessons, and a browser for each of these teachers."""
    cheap_passwords(folder).set_password(PASSWORD + "s")
    async with (
        some_lessons(folder, rules=BLOCK, settings=settings) as lessons,
        a_desk(folder, settings=settings) as desk,
        contextlib.AsyncExitStack() as stack,
    ):
        app = app_of(dataclasses.replace(desk, lessons=lessons))
        browsers = []
        for name in names:
            cheap_passwords(folder).set_account(name, Role.TEACHER, PASSWORD)
            browser = await stack.enter_async_context(a_browser(app))
            response = await browser.post("/teach/login", {"name": name, "password": PASSWORD}, token="")
            assert (response.status, response.headers["Location"]) == (303, "/teach")
            browsers.append(browser)
        yield app, lessons, *browsers


async def check(browser, lessons, **fields):
    """Start a check and wait until it is done; returns the path of the lesson."""
    response = await browser.post("/teach/lessons", {"links": LINKS, **fields}, on="/teach")
    assert response.status == 303, await response.text()
    while lessons.store.unfinished():
        await lessons.start()
        await lessons.checks.wait()
    return response.headers["Location"]


def make_dead(lessons, number=1):
    """Pretend that a link was found dead, with one replacement."""
    lessons.store.change(
        1,
        number,
        lambda link: replace(
            link,
            found=LinkFinding(state=CheckState.DEAD, kind=MissKind.NOT_FOUND, size=2_000),
            replacements=(Replacement(url=OFFERED, title="<b>New</b>", reasons=("anchor", "unheard-of")),),
        ),
    )


async def test_pasted_links_are_checked_and_shown_with_their_states(tmp_path):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        text = await browser.text(await check(browser, lessons, title="Rocks <i>"))
        assert "Rocks &lt;i&gt;" in text
        assert text.count("Cannot be opened here") == 2  # in the summary, and at the link
        assert "Rule: games" in text
        assert 'http-equiv="refresh"' not in text


async def test_page_reloads_itself_while_links_are_checked(tmp_path):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        path = await check(browser, lessons)
        lessons.store.change(1, 1, lambda link: replace(link, found=LinkFinding(state=CheckState.WAITING)))
        text = await browser.text(path)
        assert '<meta http-equiv="refresh" content="2">' in text
        assert "2 of 3 links checked" in text


async def test_replacement_is_taken_and_taken_back(tmp_path):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        path = await check(browser, lessons)
        make_dead(lessons)
        text = await browser.text(path)
        assert "Matches the link text" in text
        assert "<b>New</b>" not in text
        sent = {"number": "1", "action": "take", "url": OFFERED}
        assert (await browser.post(f"{path}/link", sent, on=path)).status == 303
        assert lessons.store.links(1)[0].target == OFFERED
        await browser.post(f"{path}/link", {"number": "1", "action": "undo"}, on=path)
        assert lessons.store.links(1)[0].taken == ""


async def test_page_is_kept_for_offline_by_the_fetch_queue(tmp_path):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        path = await check(browser, lessons)
        make_dead(lessons)
        await browser.post(f"{path}/link", {"number": "1", "action": "take", "url": OFFERED}, on=path)
        await browser.post(f"{path}/link", {"number": "1", "action": "night"}, on=path)
        assert lessons._fetches.find(OFFERED).when == "night"
        assert "Will be fetched" in await browser.text(path)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "", "ftp://a.test/", "http://u:p@a.test/"])
async def test_only_web_addresses_replace_a_link(tmp_path, url):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        path = await check(browser, lessons)
        await browser.post(f"{path}/link", {"number": "1", "action": "take", "url": url}, on=path)
        assert lessons.store.links(1)[0].taken == ""


async def test_admin_is_asked_to_unblock_and_settles_it(tmp_path):
    async with a_school(tmp_path, "Ms A") as (app, lessons, browser), a_browser(app) as admin:
        path = await check(browser, lessons)
        await browser.post(f"{path}/link", {"number": "2", "action": "unblock"}, on=path)
        assert "The admin has been asked" in await browser.text(path)
        await admin.post("/admin/login", {"password": PASSWORD + "s"}, token="")
        assert "games.test" in await admin.text("/admin/requests")
        await admin.post("/admin/requests/settle", {"id": "1"})
        assert "games.test" not in await admin.text("/admin/requests")


async def test_teacher_reaches_only_lessons_of_their_own(tmp_path):
    async with a_school(tmp_path, "Ms A", "Mr B") as (_, lessons, mine, others):
        path = await check(mine, lessons)
        for tail in ("", "/document", "/list"):
            assert (await others.get(path + tail)).status == 404
        for tail in ("/link", "/keep", "/again", "/publish", "/withdraw", "/remove"):
            assert (
                await others.post(path + tail, {"number": "1", "action": "undo"}, on="/teach")
            ).status == 404
        assert path not in await others.text("/teach")


async def test_lesson_page_is_for_everybody_who_has_its_address_until_it_is_withdrawn(tmp_path):
    async with a_school(tmp_path, "Ms A") as (app, lessons, browser), a_browser(app) as pupil:
        path = await check(browser, lessons, title="Rocks")
        assert (await pupil.get("/l/abcdef")).status == 404
        await browser.post(f"{path}/publish", on=path)
        text = await browser.text(path)
        code = re.search(r"linkmend\.internal/l/([a-z0-9]{6})<", text)[1]
        assert "<svg" in text.partition('class="qr"')[2]
        shown = await pupil.text(f"/l/{code}")
        assert "Rocks" in shown
        assert "http://127.0.0.1/one" in shown
        assert "games.test" not in shown
        assert "Ms A" not in shown
        await browser.post(f"{path}/withdraw", on=path)
        assert (await pupil.get(f"/l/{code}")).status == 404


async def test_uploaded_document_comes_back_as_a_download_with_one_link_changed(tmp_path):
    html = b'<p><a href="http://127.0.0.1/one">one</a> <a href="http://games.test/games/1">two</a></p>'
    async with a_school(tmp_path, "Ms A") as (_, _, browser):
        data = aiohttp.FormData({"csrf": await browser.token("/teach"), "title": ""})
        data.add_field("file", html, filename="sheet.HTML", content_type="text/html")
        sent = await browser.client.post(
            "/teach/lessons", data=data, headers={"Origin": browser.origin}, allow_redirects=False
        )
        path = sent.headers["Location"]
        await browser.post(f"{path}/link", {"number": "1", "action": "take", "url": OFFERED}, on=path)
        response = await browser.get(f"{path}/document")
        assert await response.read() == html.replace(b"http://127.0.0.1/one", OFFERED.encode())
        assert (
            response.headers["Content-Disposition"]
            == "attachment; filename=\"sheet.HTML\"; filename*=UTF-8''sheet.HTML"
        )
        assert "sandbox" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("a.exe", b"MZ", "not read"),
        ("a.docx", b"no zip at all", "cannot be read"),
        ("a.md", b"no links", "No links"),
        ("a.txt", b"x" * 3_000_000, "too large"),
    ],
)
async def test_unsuitable_files_are_refused_in_words(tmp_path, name, body, words):
    settings = Settings(teach=TeachSettings(max_upload_bytes=2_950_000))
    async with a_school(tmp_path, "Ms A", settings=settings) as (_, _, browser):
        data = aiohttp.FormData({"csrf": await browser.token("/teach")})
        data.add_field("file", body, filename=name)
        response = await browser.client.post(
            "/teach/lessons", data=data, headers={"Origin": browser.origin}, allow_redirects=False
        )
        assert response.status == 400
        assert words in await response.text()


async def test_over_plain_http_nobody_can_log_in_but_is_led_to_https(tmp_path):
    async with a_school(tmp_path) as (app, _), a_browser(app) as browser:
        cheap_passwords(tmp_path).set_account("Ms A", Role.TEACHER, PASSWORD)
        plain = {**through_proxy("10.0.0.9", secure=False), "Origin": "http://linkmend.internal"}
        shown = await (await browser.get("/teach/login", headers=plain)).text()
        assert 'href="https://linkmend.internal/teach"' in shown
        assert "password" not in shown
        sent = {"name": "Ms A", "password": PASSWORD}
        response = await browser.post("/teach/login", sent, token="", headers=plain)
        assert "Set-Cookie" not in response.headers
        secure = {**through_proxy("10.0.0.9", secure=True), "Origin": "https://linkmend.internal"}
        response = await browser.post("/teach/login", sent, token="", headers=secure)
        assert response.headers["Set-Cookie"].startswith("__Host-linkmend-desk=")


async def test_with_https_switched_off_plain_http_is_warned(tmp_path):
    settings = Settings(teach=TeachSettings(https=False))
    async with a_school(tmp_path, settings=settings) as (app, _), a_browser(app) as browser:
        plain = through_proxy("10.0.0.9", secure=False)
        assert "not encrypted" in await (await browser.get("/teach/login", headers=plain)).text()


async def test_switched_off_pages_are_not_there(tmp_path):
    settings = Settings(teach=TeachSettings(enabled=False))
    async with a_school(tmp_path, settings=settings) as (app, _), a_browser(app) as browser:
        for path in ("/teach", "/teach/login", "/l/abcdef"):
            assert (await browser.get(path)).status == 404


async def test_wrong_password_is_refused_and_tries_are_limited(tmp_path):
    async with a_school(tmp_path) as (app, _), a_browser(app) as browser:
        statuses = [
            (await browser.post("/teach/login", {"code": "AAAA-BBBB-CCCC"}, token="")).status
            for _ in range(6)
        ]
        assert statuses == [403] * 5 + [429]


async def test_changes_need_the_token_of_a_form_and_are_in_the_audit_log(tmp_path):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        response = await browser.post("/teach/lessons", {"links": LINKS}, token="wrong")
        assert response.status == 403
        await check(browser, lessons)
    entry = AuditLog(tmp_path / "audit.jsonl").recent(1)[0]
    assert (entry.who, entry.role, entry.action) == ("Ms A", "teacher", "POST /teach/lessons")


async def test_pages_speak_the_language_of_the_browser(tmp_path):
    async with a_school(tmp_path, "Ms A") as (_, lessons, browser):
        path = await check(browser, lessons)
        text = await (await browser.get(path, headers={"Accept-Language": "ar"})).text()
        assert 'dir="rtl"' in text
        assert "محجوب" in text
