"""Web archives behind the repair page, with a real pywb and a real Chromium.

Of four archives one hangs and one sends garbage: the page is sent as fast as without them, the results of the good
ones appear in it, and the next user sees them at once. Screenshots are left in pytest's folder.
"""

import re
from contextlib import contextmanager

import pytest

from tests.integration.browser import launched
from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, hang, reply
from tests.integration.processes import DEMO, eventually, linkmend, serving
from tests.integration.pywb import Captured, Pywb, programs

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
)

PAGES = ("earth/volcanoes.html", "earth/first.html", "earth/no-script.html", "earth/secret.html")
DEAD = "http://no-such-host.invalid"
"""A site without TLS: unlike on https and localhost, the browser does not say how a request came about."""
TEXT = "Magma rises through the crust, and lava and ash come out of the crater of the volcano. "


def html(title):
    return f"<html lang=en><title>{title}</title><body><main><h1>{title}</h1><p>{TEXT * 4}</p></main></body></html>"


def captures(site):
    for path in PAGES:
        for year, title in (
            (2009, "Home"),
            (2012, "Volcanoes &lt;b&gt;&amp;"),
            (2013, "Volcanoes of the world"),
        ):
            yield Captured(f"{year}0301120000", f"{site}/{path}", html(title))
        yield Captured("20130319120000", f"{site}/{path}", html("Volcanoes of the world, again"))
        yield Captured("20130705120000", f"{site}/{path}", html("Volcanoes of the whole world"))
        yield Captured("20180705120000", f"{site}/{path}", html("Gone"), status="404 Not Found")

    volcanoes = "http://science.school.test/earth/volcanoes.html"
    yield Captured("20140301000000", f"{site}/x/q17", "", status="301 Moved", location=volcanoes)
    yield Captured("20140301000005", volcanoes, html("Volcanoes"))
    yield Captured("20140301000000", f"{site}/x/q18", html("Volcanoes, hot springs and geysers"))


