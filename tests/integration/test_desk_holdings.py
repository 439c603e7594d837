"""The fetch queue and the collection on the admin pages, in Chromium: fetch, watch, look, remove; axe-core over
all.
"""

import asyncio
import os
from pathlib import Path

import pytest

from proxy.admin.auth.passwords import Passwords
from tests.integration.client import PORTAL, Client
from tests.integration.origin import reply
from tests.integration.processes import eventually
from tests.integration.test_desk import PASSWORD, log_in, ready

TEXT = "Herons stand in the shallow water and wait for fish, which they catch with a quick stab of the beak. "
SHOTS = os.environ.get("SCREENSHOTS", "")
"""A folder for screenshots, for people who want to look."""


@pytest.fixture
def protected(tmp_path, start_linkmend):
    Passwords(tmp_path / "data" / "desk.json").set_password(PASSWORD)
    return ready(start_linkmend(settings="[fetch]\npause_s = 0.0\nretry_s = 600.0\n"))


def a_page(title, more=""):
    return reply(
        f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{TEXT * 3}</p>{more}"
    )


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


async def slowly(exchange):
    body = f"<title>A long page</title><p>{TEXT * 1500}</p>".encode()
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    for start in range(0, len(body), 8_000):
        await exchange.send(body[start : start + 8_000])
        await asyncio.sleep(0.3)


def test_admin_fetches_pages_watches_progress_and_removes_one(protected, origin, open_browser):
    link = "<p>See <a href='/heron'>the heron</a>.</p>"
    origin.pages |= {"/heron": a_page("The heron"), "/birds": a_page("Birds of the river", link)}
    origin.pages |= {"/long": slowly, "/broken": reply("oops", status="500 Oops")}
    page = open_browser(protected)
    log_in(page)
    page.goto(f"{PORTAL}/admin/fetch")
    wanted = "\n".join(f"{origin.url}{path}" for path in ("/heron", "/birds", "/gone", "/broken", "/long"))
    page.fill("#urls", wanted)
    page.select_option("#when", "now")
    page.click("button:has-text('Add to queue')")
    assert "Added to the queue: 5. When: Now." in page.inner_text("main")
    page.wait_for_selector("progress[value]", timeout=20_000)  # without reloading
    shoot(page, "fetch")
    page.wait_for_selector(".queue li:has-text('/gone') .state.bad", timeout=20_000)
    assert "the site answered with status 404" in page.inner_text(".queue")

    def is_found():
        page.goto(f"{PORTAL}/admin/collection?q=heron")
        return page.locator(".held mark").count() > 0

    eventually(is_found, "the heron is not found")
    shoot(page, "collection")
    page.click(".held a:has-text('The heron')")
    assert "the heron" in page.inner_text("section:has(#in-heading)")
    shoot(page, "heldpage")
    page.click("text=Remove…")
    shoot(page, "remove")
    page.click("text=Remove permanently >> nth=-1")
    page.wait_for_url(f"{PORTAL}/admin/collection")
    assert "Page removed." in page.inner_text("main")
    assert "The heron" not in page.inner_text("section:has(#latest-heading)")
    origin.down()
    assert "Herons" not in Client(protected.url).held_copy(f"{origin.url}/heron").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(protected, origin, open_browser, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    long = "/" + "verylongname" * 20
    origin.pages |= {long: a_page("The heron", "<p><a href='/b'>b</a></p>"), "/slow": slowly}
    page = open_browser(protected, color_scheme=scheme, viewport={"width": 360, "height": 700})
    log_in(page)
    page.goto(f"{PORTAL}/admin/fetch")
    page.fill("#urls", f"{origin.url}{long}\n{origin.url}/gone\n{origin.url}/slow")
    page.select_option("#when", "now")
    page.click("button:has-text('Add to queue')")
    page.wait_for_selector(".queue .state.good")
    held = f"?url={origin.url}{long}"
    paths = ("/fetch", "/fetch?state=failed", "/collection", "/collection?q=heron")
    for path in (
        *paths,
        f"/collection/page{held}",
        f"/collection/remove{held}",
        "/collection/page?url=http://a.test/",
    ):
        page.goto(f"{PORTAL}/admin{path}")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        shoot(page, f"phone-{scheme}-{path.strip('/').replace('/', '-').partition('?')[0]}")
    page.goto(f"{PORTAL}/admin/fetch")
    page.fill("#urls", "javascript:alert(1)")
    page.click("button:has-text('Add to queue')")
    assert axe.Axe().run(page).violations_count == 0
