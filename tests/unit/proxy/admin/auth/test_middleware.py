"""Who is admitted to the admin server, under which host name, and the security headers."""

import pytest
from aiohttp import web

from proxy.admin import app as desk_app
from proxy.admin.gateway import gateway_headers
from proxy.admin.routing import AdminPage, ApiCall, ApiProblem
from proxy.settings import AdminSettings, Settings
from tests.desks import PASSWORD, a_browser, a_desk, an_admin, app_of, cheap_passwords, through_proxy

PAGES = ("/admin", "/admin/access", "/admin/login", "/admin/nowhere", "/admin/static/desk.css")


@pytest.mark.parametrize("path", PAGES)
async def test_every_response_has_the_security_headers(tmp_path, path):
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
async def test_unknown_host_name_is_refused(tmp_path, host):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        response = await browser.get("/admin", headers={"Host": host})
        assert response.status == 421
        assert "Log out" not in await response.text()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8081", "localhost:8081", "[::1]:8081", "desk.school.test"]
)
async def test_ip_addresses_and_configured_names_are_accepted(tmp_path, host):
    settings = Settings(desk=AdminSettings(names=("desk.school.test",)))
    async with a_desk(tmp_path, settings=settings) as desk, an_admin(desk) as browser:
        assert (await browser.get("/admin", headers={"Host": host})).status == 200


async def test_the_gateways_headers_do_not_count_on_the_admin_port(tmp_path):
    async with a_desk(tmp_path) as desk, a_browser(desk_app.AdminApp(desk)) as browser:
        forged = gateway_headers("10.0.0.1", secure=True)
        response = await browser.get("/admin/login", headers={**forged, "Host": "linkmend.internal"})
        assert response.status == 421


async def test_admin_pages_through_the_proxy_can_be_disabled(tmp_path):
    settings = Settings(desk=AdminSettings(through_proxy=False))
    async with a_desk(tmp_path, settings=settings) as desk, a_browser(desk) as browser:
        passed = through_proxy("10.0.0.66", secure=False)
        assert (await browser.get("/admin/login", headers=passed)).status == 404
        assert (await browser.get("/admin/login")).status == 200


async def test_only_configured_networks_are_admitted(tmp_path):
    settings = Settings(desk=AdminSettings(clients=("10.0.5.0/24", "::1/128")))
    async with a_desk(tmp_path, settings=settings) as desk, a_browser(desk) as browser:
        for client, status in (("10.0.5.9", 200), ("10.0.6.9", 403), ("nonsense", 403)):
            passed = through_proxy(client, secure=False)
            assert (await browser.get("/admin/login", headers=passed)).status == status
        assert (await browser.get("/admin/login")).status == 403


def changes(made):
    """An admin server with one page and one call that change something."""

    def routes(desk):
        async def page(request):
            made.append("page")
            return web.Response(status=204)

        async def call(given):
            made.append("call")

        return [
            AdminPage(path="/admin/change", handler=page, method="POST"),
            ApiCall(
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


async def test_form_with_a_csrf_token_is_accepted(tmp_path, made):
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
async def test_cross_origin_request_is_refused_even_with_the_token(tmp_path, made, path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        token = await browser.token()
        for said in FOREIGN:
            headers = {"Origin": browser.origin, "Linkmend-CSRF": token, **said}
            response = await browser.client.post(path, data={"csrf": token}, headers=headers)
            assert (response.status, made) == (403, []), said


async def test_change_without_an_origin_is_refused(tmp_path, made):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        token = await browser.token()
        response = await browser.client.post("/admin/change", data={"csrf": token})
        assert response.status == 403
        assert made == []


@pytest.mark.parametrize("token", ["", "wrong", "ä"])
async def test_change_without_the_csrf_token_is_refused(tmp_path, made, token):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        headers = {"Origin": browser.origin}
        assert (
            await browser.client.post("/admin/change", data={"csrf": token}, headers=headers)
        ).status == 403
        assert (await browser.client.post("/admin/api/rules/change", headers=headers)).status == 403
        assert made == []


async def test_csrf_token_of_another_session_is_refused(tmp_path, made):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    async with a_desk(tmp_path) as desk:
        app = app_of(desk)
        async with a_browser(app) as one:
            await one.post("/admin/login", {"password": PASSWORD}, token="")
            token = await one.token()
            one.client.session.cookie_jar.clear()
            await one.post("/admin/login", {"password": PASSWORD}, token="")
            assert await one.token() != token
            assert (await one.post("/admin/change", token=token)).status == 403


async def test_api_token_needs_no_csrf_token(tmp_path, made):
    token = cheap_passwords(tmp_path).new_token("program")
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        headers = {"Authorization": f"Bearer {token}"}
        assert (await browser.client.post("/admin/api/rules/change", headers=headers)).status == 204
        assert made == ["call"]


@pytest.mark.parametrize("said", ["Bearer wrong", "Bearer ", "Basic YTpi", "bearer"])
async def test_program_without_a_token_gets_a_401(tmp_path, made, said):
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


async def test_internal_error_page_shows_no_details(tmp_path, monkeypatch, caplog):
    def routes(desk):
        async def fail(request):
            raise KeyError("a secret of the machine")

        return [AdminPage(path="/admin/fail", handler=fail)]

    monkeypatch.setattr(desk_app, "FEATURES", (*desk_app.FEATURES, routes))
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        response = await browser.get("/admin/fail")
        assert response.status == 500
        assert "secret" not in await response.text()
        assert "secret" in caplog.text


async def test_untrusted_text_is_escaped(tmp_path, monkeypatch):
    def routes(desk):
        async def fail(request):
            raise ApiProblem(404, "no <script>alert(1)</script>")

        return [AdminPage(path="/admin/fail", handler=fail)]

    monkeypatch.setattr(desk_app, "FEATURES", (*desk_app.FEATURES, routes))
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        text = await (await browser.get("/admin/fail")).text()
        assert "&lt;script&gt;alert" in text
        assert "<script>alert" not in text
