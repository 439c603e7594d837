"""A desk over real stores in a folder, and a client that is logged in, for the tests of its pages and calls."""

import contextlib
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from aiohttp import CookieJar
from aiohttp.test_utils import TestClient, TestServer

from proxy.admin.app import AdminApp
from proxy.admin.auth.passwords import FILE, Passwords
from proxy.admin.gateway import gateway_headers
from proxy.admin.routing import AdminContext
from proxy.archives.client import client_from
from proxy.misses.record import MissRecord, new_miss_id
from proxy.misses.store import MissStore
from proxy.settings import Settings
from proxy.store.responses import ResponseStore
from repair.collection.asynccollection import AsyncCollection
from repair.collection.collection import Collection
from repair.harvest import Harvester
from repair.model import MissKind
from repair.pipeline import Repairer

PASSWORD = "correct horse battery"
_BY_GATEWAY = "Test-Gateway"


def through_proxy(client, *, secure):
    """Headers of a request that is taken for one that came by the gateway's socket."""
    return {**gateway_headers(client, secure=secure), _BY_GATEWAY: "1"}


def app_of(desk):
    """The application of a desk, with cheap passwords; a header stands for the gateway's socket."""
    return AdminApp(desk, lambda request: _BY_GATEWAY in request.headers, cheap_passwords(desk.data))


def a_miss(url="http://school.test/gone", **known):
    dull = {"id": new_miss_id(), "at": datetime(2026, 5, 3, 12, tzinfo=UTC), "kind": MissKind.NOT_FOUND}
    return MissRecord(url=url, **{**dull, **known})


def cheap_passwords(folder):
    """The passwords of a data folder, hashed at the least cost that scrypt allows."""
    return Passwords(folder / FILE, n=2)


@contextlib.asynccontextmanager
async def a_desk(folder, *, settings=None, **further):
    """The desk's own value; `further` are the fields a test is about (review, pins, fetches, rules, ...)."""
    settings = settings or Settings()
    threads = ThreadPoolExecutor(2)
    collection = Collection.open(folder / "collection", settings.collection)
    harvester = Harvester(collection, settings.collection)
    misses = MissStore(folder / "misses", settings.misses)
    responses = ResponseStore.open(folder / "cache", settings.cache)
    known = {
        "data": folder,
        "settings": lambda: settings,
        "misses": misses,
        "responses": responses,
        "collection": collection,
        "async_collection": AsyncCollection(collection, threads),
        "repairer": Repairer(collection, settings.repair, threads),
        "harvester": harvester,
    }
    try:
        async with client_from(settings, folder) as mementos:
            yield AdminContext(**{**known, "mementos": mementos, **further})
    finally:
        misses.close()
        harvester.close()
        await responses.close()
        threads.shutdown()
        collection.close()


class Browser:
    """What an admin's browser does: keeps the cookie, sends Origin, and the token of the form that it fills in."""

    def __init__(self, client):
        self.client = client
        self.origin = str(client.make_url("")).rstrip("/")

    async def get(self, path, **more):
        return await self.client.get(path, allow_redirects=False, **more)

    async def text(self, path):
        response = await self.get(path)
        assert response.status == 200, (path, response.status, await response.text())
        return await response.text()

    async def post(self, path, form=None, *, headers=None, token=None, on="/admin"):
        """Send a form, a mapping or pairs; its token is read from the page `on`, as a person would have it."""
        fields = list(form.items() if isinstance(form, dict) else form or ())
        if token is None:
            token = await self.token(on)
        if token:
            fields.append(("csrf", token))
        sent = {"Origin": self.origin, **(headers or {})}
        return await self.client.post(path, data=fields, headers=sent, allow_redirects=False)

    async def token(self, on="/admin"):
        found = re.search(r'name="csrf" value="([^"]+)"', await (await self.get(on)).text())
        return found[1] if found else ""

    async def call(self, method, path, json=None, **more):
        """A call as a script on the desk makes it."""
        headers = {"Origin": self.origin, "Linkmend-CSRF": await self.token()}
        return await self.client.request(method, path, json=json, headers=headers, **more)


@contextlib.asynccontextmanager
async def a_browser(desk):
    """A browser that nobody has logged in with yet, before a desk or its application."""
    app = desk if isinstance(desk, AdminApp) else app_of(desk)
    server = TestServer(app.web)
    async with TestClient(server, cookie_jar=CookieJar(unsafe=True)) as client:
        yield Browser(client)


@contextlib.asynccontextmanager
async def an_admin(desk):
    """A browser in which the admin is logged in."""
    app = desk if isinstance(desk, AdminApp) else app_of(desk)
    async with a_browser(app) as browser:
        fields = {"password": PASSWORD, "again": PASSWORD, "code": app.login.setup_code}
        response = await browser.post("/admin/first-password", fields, token="")
        assert response.status == 303, await response.text()
        yield browser