def timemap(archive, url):
    """The TimeMap of an archive with two captures."""
    return ",\n".join(
        f'<{archive}/{year}0401000000/{url}>; rel="memento"; datetime="Sun, 01 Apr {year} 00:00:00 GMT"'
        for year in (2011, 2012)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archive-page")


@pytest.fixture(scope="module")
def site(folder):
    """A secure site that has lost its pages; `.pem` makes it trusted."""
    pem, context = certificate(folder, "127.0.0.1")
    with Origin(tls=context) as running:
        running.pem = pem
        yield running


@pytest.fixture(scope="module")
def hanging():
    with Origin() as running:
        yield running


@pytest.fixture(scope="module")
def archives(folder, site, hanging, pytestconfig):
    """The settings of four archives: a pywb, one with a few captures, one that hangs, one that sends garbage."""
    found = programs()
    if found is None:
        (pytest.fail if pytestconfig.getoption("--require-real") else pytest.skip)("pywb is not installed")
    pywb = Pywb(found, folder / "pywb", [*captures(site.url), *captures(DEAD)])
    Client("").get(f"{pywb.base}timemap/link/{site.url}/wake-up")
    with Origin() as raving, Origin() as second:
        for path in PAGES:
            second.pages[f"/timemap/link/{site.url}/{path}"] = reply(
                timemap(second.url, f"{site.url}/{path}"), kind="application/link-format"
            )
            hanging.pages[f"/timemap/link/{site.url}/{path}"] = hang
            raving.pages[f"/timemap/link/{site.url}/{path}"] = reply("<html><<<<\x00" + '<a>;"' * 10_000)
        yield (
            f"hanging wayback={hanging.url}/",
            f"raving wayback={raving.url}/",
            f"school wayback={pywb.base}",
            f"second wayback={second.url}/",
        )
    pywb.stop()


@pytest.fixture(scope="module")
def settings(site, archives):
    lines = ", ".join(f'"{line}"' for line in archives)
    return (
        f'[proxy]\ntrusted_ca = "{site.pem}"\n[repair]\nsearch_template = "https://search.test/?q={{searchTerms}}"\n'
        f"[archives]\nlist = [{lines}]\narchive_deadline_s = 4.0\ndeadline_s = 6.0\n"
    )


@pytest.fixture(scope="module")
def running(folder, settings):
    assert linkmend("import", DEMO, "--data", folder / "data").returncode == 0
    with serving(folder / "data", settings=settings) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def browser(folder, running, program):
    path, certutil = program("chromium"), program("certutil")
    with launched(path, folder / "home", proxy=running.url, certutil=certutil, ca=running.ca) as opened:
        yield opened


@contextmanager
def a_tab(browser, **options):
    context = browser.new_context(**options)
    context.set_default_timeout(15_000)
    tab = context.new_page()
    tab.complaints = []
    tab.on("console", lambda message: message.type == "error" and tab.complaints.append(message.text))
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    yield tab
    assert [text for text in tab.complaints if "the server responded with a status of" not in text] == []
    context.close()


def assert_accessible(tab):
    results = axe.Axe().run(tab)
    assert results.violations_count == 0, results.generate_report()


def test_repair_page_is_sent_at_once_and_late_archive_results_appear_in_it(browser, site, folder):
    with a_tab(browser) as tab:
        tab.goto(f"{site.url}/{PAGES[0]}", wait_until="commit")
        tab.locator("#alternatives > li").first.wait_for()
        tab.locator("#asking", has_text="Searching web archives").wait_for()  # one of them hangs
        tab.locator("#archives .last a").wait_for()
        assert re.search(r"/20130705120000/https?:", tab.locator(".last a").get_attribute("href"))
        tab.get_by_text("Archived versions found: 8.").wait_for()
        assert "hanging, raving" in tab.locator("#asking").inner_text()
        assert tab.locator(".graph > svg > a").count() == 5
        assert tab.locator("#way-title").input_value() == "Volcanoes of the whole world"
        for part in ("#list", "#ways", "#expert"):
            tab.locator(f"{part} > summary").click()
        assert (
            tab.get_by_role("link", name="Search the web for this")
            .first.get_attribute("href")
            .startswith("https://search.test/?q=Volcanoes%20of")
        )
        tab.screenshot(path=folder / "repair-page.png", full_page=True)
        assert_accessible(tab)


def test_no_archive_is_queried_while_the_repair_page_is_made(running, site, hanging):
    client = Client(running.url, ca=running.ca)
    for answer in (client.open_page(f"{site.url}/{PAGES[1]}"), client.repair(f"{site.url}/{PAGES[1]}")):
        assert answer.miss == "not_found"
    assert not [path for path in hanging.asked if path.endswith(PAGES[1])]


def test_next_user_sees_archive_results_at_once(running, site, browser):
    client = Client(running.url, ca=running.ca)
    url = f"{site.url}/{PAGES[0]}"
    page = client.open_page(url)
    assert "/20130705120000/" in page.text
    told = client.repair(url).told["mementos"]
    assert told["best"]["title"] == "Volcanoes of the whole world"
    assert told["per_year"] == {"2009": 1, "2011": 1, "2012": 2, "2013": 3, "2018": 1}
    assert told["count"] == len(told["list"]) == 8


def test_archived_copy_helps_to_find_the_new_version(browser, site, running):
    path = "x/q18"

    def offered():
        told = Client(running.url, ca=running.ca).repair(f"{site.url}/{path}").told["alternatives"]
        return [(page["url"], "copy" in page["reasons"]) for page in told[:1]]

    assert offered() == []
    with a_tab(browser) as tab:
        tab.goto(f"{site.url}/{path}")
        tab.locator("#archives .last").wait_for()
    eventually(
        lambda: offered() == [("http://science.school.test/earth/volcanoes.html", True)], "not offered"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_time_graph_works_by_keyboard(browser, site, folder, scheme):
    with a_tab(browser, color_scheme=scheme, viewport={"width": 360, "height": 700}) as tab:
        tab.goto(f"{site.url}/{PAGES[0]}")
        tab.locator("#archives .last").wait_for()
        tab.get_by_role("link", name="2013: 3 (school 3)").focus()
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/mementos?**year=2013")
        tab.get_by_text("Versions per month").first.wait_for()
        assert tab.locator(".mementos li").count() == 3
        tab.get_by_role("link", name="March: 2 (school 2)").focus()
        tab.keyboard.press("Enter")
        tab.wait_for_url("**month=3")
        assert tab.locator(".mementos li").count() == 2
        assert_accessible(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        tab.screenshot(path=folder / f"days-{scheme}.png", full_page=True)
        tab.get_by_role("link", name="All years").click()
        tab.get_by_text("Versions per year").first.wait_for()


def test_an_expert_chooses_the_memento_and_sees_how_its_title_evolved(browser, site, folder):
    with a_tab(browser) as tab:
        tab.goto(f"{site.url}/{PAGES[0]}")
        tab.locator("#archives .last").wait_for()
        tab.locator("#ways > summary").click()
        tab.locator("#expert > summary").click()
        tab.get_by_role("link", name="Fetch the missing titles").click()
        tab.wait_for_url("**titles=1**")
        titles = tab.locator(".choice").all_inner_texts()
        assert len(titles) == 8
        assert "Volcanoes <b>&" in titles[5]
        assert "(too general)" in titles[7]
        tab.locator(".choice input").nth(7).check()
        tab.locator("input[name=terms]").fill("5")
        tab.locator("select[name=weighting]").select_option("frequency")
        tab.get_by_role("button", name="Apply").click()
        tab.wait_for_url("**terms=5**")
        assert tab.locator("#way-title").input_value() == "Home"
        assert "many pages have a title like this" in tab.locator(".ways").inner_text()
        assert len(tab.locator("#way-keywords").input_value().split()) == 5
        assert tab.locator(".ways a[href='http://science.school.test/earth/volcanoes.html']").count() >= 1
        tab.screenshot(path=folder / "expert.png", full_page=True)
        assert_accessible(tab)
        tab.locator("#way-keywords").press("Enter")
        tab.wait_for_url("**/search?q=**")


def test_time_graph_can_show_one_archive(browser, site):
    with a_tab(browser) as tab:
        tab.goto(f"{site.url}/{PAGES[0]}")
        tab.get_by_role("link", name="second: 2").click()
        tab.wait_for_url("**archive=second")
        assert tab.locator(".mementos li").count() == 2
        assert tab.locator(".graph > svg > a").count() == 2
        tab.get_by_role("link", name="All archives").click()
        tab.get_by_role("link", name="2012: 2 (school 1, second 1)").wait_for()


def test_on_plain_http_archived_versions_are_shown_at_the_portal(browser):
    with a_tab(browser) as tab:
        tab.goto(f"{DEAD}/{PAGES[0]}")
        tab.locator("#archives .last").wait_for()
        tab.locator(".graph > svg > a", has_text="2013").click()
        tab.wait_for_url("http://linkmend.internal/**year=2013")
        assert tab.locator(".mementos li").count() == 3
        tab.get_by_role("link", name="All years").click()
        tab.get_by_text("Versions per year").first.wait_for()


def test_without_scripts_a_link_leads_to_archived_versions(browser, site):
    with a_tab(browser, java_script_enabled=False) as tab:
        tab.goto(f"{site.url}/{PAGES[2]}")
        assert tab.locator("#archives .last").count() == 0
        tab.get_by_role("link", name="Search web archives").click()
        assert "/20130705120000/" in tab.locator(".last a").get_attribute("href")
        tab.get_by_role("link", name="Check again").click()
        assert tab.locator(".mementos li").count() == 8


def test_neither_site_scripts_nor_other_users_see_archived_versions(browser, site, running):
    client = Client(running.url, ca=running.ca)
    page = client.open_page(f"{site.url}/{PAGES[3]}")
    part = re.search(r'data-next="([^"]+)"', page.text)[1].replace("&amp;", "&")
    assert client.get(site.url + part, Origin=site.url).status == 403
    assert client.get(site.url + part).status == 403
    assert (
        Client(running.url, ca=running.ca, source="127.0.0.9").get(site.url + part, Origin="null").status
        == 404
    )
    site.pages["/script"] = reply("<!doctype html><title>a script</title>")
    with a_tab(browser) as tab:
        tab.goto(f"{site.url}/script")
        assert tab.evaluate("async (part) => (await fetch(part)).status", part) == 403
    mine = client.get(site.url + part, Origin="null")
    assert (mine.status, mine.headers["Access-Control-Allow-Origin"]) == (200, "null")


def test_offline_only_remembered_archive_results_are_shown(folder, running, settings, site, browser):
    client = Client(running.url, ca=running.ca)
    assert "/20130705120000/" in client.open_page(f"{site.url}/{PAGES[0]}").text
    browser.close()
    running.stop()
    with serving(folder / "data", settings=settings.replace("[proxy]", "[proxy]\noffline = true")) as offline:
        page = Client(offline.url, ca=offline.ca).open_page(f"{site.url}/{PAGES[0]}")
    assert "/20130705120000/" in page.text
    assert "Archives can’t be reached while offline" in page.text
    assert "data-next" not in page.text
