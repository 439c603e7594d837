"""Every page of the desk and the portal in Chromium and in Firefox: axe-core finds nothing, nothing is wider than the
window, and the keyboard reaches all of it.

With PAGE_PICTURES=FOLDER in the environment each page leaves a picture there, to be looked at.
"""

import os
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import axe_playwright_python
import pytest

from proxy.admin.auth.passwords import Passwords
from proxy.admin.topics.service import AdminTopics
from proxy.setup.installation import note_done
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from tests.integration.browser import launched
from tests.integration.client import PORTAL, Client
from tests.integration.firefox import firefox
from tests.integration.processes import DEMO, eventually, linkmend, serving

PASSWORD = "correct horse battery"
SECURE = "https://linkmend.internal"
CITING = "http://library.school.test/guides/how-to-cite.html"
WATER = "http://science.school.test/earth/water-cycle.html"
SAVED = "http://science.school.test/earth/volcanoes.html"
GEYSERS = "http://science.school.test/earth/geysers.html"
ALBUM = "http://science.school.test/album.html"
RULE = (
    '[[rule]]\nname = "exam week"\ndomain = ".maths.school.test"\naction = "block"\nreason = "Exam week."\n'
)
LOOKS = [
    ("1200-light-en", 1200, "light", "en"),
    ("390-dark-ar", 390, "dark", "ar"),
    ("1200-dark-ar", 1200, "dark", "ar"),
    ("390-light-en", 390, "light", "en"),
]
DESK = (
    *("", f"?{urlencode({'for': CITING})}", f"?{urlencode({'for': CITING, 'q': 'volcanoes'})}"),
    *(f"/misses?by={by}" for by in ("address", "source", "site", "choice", "record", "media")),
    f"/misses/address?{urlencode({'url': CITING})}",
    "/misses/decisions",
    *("/fetch", "/collection", "/collection?q=volcanoes", "/collection/import"),
    f"/collection/page?{urlencode({'url': SAVED})}",
    f"/collection/remove?{urlencode({'url': SAVED})}",
    *("/topics", "/topics/topic?name=Geology", "/growth", "/rules"),
    *(f"/rules/new?template={name}" for name in ("block", "lessons", "redirect", "pass", "bypass")),
    *("/rules/file?name=10-exams.toml", "/rules/file?name=20-new.toml", "/rules/history"),
    f"/rules/test?{urlencode({'url': 'http://maths.school.test/'})}",
    *("/live", "/health", "/requests", "/proposals", "/suggestions", "/users", "/audit", "/access"),
    *("/setup", "/nowhere"),
)
OTHERS = (
    f"{PORTAL}/",
    f"{PORTAL}/.well-known/linkmend/search?q=volcanoes",
    f"{PORTAL}/.well-known/linkmend/search?q=volcanos",
    f"{PORTAL}/.well-known/linkmend/privacy",
    f"{PORTAL}/.well-known/linkmend/topic?name=Geology",
    f"{PORTAL}/.well-known/linkmend/browse?list=newest",
    GEYSERS,
    "http://science.school.test/page/site",
    "http://maths.school.test/blocked",
    f"{SECURE}/teach",
)
TAB = "\ue004"
# Presses of Tab after which a page counts as walked through; the longest lists repeat themselves.
MOST_TABS = 60
WIDE = (
    "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1"
    " && !e.closest('.table, .rules-text, pre, svg')).map(e => e.outerHTML.slice(0, 200)).slice(0, 5)"
)
FOCUSED = """(() => {
  const folded = e => {
    for (let d = e.closest('details'); d; d = d.parentElement.closest('details'))
      if (!d.open && !(e.tagName == 'SUMMARY' && e.parentElement == d)) return true;
    return false;
  };
  const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary,'
    + ' [tabindex="0"]')].filter(e => e.tabIndex >= 0 && !e.disabled && e.getClientRects().length && !folded(e));
  const now = document.activeElement, style = getComputedStyle(now), box = now.getBoundingClientRect();
  return {place: all.indexOf(now), of: all.length, what: now.outerHTML.slice(0, 120),
    seen: style.outlineStyle != 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0};
})()"""


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """A desk with something on every page."""
    data = tmp_path_factory.mktemp("pages") / "data"
    assert linkmend("import", DEMO, "--data", data).returncode == 0
    Passwords(data / "desk.json").set_password(PASSWORD)
    (data / "rules.d").mkdir()
    (data / "rules.d" / "10-exams.toml").write_text(RULE)
    with closing(TopicDatabase(data / "topics")) as topics:
        AdminTopics(topics).put(Topic(name="Geology", words=("volcanoes", "basalt")), by="admin")
    note_done(data)
    (data / "import" / "wetland birds").mkdir(parents=True)
    (data / "import" / "wetlands-2026.wacz").write_bytes(bytes(20_000))
    with serving(data, "--offline") as running:
        for reader in range(1, 4):
            client = Client(running.url, source=f"127.0.0.{reader}")
            for url in (CITING, WATER, "http://oldlibrary.school.test/" + "very-long-" * 40):
                client.open_page(url, Referer="http://library.school.test/research/taking-notes.html")
        log = running.data / "misses" / "misses.jsonl"
        eventually(lambda: log.exists() and log.read_text().count('"miss"') >= 9, "the misses are not noted")
        yield running


