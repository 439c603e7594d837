"""The pages in a real Chromium: axe-core finds nothing, everything works in the sandbox, no site can read them."""

import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from proxy.pages import browsepages
from proxy.pages import otherpages as pages
from proxy.pages import startpage as portal
from proxy.pages.copies import copy_page
from proxy.pages.language import catalogue
from proxy.pages.latepage import LateFindings, late_page, late_part
from proxy.pages.repairpage import render
from proxy.portal import routes
from proxy.portal.browsing import BrowseResults
from proxy.reach.passthrough import passthrough_domains
from proxy.settings import ProxySettings, Settings
from repair.collection.pagesearch import SearchResults
from repair.crawling.topicguide import TopicSection
from repair.model import HeldCopy, HeldPage, MissKind
from tests.offers import MISS_ID, SAVED_AT, a_context, an_alternative, found, the_library
from tests.unit.proxy.pages.test_browsepages import A_PAGE, LISTS

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

TOLD = portal.portal_info_of(Settings(), passthrough_domains(ProxySettings()))
LATE = LateFindings(
    link=found().link,
    offers=(an_alternative("http://other.test/new", "From another school", confidence=0.9, source="shared"),),
    numbers=(10,),
    is_best=True,
    miss_id=MISS_ID,
)
HOSTILE_COPY = b"""<!doctype html><html lang=en><head><title>An old page</title></head><body><h1>Old</h1>
<a id=next href="next.html">next</a><script>document.title = "ran"</script>
<img src=x onerror="document.title='ran'">"""


@dataclass
class Site:
    """A site on loopback whose pages are rendered like the proxy renders them; remembers every request."""

    port: int = 0
    language: str = "en"
    requests: list = field(default_factory=list)
    may_add: threading.Event = field(default_factory=threading.Event)
    """Until then what comes later does not come."""

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def told(self):
        return [path for method, path, _ in self.requests if method == "POST"]

    def answer(self, method, path, headers):
        self.requests.append((method, path, headers))
        texts = catalogue(self.language)
        call = routes.route(method, f"http://{headers['Host']}{path}", headers.items())
        match call:
            case routes.SearchRoute():
                found_pages = SearchResults(found=the_library(3), total=3)
                return browsepages.search_page(call, found_pages, LISTS, texts)
            case routes.CopyRoute(url=url):
                copy = HeldCopy(url=url, content_type="text/html", body=HOSTILE_COPY, fetched_at=SAVED_AT)
                return copy_page(copy, texts)
            case routes.LateOffersRoute(part=part):
                self.may_add.wait(30)
                return late_part(LATE, texts) if part else late_page(LATE, texts, portal=True)
            case routes.ChoiceRoute():
                return pages.no_content()
            case routes.ToPortalRoute(url=url):
                return pages.redirect(url)
            case routes.RefusedRoute(status=status):
                return pages.refused_page(status, texts)
        return self.page(path, texts)

    def page(self, path, texts):
        lost = found(
            (
                an_alternative(url=f"{self.origin}/target", title="The target", confidence=0.9),
                *the_library(7),
            ),
            url=f"{self.origin}{path}",
            copy_at=SAVED_AT,
            shortened=(f"{self.origin}/",),
        )
        kind = path.removeprefix("/kind/")
        if kind in list(MissKind):
            lost = found(kind=MissKind(kind), copy_at=SAVED_AT, shortened=("http://a.test/",))
            return render(lost, a_context(self.language, offline=kind == "timeout", error_detail="dns_error"))
        held = HeldPage(
            url="http://a.test/",
            title="Leaves",
            text="Green.\n\nAnd sweet.",
            language="en",
            fetched_at=SAVED_AT,
            pinned=False,
            has_copy=False,
        )
        made = {
            "/nothing": lambda: render(found(()), a_context(self.language)),
            "/lost": lambda: render(lost, a_context(self.language)),
            "/late": lambda: render(lost, a_context(self.language, more_later=True)),
            "/portal": lambda: portal.portal_page(
                texts,
                TOLD,
                held_pages=1_234,
                lists=LISTS,
                fingerprint="AB:" * 31 + "CD",
                pac_url="http://10.0.0.5:8080/proxy.pac",
            ),
            "/privacy": lambda: portal.privacy_page(texts, TOLD),
            "/trusted": lambda: portal.trusted_page(texts),
            "/reading": lambda: pages.reading_page(held, texts),
            "/missing-copy": lambda: pages.missing_copy_page("http://a.test/", texts),
            "/topic": lambda: browsepages.topic_page(
                routes.TopicRoute(topic="Water"),
                [TopicSection(subtopic=name, pages=(A_PAGE,), total=9) for name in ("", "Rivers")],
                texts,
            ),
            "/list": lambda: browsepages.list_page(
                routes.BrowseRoute(list=routes.BrowseList.NEWEST, page=2),
                BrowseResults(pages=(A_PAGE,), has_more=True),
                texts,
            ),
            "/no-results": lambda: browsepages.search_page(
                routes.SearchRoute(query="xyz"), SearchResults(suggestion="xy"), LISTS, texts
            ),
            "/empty-search": lambda: browsepages.search_page(
                routes.SearchRoute(query=""), SearchResults(), None, texts
            ),
        }
        return made[path]() if path in made else None


