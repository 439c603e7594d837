"""A real Chromium behind the real proxy: every failure shows a working repair page, over http and https.

The browser trusts the proxy's CA and the proxy the secure site's; the demo collection is imported, so there are
alternatives. Screenshots are left in pytest's folder.
"""

import json
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.integration.browser import launched
from tests.integration.origin import Origin, certificate, cut, hang, reply
from tests.integration.processes import DEMO, eventually, free_port, linkmend, serving

TOPIC = "earth/volcanoes.html"
WANTED = "http://science.school.test/earth/volcanoes.html"
FAILURES = {
    "404": (reply("<h1>Nothing</h1>", status="404 Not Found"), "not_found"),
    "410": (reply("<h1>Gone</h1>", status="410 Gone"), "gone"),
    "500": (reply("<h1>Oops</h1>", status="500 Internal Server Error"), "server_error"),
    "hangs": (hang, "timeout"),
    "cut": (cut, "unreachable"),
}
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def sites(folder):
    """An origin for each scheme that fails in every way, and one with an untrusted certificate."""
    pem, context = certificate(folder, "127.0.0.1")
    _, untrusted = certificate(folder, "localhost")
    with Origin() as plain, Origin(tls=context) as secure, Origin(tls=untrusted) as strange:
        for origin in (plain, secure):
            for name, (answer, _) in FAILURES.items():
                origin.pages[f"/{name}/{TOPIC}"] = answer
        secure.pem = pem
        yield {"http": plain, "https": secure, "untrusted": strange}


@pytest.fixture(scope="module")
def running(folder, sites):
    data = folder / "data"
    assert linkmend("import", DEMO, "--data", data).returncode == 0
    settings = (
        "[collection]\ncommit_every_s = 0.2\n[proxy]\nconnect_timeout_s = 2.0\nfirst_byte_timeout_s = 1.0\n"
        f'trusted_ca = "{sites["https"].pem}"\n'
    )
    with serving(data, settings=settings) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def browser(folder, running, program):
    path, certutil = program("chromium"), program("certutil")
    with launched(path, folder / "home", proxy=running.url, certutil=certutil, ca=running.ca) as opened:
        yield opened


@contextmanager
def a_tab(browser, **options):
    """A tab of a new person, which collects the browser's error messages."""
    context = browser.new_context(**options)
    context.set_default_timeout(10_000)
    tab = context.new_page()
    tab.complaints = []
    tab.on(
        "console",
        lambda message: message.type in ("error", "warning") and tab.complaints.append(message.text),
    )
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    yield tab
    context.close()


@pytest.fixture
def tab(browser):
    with a_tab(browser) as opened:
        yield opened


def complaints(tab):
    """The browser's error messages, except the status of the page, which it always logs."""
    return [text for text in tab.complaints if "the server responded with a status of" not in text]


def assert_ours(answer, tab, kind):
    assert answer.headers["linkmend-miss"] == kind
    assert tab.locator("main h1").count() == 1
    assert offered(tab)[:1] == [WANTED]


def offered(tab):
    return [item.get_attribute("data-url") for item in tab.locator("#alternatives > li").all()]