class InChromium:
    """A page of playwright's, with what `Firefox` has."""

    def __init__(self, page):
        self._page = page

    def focus(self):
        """A page of playwright's always has it."""

    def open(self, url):
        self._page.goto(url)

    def evaluate(self, script):
        return self._page.evaluate(script)

    def press(self, *keys):
        for _ in keys:
            self._page.keyboard.press("Tab")

    def log_in(self):
        self._page.goto(f"{SECURE}/admin/login")
        self._page.fill("#password", PASSWORD)
        self._page.click("form:has(#password) button")
        self._page.wait_for_url(f"{SECURE}/admin")

    def screenshot(self, path):
        self._page.screenshot(path=str(path), full_page=True)


def log_in_firefox(window):
    window.open(f"{SECURE}/admin/login")
    window.fill("#password", PASSWORD)
    window.click_through("form:has(#password) button", "location.pathname == '/admin'")


def axe_violations(window):
    """What axe-core finds, in words."""
    source = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    window.evaluate(f"(() => {{ {source}; return 1 }})()")
    found = window.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v =>"
        " v.id + ': ' + v.nodes.map(n => n.html.slice(0, 150)).join(' | ')))"
    )
    return list(found)


def look_at(window, url, name, browser):
    """What is wrong with a page, with everything on it unfolded."""
    window.open(url)
    window.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    if folder := os.environ.get("PAGE_PICTURES"):
        plain = "".join(c if c.isalnum() else "-" for c in url.partition("//")[2])[:60]
        window.screenshot(Path(folder) / f"{browser}-{plain}-{name}.png")
    faults = axe_violations(window)
    if window.evaluate("document.documentElement.scrollWidth > innerWidth"):
        faults.append(f"wider than the window: {window.evaluate(WIDE)}")
    return [f"{url} {fault}" for fault in faults]


def walk_through(window, url):
    """What is wrong for somebody who has no mouse: the order, the focus that shows, and nothing that holds it."""
    window.focus()
    window.open(url)
    before, faults = -1, []
    for _ in range(MOST_TABS):
        window.press(TAB)
        now = window.evaluate(FOCUSED)
        if now["place"] <= before:
            break
        if now["place"] != before + 1 and not now["what"].startswith("<input"):  # radio buttons are one stop
            faults.append(f"{url} skipped to {now['what']}")
        if not now["seen"]:
            faults.append(f"{url} focus does not show on {now['what']}")
        before = now["place"]
    else:
        return faults
    if before < now["of"] - 1 and now["place"] == before:
        faults.append(f"{url} the focus stays on {now['what']}")
    return faults


EVERY = (*(f"{SECURE}/admin{path}" for path in DESK), *OTHERS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width", "scheme", "language"), LOOKS, ids=lambda value: str(value))
def test_axe_finds_nothing_on_any_page_in_chromium(school, program, tmp_path, name, width, scheme, language):
    path, certutil = program("chromium"), program("certutil")
    with launched(path, tmp_path / "home", proxy=school.url, certutil=certutil, ca=school.ca) as browser:
        page = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, locale=language
        ).new_page()
        window = InChromium(page)
        window.log_in()
        assert [fault for url in EVERY for fault in look_at(window, url, name, "chromium")] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width", "scheme", "language"), LOOKS[:2], ids=lambda value: str(value))
def test_axe_finds_nothing_on_any_page_in_firefox(school, program, tmp_path, name, width, scheme, language):
    with firefox(
        program("firefox-esr", "firefox"),
        tmp_path / "home",
        proxy=school.url,
        certutil=program("certutil"),
        ca=school.ca,
        locale=language,
        color_scheme=scheme,
        width=width,
    ) as window:
        log_in_firefox(window)
        assert [fault for url in EVERY for fault in look_at(window, url, name, "firefox")] == []
        assert [fault for url in EVERY[:6] for fault in walk_through(window, url)] == []


@pytest.mark.slow
def test_keyboard_reaches_everything_in_order_and_the_focus_shows(school, program, tmp_path):
    path, certutil = program("chromium"), program("certutil")
    with launched(path, tmp_path / "home", proxy=school.url, certutil=certutil, ca=school.ca) as browser:
        window = InChromium(browser.new_page())
        window.log_in()
        assert [fault for url in EVERY for fault in walk_through(window, url)] == []