@pytest.fixture(scope="module")
def site():
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = made.answer(self.command, self.path, dict(self.headers))
            status, headers, body = (
                (page.status, page.headers, page.body)
                if page
                else (200, (("Content-Type", "text/html"),), b"<!doctype html><title>plain</title>plain")
            )
            self.send_response(status)
            for name, value in headers:
                if name != "Content-Length":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def forget(site):
    site.requests.clear()
    site.language = "en"
    site.may_add.set()


@pytest.fixture(scope="module")
def chromium(site):
    """A browser that knows two host names of the site; unlike on localhost it sends no Sec-Fetch-*."""
    here = f"127.0.0.1:{site.port}"
    names = f"MAP school.test:80 {here}, MAP linkmend.internal:80 {here}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", f"--host-resolver-rules={names}"]
        )
        yield browser
        browser.close()


@contextmanager
def a_tab(chromium, **known):
    """A tab that collects the browser's error messages."""
    context = chromium.new_context(**known)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    context.close()


@pytest.fixture
def tab(chromium):
    with a_tab(chromium) as page:
        yield page


EVERY_PAGE = (
    *(f"/kind/{kind.value}" for kind in MissKind),
    "/nothing",
    "/late",
    f"/.well-known/linkmend/late?miss={MISS_ID}",
    "/portal",
    "/privacy",
    "/trusted",
    "/reading",
    "/missing-copy",
    "/topic",
    "/list",
    "/no-results",
    "/empty-search",
    "/.well-known/linkmend/search?q=plants",
    "/.well-known/linkmend/nowhere",
)


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(chromium, site, language, scheme):
    site.language = language
    with a_tab(chromium, color_scheme=scheme, viewport={"width": 360, "height": 700}) as tab:
        for path in EVERY_PAGE:
            tab.goto(site.origin + path)
            if tab.locator("#more").count():
                tab.locator("#more summary").click()
            results = axe.Axe().run(tab)
            assert results.violations_count == 0, f"{path}: {results.generate_report()}"


@pytest.mark.parametrize("language", ["en", "ar", "hi"])
@pytest.mark.parametrize("width", [320, 360, 1280])
def test_nothing_is_wider_than_the_window(chromium, site, language, width):
    site.language = language
    with a_tab(chromium, viewport={"width": width, "height": 700}) as tab:
        for path in EVERY_PAGE:
            tab.goto(site.origin + path)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, path


def test_page_loads_nothing_else_and_logs_no_browser_errors(tab, site):
    tab.goto(site.origin + "/kind/unreachable")
    tab.wait_for_timeout(200)
    assert [path for _, path, _ in site.requests] == ["/kind/unreachable"]
    # The status of the page itself is always logged as an error.
    assert [text for text in tab.complaints if "status of 404" not in text] == []


def test_a_search_can_be_made_from_inside_the_sandbox(tab, site):
    tab.goto(site.origin + "/lost")
    tab.get_by_role("searchbox").fill("water & light")
    tab.get_by_role("button", name="Search").click()
    tab.wait_for_url("**/.well-known/linkmend/search?q=water+%26+light")
    assert tab.title().startswith("Results for “water & light”")


@pytest.mark.parametrize("scripts", [True, False])
def test_opening_an_alternative_is_reported_once_with_and_without_scripts(chromium, site, scripts):
    with a_tab(chromium, java_script_enabled=scripts) as tab:
        tab.goto(site.origin + "/lost")
        tab.get_by_role("link", name="The target").click()
        tab.wait_for_url("**/target")
        tab.wait_for_timeout(300)
    assert site.told() == [f"/.well-known/linkmend/chose?miss={MISS_ID}&n=1"]


def test_opened_site_gets_no_referrer(tab, site):
    tab.goto(site.origin + "/lost")
    tab.get_by_role("link", name="The target").click()
    tab.wait_for_url("**/target")
    (headers,) = [headers for method, path, headers in site.requests if path == "/target"]
    assert "Referer" not in headers


def test_an_alternative_opens_in_a_new_tab_free_of_our_sandbox(tab, site):
    tab.goto(site.origin + "/lost")
    with tab.context.expect_page() as opened:
        tab.get_by_role("link", name="The target").click(modifiers=["Control"])
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("self.origin") == site.origin


@pytest.mark.parametrize("scripts", [True, False])
def test_retry_requests_the_same_page(chromium, site, scripts):
    with a_tab(chromium, java_script_enabled=scripts) as tab:
        tab.goto(site.origin + "/lost")
        tab.get_by_role("link", name="Try again").click()
        tab.wait_for_timeout(300)
    assert [path for _, path, _ in site.requests if path != "/favicon.ico"] == ["/lost", "/lost"]


