"""Every address of the desk against every role, by real requests; and nothing of pupils for teachers."""

import contextlib
import dataclasses
import re

import pytest

from proxy.admin.imports import DeskImports
from proxy.admin.roles import Role
from proxy.fetching.queue import FetchQueue
from proxy.misses.feed import MissFeed
from proxy.misses.review import MissReview
from proxy.rules.history import RuleEdits
from proxy.rules.live import LiveRules
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import TopicDatabase
from repair.soft404.sitestore import SiteStore
from tests.desks import PASSWORD, a_browser, a_desk, app_of, cheap_passwords
from tests.lessons import some_lessons

# The whole table: what is open to anybody, to teachers, what reviewers may change and what they may not even read.
# Every other GET is for reviewers and admins, every other change for admins.
ANYBODY = """
GET /admin/login; POST /admin/login; POST /admin/first-password; POST /admin/language;
GET /teach/login; POST /teach/login; GET /l/{code}
"""
TEACHERS = """
POST /admin/logout; POST /teach/logout; GET /teach; POST /teach/lessons; GET /teach/lessons/{id}
GET /teach/lessons/{id}/document; GET /teach/lessons/{id}/list; POST /teach/lessons/{id}/link
POST /teach/lessons/{id}/keep; POST /teach/lessons/{id}/again; POST /teach/lessons/{id}/publish
POST /teach/lessons/{id}/withdraw; POST /teach/lessons/{id}/remove
GET /teach/pages; POST /teach/pages; POST /teach/pages/mail
GET /teach/topics; POST /teach/topics; POST /teach/topics/remove
GET /teach/suggestions; POST /teach/suggestions/done
"""
REVIEWERS_CHANGE = """
POST /admin/misses/pin; POST /admin/misses/unpin; POST /admin/misses/ignore; POST /admin/misses/heed
POST /admin/misses/wrong; POST /admin/misses/right; POST /admin/misses/fetch; POST /admin/misses/forget-choice
POST /admin/misses/several; POST /admin/misses/filters; POST /admin/misses/filters/remove
POST /admin/proposals/approve; POST /admin/proposals/refuse; POST /admin/proposals/undo
POST /admin/suggestions/done
POST /admin/fetch/add; POST /admin/fetch/retry; POST /admin/fetch/remove
POST /admin/api/misses/pins; DELETE /admin/api/misses/pins; DELETE /admin/api/misses/choices
POST /admin/api/misses/marks; DELETE /admin/api/misses/marks
POST /admin/api/fetches; POST /admin/api/fetches/{id}/retry; DELETE /admin/api/fetches/{id}
"""
ADMINS_READ = """
GET /admin/access; GET /admin/users; GET /admin/audit; GET /admin/requests; GET /admin/setup
"""


def listed(table):
    return {entry.strip() for entry in re.split(r"[;\n]", table) if entry.strip()}


def is_open(entry):
    """Whether anybody may have it: the login, lesson pages, style sheets and scripts."""
    return entry in listed(ANYBODY) or "/static/" in entry


def allowed_roles(entry):
    """The roles of the table above."""
    if is_open(entry) or entry in listed(TEACHERS):
        return set(Role)
    if entry in listed(REVIEWERS_CHANGE) or (entry.startswith("GET ") and entry not in listed(ADMINS_READ)):
        return {Role.ADMIN, Role.REVIEWER}
    return {Role.ADMIN}


@contextlib.asynccontextmanager
async def a_whole_desk(folder):
    """A desk with every feature switched on."""
    queue, sites = FetchQueue(folder / "queue.sqlite"), SiteStore(folder / "sites.sqlite")
    rules = RuleEdits(LiveRules(folder / "rules", kept=folder / "kept"), folder / "history")
    topics = contextlib.closing(TopicDatabase(folder / "topics"))
    async with (
        some_lessons(folder / "of-teachers") as lessons,
        a_desk(folder, fetches=queue, missing_now=MissFeed(), rules=rules, lessons=lessons) as desk,
    ):
        with topics as database:
            yield app_of(
                dataclasses.replace(
                    desk,
                    imports=DeskImports(folder, desk.settings),
                    review=MissReview.over(desk.misses, sites),
                    pins=Pins(desk.collection.database),
                    topics=database,
                )
            )
    queue.close()


@contextlib.asynccontextmanager
async def logged_in(app, folder, role):
    """A browser in which an account of this role is logged in."""
    cheap_passwords(folder).set_password(PASSWORD + "s")
    cheap_passwords(folder).set_account(f"A {role}", role, PASSWORD)
    async with a_browser(app) as browser:
        sent = {"username": f"a {role}", "password": PASSWORD}
        response = await browser.post("/admin/login", sent, token="")
        assert response.status == 303, await response.text()
        yield browser


def routes_of(app):
    """Every address and method that the application declares."""
    return sorted(
        f"{route.method} {route.resource.canonical}"
        for route in app.web.router.routes()
        if route.method != "HEAD"
    )


async def test_the_table_names_only_addresses_that_exist(tmp_path):
    tables = (ANYBODY, TEACHERS, REVIEWERS_CHANGE, ADMINS_READ)
    async with a_whole_desk(tmp_path) as app:
        assert set().union(*map(listed, tables)) <= set(routes_of(app))


@pytest.mark.parametrize("role", Role)
async def test_each_role_reaches_what_the_table_allows_and_nothing_else(tmp_path, role):
    async with a_whole_desk(tmp_path) as app, logged_in(app, tmp_path, role) as browser:
        wrong = []
        for entry in routes_of(app):
            method, path = entry.split(" ")
            if path.endswith(("/logout", "/login", "/live/stream")):
                continue
            filled = path.replace("{id}", "1").replace("{name}", "none.toml")
            # Without a CSRF token: a change that is allowed stops there, and one that is not stops before.
            response = await browser.client.request(
                method, filled, headers={"Origin": browser.origin}, allow_redirects=False
            )
            is_refused = response.status == 403 and "may not do this" in await response.text()
            if is_refused is (role in allowed_roles(entry)):
                wrong.append((entry, response.status))
        assert wrong == []


async def test_nobody_who_is_not_logged_in_reaches_more_than_the_login(tmp_path):
    async with a_whole_desk(tmp_path) as app, a_browser(app) as browser:
        for entry in routes_of(app):
            method, path = entry.split(" ")
            if is_open(entry):
                continue
            response = await browser.client.request(
                method,
                path.replace("{id}", "1").replace("{name}", "a.toml"),
                headers={"Origin": browser.origin},
                allow_redirects=False,
            )
            to_login = response.status == 303 and "/login" in response.headers["Location"]
            assert to_login or response.status == 401, entry


async def test_menu_shows_what_the_role_allows(tmp_path):
    async with a_whole_desk(tmp_path) as app, logged_in(app, tmp_path, Role.REVIEWER) as browser:
        text = await browser.text("/admin")
        assert "/admin/misses" in text
        assert 'href="/admin/users"' not in text


async def test_removed_account_is_logged_out_at_once(tmp_path):
    async with a_whole_desk(tmp_path) as app, logged_in(app, tmp_path, Role.REVIEWER) as browser:
        assert (await browser.get("/admin/misses")).status == 200
        cheap_passwords(tmp_path).remove_account("A reviewer")
        assert (await browser.get("/admin/misses")).status == 303
