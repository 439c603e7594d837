"""A site's service worker cannot read our pages, whatever it does with a user's navigation; in Chromium.

A service worker sees navigations of its site, also those of hidden frames to invented addresses, and may read the
responses. It must not see the collection: the text of a page that somebody else opened.
"""

import contextlib

import pytest

from tests.integration.browser import launched
from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import eventually, serving

HELPER = "/.well-known/linkmend"
SECRET = "quagga"
WORKER = """
const asked = new URL(location).searchParams, how = asked.get("how"), seen = [];
addEventListener("install", (event) => {
  skipWaiting();
  const race = { condition: { urlPattern: { pathname: "/*" } }, source: "race-network-and-fetch-handler" };
  if (how === "race") event.addRoutes(race);
});
addEventListener("activate", (event) => event.waitUntil((async () => {
  const preload = registration.navigationPreload;
  if (how === "preload") await preload.enable();
  if (how === "preload" && asked.has("value")) await preload.setHeaderValue(asked.get("value"));
  await clients.claim();
})()));
const read = async (event) => {
  const answers = {
    preload: () => event.preloadResponse,
    url: () => fetch(event.request.url, { headers: { Accept: "text/html" } }),
    copy: () => fetch(new Request(event.request, { cache: "no-store" })),
  };
  const answer = await (answers[how] ?? (() => fetch(event.request)))();
  seen.push(answer.type === "opaqueredirect" ? answer.type : await answer.clone().text());
  return answer;
};
addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate" && !event.request.url.endsWith("/start")) event.respondWith(read(event));
});
addEventListener("message", (event) => event.ports[0].postMessage(seen));
"""
REGISTER = """async (query) => {
    await navigator.serviceWorker.register("/worker.js?" + query);
    await navigator.serviceWorker.ready;
    while (!navigator.serviceWorker.controller) await new Promise((done) => setTimeout(done, 20));
}"""
FRAME = """(url) => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.onload = () => done();
    frame.src = url;
    document.body.append(frame);
})"""
SEEN = """() => new Promise((done) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = (event) => done(event.data);
    navigator.serviceWorker.controller.postMessage(0, [channel.port2]);
})"""
WAYS = [
    "how=event",
    "how=url",
    "how=copy",
    "how=preload",
    "how=preload&value=",
    "how=preload&value=x",
    "how=race",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """https://127.0.0.1 has a worker, https://localhost is the same server under a name that has none."""
    pem, context = certificate(tmp_path_factory.mktemp("site"), "127.0.0.1", "localhost")
    with Origin(tls=context) as running:
        running.pem = pem
        running.plain = f"https://localhost:{running.port}"
        held = f"<title>okapi zebra {SECRET}</title><h1>okapi zebra</h1><p>okapi zebra {SECRET}"
        running.pages["/held.html"] = reply(held, Cache_Control="max-age=600")
        running.pages["/start"] = reply("<!doctype html><title>start</title><body>")
        for way in WAYS:
            script = reply(WORKER, Content_Type="text/javascript", Cache_Control="max-age=600")
            running.pages[f"/worker.js?{way}"] = script
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory, site):
    settings = f'[collection]\ncommit_every_s = 0.2\n[proxy]\ntrusted_ca = "{site.pem}"\n'
    with serving(tmp_path_factory.mktemp("workers") / "data", settings=settings) as proxy:
        client = Client(proxy.url, proxy.ca)
        client.open_page(f"{site.plain}/held.html")
        eventually(lambda: "held.html" in client.search("okapi").text, "the page is not held")
        yield proxy


@pytest.fixture(scope="module")
def browser(running, tmp_path_factory, program):
    home = tmp_path_factory.mktemp("home")
    with launched(
        program("chromium"), home, proxy=running.url, certutil=program("certutil"), ca=running.ca
    ) as opened:
        yield opened


@pytest.fixture
def open_page(browser):
    """Opens a page as another person, who has no service worker yet."""
    with contextlib.ExitStack() as stack:

        def opened(url):
            page = stack.enter_context(contextlib.closing(browser.new_context())).new_page()
            page.goto(url)
            return page

        yield opened


def offered(page):
    return [each.get_attribute("data-url") for each in page.locator("#alternatives li").all()]


def test_without_a_service_worker_the_repair_page_is_under_the_missing_address(site, open_page):
    """The control of all others: what the service workers look for can be found."""
    page = open_page(site.plain + "/start")
    answer = page.goto(site.plain + "/gone/okapi-zebra.html")
    assert answer.status == 404
    assert page.url == site.plain + "/gone/okapi-zebra.html"
    assert site.plain + "/held.html" in offered(page)
    assert SECRET in page.content()


@pytest.mark.parametrize("way", WAYS)
def test_service_worker_cannot_read_the_collection(way, site, open_page):
    page = open_page(site.url + "/start")
    page.evaluate(REGISTER, way)
    for address in (
        "/gone/okapi-zebra.html",
        f"{HELPER}/search?q=okapi",
        f"{HELPER}/copy?url={site.plain}/held.html",
    ):
        page.evaluate(FRAME, address)
    seen = page.evaluate(SEEN)
    assert len(seen) == 3, "the worker did not look"
    assert not [each for each in seen if SECRET in each or "held.html" in each]


def test_racing_service_worker_cannot_read_the_repair_page(site, open_page):
    page = open_page(site.url + "/start")
    page.evaluate(REGISTER, "how=race")
    window = page.context.new_page()
    answer = window.goto(site.url + "/gone/okapi-zebra.html")
    assert answer.status == 404
    assert answer.headers["linkmend-miss"] == "not_found"
    assert site.plain + "/held.html" in offered(window)
    assert window.url.startswith("https://linkmend.internal/")
    assert window.locator("#again").get_attribute("href") == site.url + "/gone/okapi-zebra.html"
    window.reload()
    assert site.plain + "/held.html" in offered(window)
    window.goto(f"{site.url}{HELPER}/search?q=okapi")
    assert SECRET in window.content()
    seen = page.evaluate(SEEN)
    assert "opaqueredirect" in seen, "the worker did not look"
    assert not [each for each in seen if SECRET in each]


def test_site_cannot_read_our_page_in_its_window(site, open_page):
    page = open_page(site.plain + "/start")
    with page.expect_popup() as opened:
        page.evaluate("(url) => { window.other = window.open(url) }", "/gone/okapi-zebra.html")
    opened.value.wait_for_load_state()
    assert SECRET in opened.value.content()
    look = "() => { try { return other.document.body.innerText } catch (error) { return error.name } }"
    assert page.evaluate(look) == "SecurityError"