def test_more_pages_open_by_keyboard_and_take_the_focus_there(tab, site):
    tab.goto(site.origin + "/lost")
    assert tab.locator("#alternatives > li:visible").count() == 4
    tab.locator("#more summary").focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#alternatives > li:visible").count() == 9
    tab.locator(".later :focus").first.wait_for()


def test_more_pages_open_without_scripts_too(chromium, site):
    with a_tab(chromium, java_script_enabled=False) as tab:
        tab.goto(site.origin + "/lost")
        tab.locator("#more summary").click()
        assert tab.locator("#alternatives > li:visible").count() == 9


def test_what_comes_later_is_added_below_and_moves_nothing_above_it(tab, site):
    site.may_add.clear()
    tab.goto(site.origin + "/late")
    above = "[...document.querySelectorAll('#alternatives li')].map((li) => li.getBoundingClientRect().top)"
    before = tab.evaluate(above)
    tab.locator("#alternatives a").nth(1).focus()
    site.may_add.set()
    tab.locator("[aria-live] #late-offers").wait_for()
    assert tab.evaluate(above) == before
    assert tab.locator("#alternatives :focus").count() == 1
    assert tab.locator("#late-offers .badge").inner_text() == "Better match"
    tab.route("http://other.test/**", lambda route: route.fulfill(body="new"))
    tab.get_by_role("link", name="From another school").click()
    tab.wait_for_url("http://other.test/new")
    tab.wait_for_timeout(300)
    assert site.told() == [f"/.well-known/linkmend/chose?miss={MISS_ID}&n=10"]


def test_what_comes_later_is_a_page_of_its_own_without_scripts(chromium, site):
    with a_tab(chromium, java_script_enabled=False) as tab:
        tab.goto(site.origin + "/late")
        tab.get_by_role("link", name="Look among the pages of other schools too").click()
        assert tab.locator("#late-offers > li").count() == 1


def test_all_alternatives_are_printed(tab, site):
    tab.goto(site.origin + "/lost")
    tab.emulate_media(media="print")
    assert tab.locator("#alternatives > li:visible").count() == 9


def test_saved_copy_runs_no_scripts_and_its_links_work(tab, site):
    opened = []
    tab.route("http://a.test/**", lambda route: (opened.append(route.request.url), route.abort()))
    tab.goto(site.origin + "/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2Fb%2Fc.html")
    # Playwright's own scripts do not run there either, so the test queries the browser by CDP.
    asked = tab.context.new_cdp_session(tab).send("Target.getTargetInfo")
    assert asked["targetInfo"]["title"] == "An old page"
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_timeout(300)
    assert opened == ["http://a.test/b/x", "http://a.test/b/next.html"]


@pytest.mark.parametrize(
    "path", ["/lost", "/.well-known/linkmend/search?q=a", "/.well-known/linkmend/copy?url=http://a.test/"]
)
def test_site_script_cannot_read_a_window_it_opens(tab, site, path):
    tab.goto(site.origin + "/plain")
    seen = tab.evaluate(
        """async (path) => {
            const opened = window.open(path);
            await new Promise((done) => setTimeout(done, 700));
            try { return opened.document.body.innerText } catch (error) { return error.name }
        }""",
        path,
    )
    assert seen == "SecurityError"


def test_site_script_cannot_read_a_frame(tab, site):
    tab.goto(site.origin + "/plain")
    seen = tab.evaluate(
        """async () => {
            const frame = document.createElement("iframe");
            frame.src = "/lost";
            document.body.append(frame);
            await new Promise((done) => frame.onload = done);
            return frame.contentDocument === null;
        }"""
    )
    assert seen is True


@pytest.mark.parametrize("page", ["search?q=plants", "copy?url=http://a.test/"])
def test_site_script_cannot_fetch_the_collection(tab, site, page):
    tab.goto(site.origin + "/plain")
    answer = tab.evaluate(
        """async (page) => {
            const got = await fetch("/.well-known/linkmend/" + page, {headers: {Accept: "text/html"}});
            return [got.status, await got.text()];
        }""",
        page,
    )
    assert answer[0] == 403
    assert "photosynthesis" not in answer[1]
    assert "An old page" not in answer[1]


def test_on_plain_http_a_search_is_redirected_to_the_portal(tab, site):
    tab.goto("http://school.test/lost")
    tab.get_by_role("searchbox").fill("light")
    tab.get_by_role("button", name="Search").click()
    tab.wait_for_url("http://linkmend.internal/.well-known/linkmend/search?q=light")
    assert tab.title().startswith("Results for")
    assert not [headers for _, _, headers in site.requests if "Sec-Fetch-Mode" in headers]


def test_on_plain_http_a_site_script_cannot_fetch_the_collection_either(tab, site):
    tab.goto("http://school.test/plain")
    answer = tab.evaluate(
        """async () => {
            const asked = {headers: {Accept: "text/html", "Upgrade-Insecure-Requests": "1"}};
            try { return await (await fetch("/.well-known/linkmend/search?q=plants", asked)).text() }
            catch (error) { return error.name }
        }"""
    )
    assert answer == "TypeError"
