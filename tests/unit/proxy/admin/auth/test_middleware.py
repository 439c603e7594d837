"""Who gets to the desk, under which name, and what every answer carries."""

import pytest
from aiohttp import web

from proxy.desk import app as desk_app
from proxy.desk.frame import Call, Page, Problem
from proxy.desk.passwords import Passwords
from proxy.settings import DeskSettings, Settings
from tests.desks import DOOR, PASSWORD, a_browser, a_desk, an_admin

PAGES = ("/admin", "/admin/access", "/admin/login", "/admin/nowhere", "/admin/static/desk.css")


@pytest.mark.parametrize("path", PAGES)
async def test_every_answer_carries_the_policy(tmp_path, path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        headers = (await browser.get(path)).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "no-store" in headers["Cache-Control"] or path.startswith("/admin/static/")
        assert "Server" not in headers or "aiohttp" not in headers["Server"]


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:8081", "linkmend.internal", "127.0.0.1.evil.test", "[::1", ""]
)
async def test_under_a_name_that_others_may_point_at_us_nothing_is_shown(tmp_path, host):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        response = await browser.get("/admin", headers={"Host": host})
        assert response.status == 421
        assert "Log out" not in await response.text()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8081", "localhost:8081", "[::1]:8081", "desk.school.test"]
)
async def test_addresses_and_names_of_the_settings_are_ours(tmp_path, host):
    settings = Settings(desk=DeskSettings(names=("desk.school.test",)))
    async with a_desk(tmp_path, settings=settings) as desk, an_admin(desk) as browser:
        assert (await browser.get("/admin", headers={"Host": host})).status == 200


async def test_who_writes_the_proxys_headers_without_its_secret_is_taken_for_who_they_are(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        forged = {**DOOR.headers_for("10.0.0.1", secure=True), "Linkmend-Door": "guessed"}
        response = await browser.get("/admin/login", headers={**forged, "Host": "linkmend.internal"})
        assert response.status == 421


async def test_through_the_proxy_the_desk_can_be_switched_off(tmp_path):
    settings = Settings(desk=DeskSettings(through_proxy=False))
    async with a_desk(tmp_path, settings=settings) as desk, a_browser(desk) as browser:
        passed = DOOR.headers_for("10.0.0.66", secure=False)
        assert (await browser.get("/admin/login", headers=passed)).status == 404
        assert (await browser.get("/admin/login")).status == 200


async def test_only_the_networks_of_the_settings_see_it(tmp_path):
    settings = Settings(desk=DeskSettings(clients=("10.0.5.0/24", "::1/128")))
    async with a_desk(tmp_path, settings=settings) as desk, a_browser(desk) as browser:
        for client, status in (("10.0.5.9", 200), ("10.0.6.9", 403), ("nonsense", 403)):
            passed = DOOR.headers_for(client, secure=False)
            assert (await browser.get("/admin/login", headers=passed)).status == status
        assert (await browser.get("/admin/login")).status == 403


def changes(made):
    """A desk with one page and one call that change something."""

    def routes(desk):
        async def page(request):
            made.append("page")
            return web.Response(status=204)

        async def call(given):
            made.append("call")

        return [
            Page(path="/admin/change", handler=page, method="POST"),
            Call(
                method="POST",
                path="/admin/api/rules/change",
                handler=call,
                summary="Change",
                answer=None,
                status=204,
            ),
        ]

    return routes


@pytest.fixture
def made(monkeypatch):
    made = []
    monkeypatch.setattr(desk_app, "FEATURES", (*desk_app.FEATURES, changes(made)))
    return made


async def test_a_form_of_the_desk_changes_something(tmp_path, made):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        assert (await browser.post("/admin/change")).status == 204
        assert (await browser.call("POST", "/admin/api/rules/change")).status == 204
        assert made == ["page", "call"]


FOREIGN = (
    {"Origin": "http://evil.test"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
)


@pytest.mark.parametrize("path", ["/admin/change", "/admin/api/rules/change"])
async def test_another_site_changes_nothing_even_with_the_token(tmp_path, made, path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        token = await browser.token()
        for said in FOREIGN:
            headers = {"Origin": browser.origin, "Linkmend-CSRF": token, **said}
            response = await browser.client.post(path, data={"csrf": token}, headers=headers)
            assert (response.status, made) == (403, []), said


async def test_who_does_not_say_where_a_change_comes_from_changes_nothing(tmp_path, made):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        token = await browser.token()
        response = await browser.client.post("/admin/change", data={"csrf": token})
        assert response.status == 403
        assert made == []


@pytest.mark.parametrize("token", ["", "wrong", "ä"])
async def test_without_the_token_of_the_session_nothing_is_changed(tmp_path, made, token):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        headers = {"Origin": browser.origin}
        assert (
            await browser.client.post("/admin/change", data={"csrf": token}, headers=headers)
        ).status == 403
        assert (await browser.client.post("/admin/api/rules/change", headers=headers)).status == 403
        assert made == []


async def test_the_token_of_one_session_is_worth_nothing_in_another(tmp_path, made):
    Passwords(tmp_path / "desk.json").set_password(PASSWORD)
    async with a_desk(tmp_path) as desk:
        app = desk_app.DeskApp(desk, DOOR)
        async with a_browser(app) as one:
            await one.post("/admin/login", {"password": PASSWORD}, token="")
            token = await one.token()
            one.client.session.cookie_jar.clear()
            await one.post("/admin/login", {"password": PASSWORD}, token="")
            assert await one.token() != token
            assert (await one.post("/admin/change", token=token)).status == 403


async def test_a_program_with_a_token_needs_no_more(tmp_path, made):
    token = Passwords(tmp_path / "desk.json").new_token("program")
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        headers = {"Authorization": f"Bearer {token}"}
        assert (await browser.client.post("/admin/api/rules/change", headers=headers)).status == 204
        assert made == ["call"]


@pytest.mark.parametrize("said", ["Bearer wrong", "Bearer ", "Basic YTpi", "bearer"])
async def test_a_program_without_one_is_told_so(tmp_path, made, said):
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        response = await browser.client.post("/admin/api/rules/change", headers={"Authorization": said})
        assert response.status == 401
        assert response.content_type == "application/problem+json"
        assert made == []


async def test_a_body_that_is_too_large_is_not_read(tmp_path, made):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        headers = {"Origin": browser.origin}
        response = await browser.client.post(
            "/admin/login", data={"password": "x" * 300_000}, headers=headers
        )
        assert response.status == 413


async def test_what_fails_is_a_page_without_what_failed(tmp_path, monkeypatch, caplog):
    def routes(desk):
        async def fail(request):
            raise KeyError("a secret of the machine")

        return [Page(path="/admin/fail", handler=fail)]

    monkeypatch.setattr(desk_app, "FEATURES", (*desk_app.FEATURES, routes))
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        response = await browser.get("/admin/fail")
        assert response.status == 500
        assert "secret" not in await response.text()
        assert "secret" in caplog.text


async def test_words_from_outside_stand_escaped_on_a_page(tmp_path, monkeypatch):
    def routes(desk):
        async def fail(request):
            raise Problem(404, "no <script>alert(1)</script>")

        return [Page(path="/admin/fail", handler=fail)]

    monkeypatch.setattr(desk_app, "FEATURES", (*desk_app.FEATURES, routes))
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        text = await (await browser.get("/admin/fail")).text()
        assert "&lt;script&gt;alert" in text
        assert "<script>alert" not in text