def misses(running, url):
    done = linkmend("misses", "list", "--data", running.data, "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [record for record in records if record["url"] == url]


def log_lines(running):
    return [json.loads(line) for line in (running.data / "misses" / "misses.jsonl").read_text().splitlines()]


def broken_addresses():
    for scheme in ("http", "https"):
        for name, (_, kind) in FAILURES.items():
            yield scheme, name, kind
        yield scheme, "dead host", "unreachable"
        yield scheme, "refused", "unreachable"
    yield "untrusted", "untrusted", "tls"


def address(sites, scheme, name):
    if name == "dead host":
        return f"{scheme}://no-such-host.invalid/{TOPIC}"
    if name == "refused":
        return f"{scheme}://127.0.0.1:{free_port()}/{TOPIC}"
    return f"{sites[scheme].url}/{name}/{TOPIC}"


@pytest.mark.parametrize(("scheme", "name", "kind"), list(broken_addresses()))
def test_a_page_that_fails_shows_linkmends_page_in_the_browser(scheme, name, kind, sites, tab, folder):
    url = address(sites, scheme, name)
    answer = tab.goto(url)
    assert_ours(answer, tab, kind)
    assert tab.url == url
    assert complaints(tab) == []
    tab.screenshot(path=folder / f"{scheme}-{name}.png".replace(" ", "-"), full_page=True)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_first_alternative_opens_and_the_choice_is_noted(scheme, sites, running, browser):
    url = f"{sites[scheme].url}/404/{scheme}/volcanoes.html"
    with a_tab(browser) as tab:
        tab.goto(url)
        tab.locator("#alternatives > li a").first.click()
        tab.wait_for_url(WANTED)
        assert "Volcanoes" in tab.title()
    chosen = eventually(
        lambda: [record["chosen"] for record in misses(running, url) if record["chosen"]],
        "no choice is noted",
    )
    assert chosen == [WANTED]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_search_from_the_repair_page_finds_saved_pages_that_open(scheme, sites, tab, folder):
    tab.goto(f"{sites[scheme].url}/404/{TOPIC}")
    tab.get_by_role("searchbox").fill("fractions")
    tab.get_by_role("searchbox").press("Enter")
    tab.wait_for_url("**/search?q=fractions")
    tab.screenshot(path=folder / f"search-{scheme}.png", full_page=True)
    tab.locator("#alternatives > li a", has_text="ractions").first.click()
    tab.wait_for_url("http://maths.school.test/number/fractions.html")
    assert complaints(tab) == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_retry_shows_the_page_once_the_site_is_back(scheme, sites, folder, tab):
    tls = sites[scheme].tls
    with Origin(tls=tls) as site:
        site.pages["/page.html"] = reply("<title>Here again</title>", Cache_Control="no-store")
        site.down()
        tab.goto(f"{site.url}/page.html")
        assert tab.locator("main h1").count() == 1
        tab.get_by_role("link", name="Try again").click()
        tab.wait_for_load_state()
        assert tab.title() != "Here again"
        site.up()
        tab.get_by_role("link", name="Try again").click()
        tab.wait_for_function("document.title === 'Here again'")
        site.down()
        assert tab.reload().headers["linkmend-miss"] == "unreachable"
        site.up()
        tab.reload()
        assert tab.title() == "Here again"


def test_back_button_leads_from_alternative_to_repair_page_to_source_page(sites, tab):
    site = sites["http"]
    site.pages["/start.html"] = reply(f"<title>Start</title><a href='/404/{TOPIC}'>volcanoes</a>")
    tab.goto(f"{site.url}/start.html")
    tab.get_by_role("link", name="volcanoes").click()
    tab.wait_for_url(f"**/404/{TOPIC}")
    tab.locator("#alternatives > li a").first.click()
    tab.wait_for_url(WANTED)
    tab.go_back()
    assert offered(tab)[:1] == [WANTED]
    tab.go_back()
    assert tab.title() == "Start"


def test_cross_site_link_is_attributed_to_the_source_page(sites, running, tab):
    """Across sites the browser sends the origin alone; the source page and its text come from the pages this user
    opened.
    """
    site = sites["http"]
    path, lost = "/notes-on-cells.html", "http://no-such-host.invalid/biology/cells"
    site.pages[path] = reply(
        f"<title>Notes</title><p>For biology read <a href='{lost}'>animal and plant cells</a> first.",
        Cache_Control="max-age=600",
    )
    eventually(lambda: placed(tab, site.url + path, running, lost), "the link is not placed")
    assert offered(tab)[:1] == ["http://science.school.test/life/cells.html"]


def placed(tab, page, running, lost):
    """Click the link; returns whether the miss log names the source page."""
    tab.goto(page)
    tab.get_by_role("link", name="cells").click()
    tab.wait_for_url(lost)
    return any(record["source_url"] == page for record in misses(running, lost))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_missing_picture_stays_a_broken_picture_and_is_noted_with_its_page(scheme, sites, tab, running):
    site = sites[scheme]
    site.pages["/there.svg"] = reply(PICTURE, kind="image/svg+xml")
    site.pages["/album.html"] = reply(
        "<title>Album</title><img id=good src=/there.svg alt=good><img id=bad src=/nowhere.png alt='a hen'>"
        "<iframe src='/404/frame.html'></iframe>"
    )
    answers = {}
    tab.on("response", lambda answer: answers.update({urlsplit(answer.url).path: answer}))
    tab.goto(f"{site.url}/album.html")
    tab.wait_for_load_state("networkidle")
    assert tab.evaluate("document.getElementById('good').naturalWidth") == 40
    assert tab.evaluate("document.getElementById('bad').naturalWidth") == 0
    assert answers["/nowhere.png"].status == 404
    assert "linkmend-miss" not in answers["/nowhere.png"].headers
    assert answers["/nowhere.png"].text() == "<h1>Not here</h1>"
    assert answers["/404/frame.html"].headers["linkmend-miss"] == "not_found"
    noted = {"event": "dead_medium", "url": f"{site.url}/nowhere.png", "source_url": f"{site.url}/album.html"}
    eventually(lambda: any(noted.items() <= line.items() for line in log_lines(running)), "not in the log")


@pytest.mark.parametrize("way", ["fetch", "XMLHttpRequest"])
def test_a_script_gets_the_error_its_own_server_sent(way, sites, tab):
    site = sites["http"]
    site.pages["/app.html"] = reply("<title>App</title>")
    tab.goto(f"{site.url}/app.html")
    script = {
        "fetch": "fetch('/api').then(async (a) => [a.status, await a.text()])",
        "XMLHttpRequest": """new Promise((done) => {
            const ask = new XMLHttpRequest();
            ask.onload = () => done([ask.status, ask.responseText]);
            ask.open("GET", "/api"); ask.send(); })""",
    }
    assert tab.evaluate(script[way]) == [404, "<h1>Not here</h1>"]


@pytest.mark.parametrize(
    ("locale", "direction", "heading"),
    [("fr-FR", "ltr", "introuvable"), ("ar", "rtl", "الصفحة"), ("xx", "ltr", "not found")],
)
def test_repair_page_is_in_the_users_language(locale, direction, heading, sites, browser, folder):
    with a_tab(browser, locale=locale) as tab:
        answer = tab.goto(f"{sites['http'].url}/404/{TOPIC}")
        assert_ours(answer, tab, "not_found")
        assert tab.locator("html").get_attribute("dir") == direction
        assert heading in tab.locator("h1").inner_text()
        tab.screenshot(path=folder / f"language-{locale}.png", full_page=True)


def test_saved_copy_is_offered_and_opens_when_a_page_is_gone(sites, tab, running, folder):
    site = sites["http"]
    site.pages["/kept.html"] = reply(
        "<title>Kept</title><h1>Kept</h1><script>document.title = 'ran'</script>", Cache_Control="no-cache"
    )
    tab.goto(f"{site.url}/kept.html")
    site.pages["/kept.html"] = reply("gone", status="410 Gone")

    copy = tab.locator('#alternatives > li[data-source="copy"] a')

    def copy_is_offered():
        tab.goto(f"{site.url}/kept.html")
        return copy.count()

    eventually(copy_is_offered, "no copy is offered")
    tab.screenshot(path=folder / "copy-offered.png", full_page=True)
    copy.click()
    tab.wait_for_url("**/copy?url=*")
    assert tab.title() == "Kept"
    tab.screenshot(path=folder / "copy.png", full_page=True)
    eventually(
        lambda: any(each["chosen"] for each in misses(running, f"{site.url}/kept.html")), "no choice is noted"
    )


def test_the_portal_opens_and_gives_the_certificate(tab, folder):
    tab.goto("http://linkmend.internal/")
    assert complaints(tab) == []
    tab.screenshot(path=folder / "portal.png", full_page=True)
    tab.evaluate(
        "document.getElementById('device').open = true"
    )  # folded on a device that trusts the certificate
    with tab.expect_download() as download:
        tab.locator("a[download]").first.click()
    assert download.value.path().stat().st_size > 300
