"""The way in, as a browser goes it."""

import asyncio
import re

import pytest

from proxy.desk.app import DeskApp
from proxy.desk.passwords import Passwords
from proxy.settings import DeskSettings, Settings
from tests.desks import DOOR, PASSWORD, a_browser, a_desk, an_admin

STUDENT = DOOR.headers_for("10.0.0.66", secure=False)
STUDENT_HTTPS = DOOR.headers_for("10.0.0.66", secure=True)
PORTAL = {"Origin": "http://linkmend.internal"}


async def log_in(browser, password=PASSWORD, headers=None, **fields):
    return await browser.post("/admin/login", {"password": password, **fields}, token="", headers=headers)


async def test_who_is_not_logged_in_is_sent_to_the_login_page(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await browser.get("/admin/access")
        assert response.status == 303
        assert response.headers["Location"] == "/admin/login?next=%2Fadmin%2Faccess"


async def test_the_first_password_is_set_with_the_code_and_opens_the_desk(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        assert "The desk" in await browser.text("/admin")


async def test_at_the_machine_itself_the_first_password_needs_the_code_too(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD}
        response = await browser.post("/admin/first-password", fields, token="")
        assert response.status == 403
        assert Passwords(tmp_path / "desk.json").kept().password is None


async def test_the_address_in_the_log_fills_in_the_code(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        assert 'value="ABCDE-FGHJK"' in await browser.text("/admin/login?code=ABCDE-FGHJK")


async def test_through_the_proxy_the_first_password_needs_the_code_of_the_log(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD, "code": "AAAAA-AAAAA"}
        headers = {**STUDENT, **PORTAL}
        shown = await browser.get("/admin/login", headers=STUDENT)
        assert 'name="code"' in await shown.text()
        response = await browser.post("/admin/first-password", fields, token="", headers=headers)
        assert response.status == 403
        assert Passwords(tmp_path / "desk.json").kept().password is None


@pytest.mark.parametrize("name", ["Via", "X-Forwarded-For", "Forwarded"])
async def test_through_somebody_elses_proxy_on_this_machine_it_needs_the_code_too(tmp_path, name):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD}
        response = await browser.post("/admin/first-password", fields, token="", headers={name: "1.1 squid"})
        assert response.status == 403


async def test_of_two_who_set_the_first_password_at_once_one_gets_in(tmp_path):
    async with a_desk(tmp_path) as desk:
        app = DeskApp(desk, DOOR)
        code = app.login.setup_code
        given = [{"password": word, "again": word, "code": code} for word in (PASSWORD, PASSWORD[::-1])]
        async with a_browser(app) as browser:
            answers = await asyncio.gather(
                *(browser.post("/admin/first-password", fields, token="") for fields in given)
            )
        assert sorted("Set-Cookie" in answer.headers for answer in answers) == [False, True]


async def test_with_the_code_the_first_password_is_set_from_elsewhere(tmp_path):
    async with a_desk(tmp_path) as desk:
        app = DeskApp(desk, DOOR)
        async with a_browser(app) as browser:
            fields = {"password": PASSWORD, "again": PASSWORD, "code": app.login.setup_code.lower()}
            headers = {**STUDENT, **PORTAL}
            response = await browser.post("/admin/first-password", fields, token="", headers=headers)
            assert response.status == 303


async def test_nobody_sets_a_first_password_twice(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        before = Passwords(tmp_path / "desk.json").kept()
        fields = {"password": "a thief's password", "again": "a thief's password"}
        response = await browser.post("/admin/first-password", fields, token="")
        assert response.headers["Location"] == "/admin/login"
        assert Passwords(tmp_path / "desk.json").kept() == before


async def test_the_password_opens_the_desk_and_leads_to_the_page_that_was_wanted(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await log_in(browser, next="/admin/access")
        assert (response.status, response.headers["Location"]) == (303, "/admin/access")
        assert "Tokens for programs" in await browser.text("/admin/access")


async def test_the_login_leads_to_no_other_site_and_writes_no_header(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        for wanted in (
            "//evil.test/",
            "https://evil.test/",
            "/admin\\@evil.test",
            "/admin\r\nSet-Cookie: a=b",
            "/",
        ):
            response = await log_in(browser, next=wanted)
            assert (response.status, response.headers["Location"]) == (303, "/admin"), wanted
            assert len(response.headers.getall("Set-Cookie")) == 1
            await browser.post("/admin/logout")


async def test_a_wrong_password_opens_nothing(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await log_in(browser, "wrong horse battery")
        assert response.status == 403
        assert "Set-Cookie" not in response.headers
        assert (await browser.get("/admin")).status == 303


async def test_guessing_is_stopped_and_the_right_password_waits_too(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        headers = {**STUDENT, **PORTAL}
        statuses = [(await log_in(browser, f"guess {n}", headers)).status for n in range(7)]
        assert statuses == [403] * 5 + [429] * 2
        refused = await log_in(browser, PASSWORD, headers)
        assert refused.status == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 31


async def test_a_student_who_guesses_does_not_keep_the_admin_out(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        for number in range(30):
            headers = {**DOOR.headers_for(f"10.0.9.{number}", secure=False), **PORTAL}
            for _ in range(2):
                await log_in(browser, "x", headers)
        assert (await log_in(browser)).status == 303


async def test_the_cookie_is_kept_from_scripts_and_other_sites(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        cookie = (await log_in(browser)).headers["Set-Cookie"]
        assert cookie.startswith("linkmend-desk=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/admin"} <= set(cookie.split("; "))


async def test_over_https_the_cookie_goes_over_https_only(tmp_path):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        headers = {**STUDENT_HTTPS, "Origin": "https://linkmend.internal"}
        cookie = (await log_in(browser, headers=headers)).headers["Set-Cookie"]
        assert cookie.startswith("__Host-linkmend-desk=")
        assert {"HttpOnly", "SameSite=Strict", "Secure", "Path=/"} <= set(cookie.split("; "))


async def test_in_the_clear_the_login_page_says_so(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        plain = await (await browser.get("/admin/login", headers=STUDENT)).text()
        secure = await (await browser.get("/admin/login", headers=STUDENT_HTTPS)).text()
        assert "unencrypted" in plain
        assert "unencrypted" not in secure


async def test_who_logs_out_is_out_even_with_the_old_cookie(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        cookie = next(iter(browser.client.session.cookie_jar)).value
        assert (await browser.post("/admin/logout")).status == 303
        again = await browser.get("/admin", headers={"Cookie": f"linkmend-desk={cookie}"})
        assert again.status == 303


async def test_a_new_password_ends_all_sessions(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        new = "another horse battery"
        response = await browser.post(
            "/admin/access/password", {"old": PASSWORD, "password": new, "again": new}
        )
        assert response.headers["Location"] == "/admin/login"
        assert (await browser.get("/admin")).status == 303
        assert (await log_in(browser, PASSWORD)).status == 403
        assert (await log_in(browser, new)).status == 303


async def test_a_password_set_on_the_command_line_ends_all_sessions_too(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        Passwords(tmp_path / "desk.json").set_password("another horse battery")
        assert (await browser.get("/admin")).status == 303


async def test_an_open_browser_is_not_enough_to_change_the_password(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        new = "another horse battery"
        response = await browser.post("/admin/access/password", {"old": "?", "password": new, "again": new})
        assert response.status == 400
        assert (await browser.get("/admin")).status == 200


async def test_a_token_made_on_the_desk_opens_the_api_until_it_is_removed(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        shown = await (
            await browser.post("/admin/access/token", {"name": "backup", "scope-read": "1"})
        ).text()
        token = re.search(r">(lm_[^<]+)<", shown)[1]
        assert token not in await browser.text("/admin/access")
        headers = {"Authorization": f"Bearer {token}"}
        await browser.post("/admin/logout")
        assert (await browser.get("/admin/api/openapi.json", headers=headers)).status == 200
        Passwords(tmp_path / "desk.json").remove_token("backup")
        assert (await browser.get("/admin/api/openapi.json", headers=headers)).status == 401


async def test_a_session_lasts_as_long_as_the_settings_say(tmp_path):
    settings = Settings(desk=DeskSettings(session_hours=0.0))
    async with a_desk(tmp_path, settings=settings) as desk, an_admin(desk) as browser:
        assert (await browser.get("/admin")).status == 303
