"""The login, as a browser uses it."""

import asyncio
import re

import pytest

from proxy.settings import AdminSettings, Settings
from tests.desks import PASSWORD, a_browser, a_desk, an_admin, app_of, cheap_passwords, through_proxy

STUDENT = through_proxy("10.0.0.66", secure=False)
STUDENT_HTTPS = through_proxy("10.0.0.66", secure=True)
PORTAL = {"Origin": "http://linkmend.internal"}


async def log_in(browser, password=PASSWORD, headers=None, **fields):
    return await browser.post("/admin/login", {"password": password, **fields}, token="", headers=headers)


async def test_anonymous_user_is_redirected_to_the_login_page(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await browser.get("/admin/access")
        assert response.status == 303
        assert response.headers["Location"] == "/admin/login?next=%2Fadmin%2Faccess"


async def test_first_password_is_set_with_the_setup_code_and_logs_in(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        assert "Admin desk" in await browser.text("/admin")


async def test_local_client_needs_the_setup_code_too(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD}
        response = await browser.post("/admin/first-password", fields, token="")
        assert response.status == 403
        assert cheap_passwords(tmp_path).load().password is None


async def test_the_address_in_the_log_fills_in_the_code(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        assert 'value="ABCDE-FGHJK"' in await browser.text("/admin/login?code=ABCDE-FGHJK")


async def test_client_through_the_proxy_needs_the_setup_code(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD, "code": "AAAAA-AAAAA"}
        headers = {**STUDENT, **PORTAL}
        shown = await browser.get("/admin/login", headers=STUDENT)
        assert 'name="code"' in await shown.text()
        response = await browser.post("/admin/first-password", fields, token="", headers=headers)
        assert response.status == 403
        assert cheap_passwords(tmp_path).load().password is None


@pytest.mark.parametrize("name", ["Via", "X-Forwarded-For", "Forwarded"])
async def test_client_through_another_local_proxy_needs_the_setup_code(tmp_path, name):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD}
        response = await browser.post("/admin/first-password", fields, token="", headers={name: "1.1 squid"})
        assert response.status == 403


async def test_of_two_simultaneous_first_passwords_one_wins(tmp_path):
    async with a_desk(tmp_path) as desk:
        app = app_of(desk)
        code = app.login.setup_code
        given = [{"password": word, "again": word, "code": code} for word in (PASSWORD, PASSWORD[::-1])]
        async with a_browser(app) as browser:
            answers = await asyncio.gather(
                *(browser.post("/admin/first-password", fields, token="") for fields in given)
            )
        assert sorted("Set-Cookie" in answer.headers for answer in answers) == [False, True]


async def test_with_the_code_the_first_password_is_set_from_elsewhere(tmp_path):
    async with a_desk(tmp_path) as desk:
        app = app_of(desk)
        async with a_browser(app) as browser:
            fields = {"password": PASSWORD, "again": PASSWORD, "code": app.login.setup_code.lower()}
            headers = {**STUDENT, **PORTAL}
            response = await browser.post("/admin/first-password", fields, token="", headers=headers)
            assert response.status == 303


async def test_first_password_can_be_set_only_once(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        before = cheap_passwords(tmp_path).load()
        fields = {"password": "a thief's password", "again": "a thief's password"}
        response = await browser.post("/admin/first-password", fields, token="")
        assert response.headers["Location"] == "/admin/login"
        assert cheap_passwords(tmp_path).load() == before


async def test_login_redirects_to_the_requested_page(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await log_in(browser, next="/admin/access")
        assert (response.status, response.headers["Location"]) == (303, "/admin/access")
        assert "API tokens" in await browser.text("/admin/access")


async def test_login_redirect_cannot_leave_the_site_or_inject_headers(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
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


async def test_wrong_password_is_refused(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await log_in(browser, "wrong horse battery")
        assert response.status == 403
        assert "Set-Cookie" not in response.headers
        assert (await browser.get("/admin")).status == 303


async def test_rate_limit_applies_to_the_right_password_too(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        headers = {**STUDENT, **PORTAL}
        statuses = [(await log_in(browser, f"guess {n}", headers)).status for n in range(7)]
        assert statuses == [403] * 5 + [429] * 2
        refused = await log_in(browser, PASSWORD, headers)
        assert refused.status == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 31


async def test_guessing_student_does_not_lock_out_the_admin(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        for number in range(30):
            headers = {**through_proxy(f"10.0.9.{number}", secure=False), **PORTAL}
            for _ in range(2):
                await log_in(browser, "x", headers)
        assert (await log_in(browser)).status == 303


async def test_cookie_is_httponly_and_samesite(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        cookie = (await log_in(browser)).headers["Set-Cookie"]
        assert cookie.startswith("linkmend-desk=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))


async def test_https_cookie_is_secure(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        headers = {**STUDENT_HTTPS, "Origin": "https://linkmend.internal"}
        cookie = (await log_in(browser, headers=headers)).headers["Set-Cookie"]
        assert cookie.startswith("__Host-linkmend-desk=")
        assert {"HttpOnly", "SameSite=Strict", "Secure", "Path=/"} <= set(cookie.split("; "))


async def test_login_page_warns_on_plain_http(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        plain = await (await browser.get("/admin/login", headers=STUDENT)).text()
        secure = await (await browser.get("/admin/login", headers=STUDENT_HTTPS)).text()
        assert "not encrypted" in plain
        assert "unencrypted" not in secure


async def test_logout_invalidates_the_cookie(tmp_path):
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
        cheap_passwords(tmp_path).set_password("another horse battery")
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
        cheap_passwords(tmp_path).remove_token("backup")
        assert (await browser.get("/admin/api/openapi.json", headers=headers)).status == 401


async def test_a_session_lasts_as_long_as_the_settings_say(tmp_path):
    settings = Settings(desk=AdminSettings(session_hours=0.0))
    async with a_desk(tmp_path, settings=settings) as desk, an_admin(desk) as browser:
        assert (await browser.get("/admin")).status == 303
