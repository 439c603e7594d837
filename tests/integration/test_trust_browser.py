"""docs/security.md, claims 4 and 6, in Chromium: untrusted content runs nothing on our pages, and no site can read
them.

The content is planted wherever it can get in: titles, texts, addresses and links of harvested pages, the query, an
imported folder, the reasons of rules. Anything that runs leaves a mark in the title or opens a dialog.
"""

import json
import urllib.parse

import pytest

from tests.integration.client import PORTAL, Client
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import eventually, linkmend, serving

SETTINGS = "[collection]\ncommit_every_s = 0.2\n"
HELPER = "/.well-known/linkmend"
RUNS = "document.title='ran';alert(1)"
PAYLOADS = (
    f"<script>{RUNS}</script>",
    f'"><img src=x onerror="{RUNS}">',
    f'\'><svg onload="{RUNS}">',
    f"</title></style></script><script>{RUNS}</script>",
    f"javascript:{RUNS}",
    f'<iframe srcdoc="<script>parent.{RUNS}</script>"></iframe>',
    "{{ 7*7 }}{% include '/etc/passwd' %}",
)


def planted(number, payload):
    """A saved page with the payload wherever a page has text."""
    words = f"quagga zebra okapi{number}"
    escaped = payload.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return reply(
        f'<html lang="{escaped}"><head><title>{words} {escaped}</title></head>'
        f"<body><h1>{words} {escaped}</h1><p>{words} {escaped} {payload} {words}</p>"
        f'<a href="/gone/{urllib.parse.quote(payload)}/okapi{number}.html">{words} {escaped}</a>'
        f'<a href="javascript:{RUNS}">{words}</a></body></html>',
        Cache_Control="max-age=600",
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pem, context = certificate(tmp_path_factory.mktemp("site"), "127.0.0.1", "localhost")
    with Origin(tls=context) as running:
        running.pem = pem
        for number, payload in enumerate(PAYLOADS):
            running.pages[f"/okapi{number}.html"] = planted(number, payload)
        running.pages["/script"] = reply("<!doctype html><title>a script</title>")
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory, site):
    home = tmp_path_factory.mktemp("pages")
    folder = home / "imported" / "school.example"
    folder.mkdir(parents=True)
    for number, payload in enumerate(PAYLOADS):
        page = f"<title>quagga zebra import{number} {payload}</title><p>quagga zebra import{number} {payload}"
        (folder / f"import{number}.html").write_text(page, encoding="utf-8")
    done = linkmend("import", "--data", home / "data", folder.parent)
    assert done.returncode == 0, done.stderr
    rules = home / "rules"
    rules.mkdir()
    lines = [
        f'[[rule]]\nname = "rule{number}"\ndomain = ["rule{number}.test"]\naction = "block"\n'
        f"reason = {json.dumps(payload)}\n"
        for number, payload in enumerate(PAYLOADS)
    ]
    (rules / "hostile.toml").write_text("".join(lines), encoding="utf-8")
    settings = f'{SETTINGS}[proxy]\ntrusted_ca = "{site.pem}"\n[rules]\nfolder = "{rules}"\n'
    with serving(home / "data", settings=settings) as proxy:
        client = Client(proxy.url, proxy.ca)
        for number in range(len(PAYLOADS)):
            client.open_page(f"{site.url}/okapi{number}.html")
        last = f"okapi{len(PAYLOADS) - 1}"
        eventually(lambda: f"{last}.html" in client.search(last).text, "the pages are not held")
        yield proxy


@pytest.fixture
def page(running, open_browser):
    opened = open_browser(running)
    opened.dialogs = []
    opened.on("dialog", lambda dialog: (opened.dialogs.append(dialog.message), dialog.dismiss()))
    return opened


def addresses(site):
    """Our pages with untrusted content: repair pages, results, copies, notes."""
    for number, payload in enumerate(PAYLOADS):
        quoted = urllib.parse.quote(payload, safe="")
        yield f"{site.url}/gone/{quoted}/okapi{number}.html"
        yield f"{site.url}/quagga-zebra-import{number}?{quoted}"
        yield f"{site.url}{HELPER}/search?q={quoted}%20quagga%20okapi{number}"
        yield f"{PORTAL}/search?q={quoted}%20import{number}"
        yield f"{site.url}{HELPER}/copy?url={urllib.parse.quote(f'{site.url}/okapi{number}.html', safe='')}"
        yield f"{PORTAL}/copy?url={quoted}"
        yield f"{PORTAL}/{quoted}"
        yield f"http://169.254.169.254/{quoted}"
        yield f"http://rule{number}.test/{quoted}"


def test_untrusted_content_runs_nothing_on_our_pages(page, site):
    shown = 0
    for address in addresses(site):
        page.goto(address)
        page.wait_for_timeout(50)
        shown += "okapi" in page.content() or "import" in page.content()
        title = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["title"]
        assert title != "ran", address
        assert page.dialogs == [], address
        links = [link.get_attribute("href").strip().lower() for link in page.locator("a[href]").all()]
        # A saved copy is unchanged; there the policy blocks all scripts.
        assert "/copy?" in address or not [
            each for each in links if each and not each.startswith(("http", "/", "#"))
        ]
    assert shown > 3 * len(PAYLOADS), "the payloads are not on the pages"


def test_javascript_link_in_a_saved_copy_does_not_run(page, site):
    page.goto(f"{site.url}{HELPER}/copy?url={urllib.parse.quote(f'{site.url}/okapi1.html', safe='')}")
    page.locator("a[href^=javascript]").first.click(no_wait_after=True)
    page.wait_for_timeout(300)
    title = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["title"]
    assert title != "ran"
    assert page.dialogs == []


READ = """async ([url, options]) => {
    try { return await (await fetch(url, options)).text() } catch (error) { return error.name }
}"""

LOOK_IN = """async (url) => {
    const opened = window.open(url);
    await new Promise((done) => setTimeout(done, 1500));
    try { return opened.document.body.innerText } catch (error) { return error.name }
}"""


def test_site_script_cannot_read_the_collection(page, site, running):
    page.goto(site.url + "/script")
    for url in (
        f"{HELPER}/search?q=okapi1",
        f"{HELPER}/copy?url={site.url}/okapi1.html",
        f"{PORTAL}/search?q=okapi1",
        f"{running.url}/timemap/link/{site.url}/okapi1.html",
        "/gone/okapi1.html",
    ):
        seen = page.evaluate(READ, [url, {"headers": {"Accept": "text/html"}} if url[0] == "/" else {}])
        assert "quagga" not in seen, url


@pytest.fixture(scope="module", params=["1", "2"], ids=["one worker", "two workers"])
def plain(request, tmp_path_factory):
    """A site on plain http, for which browsers send no Fetch Metadata, and a saved page of another site."""
    home = tmp_path_factory.mktemp("plain")
    names = home / "names.json"
    names.write_text(json.dumps({"school.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}))
    also = {"LINKMEND_PROXY_WORKERS": request.param}
    with Origin() as site, serving(home / "data", settings=SETTINGS, names=names, also=also) as proxy:
        site.proxy, site.plain = proxy, f"http://school.test:{site.port}"
        site.pages["/script"] = reply("<!doctype html><title>a script</title>")
        site.pages["/okapi1.html"] = planted(1, "harmless")
        site.pages["/link"] = reply('<title>a link</title><a href="/gone/okapi1.html?page=2#top">okapi1</a>')
        client = Client(proxy.url)
        client.open_page(f"http://other.test:{site.port}/okapi1.html")
        eventually(lambda: "okapi1.html" in client.search("okapi1").text, "the page is not held")
        yield site


def test_site_script_cannot_read_the_collection_on_plain_http(plain, open_browser):
    page = open_browser(plain.proxy)
    page.goto(plain.plain + "/script")
    marks = {
        "Accept": "text/html",
        "Upgrade-Insecure-Requests": "1",
        "Accept-Language": "",
        "User-Agent": "curl/8",
    }
    untraced = {"headers": marks, "referrerPolicy": "no-referrer", "cache": "no-store"}
    for options in (
        {},
        {"headers": {"Accept": "application/json", "User-Agent": "curl/8"}},
        untraced,
        {**untraced, "mode": "same-origin"},
        {"mode": "no-cors"},
        {**untraced, "redirect": "manual"},
    ):
        seen = page.evaluate(READ, ["/gone/okapi1.html", options])
        assert "quagga" not in seen, options
        assert "other.test" not in seen, options
    with_xhr = """(url) => new Promise((done) => {
        const asked = new XMLHttpRequest();
        asked.open("GET", url);
        asked.setRequestHeader("Accept", "text/html");
        asked.onloadend = () => done(asked.responseText + asked.getAllResponseHeaders());
        asked.send();
    })"""
    seen = page.evaluate(with_xhr, "/gone/okapi1.html")
    assert "quagga" not in seen
    assert "linkmend-way" not in seen


def test_user_on_plain_http_sees_the_repair_page_under_the_missing_address(plain, open_browser):
    page = open_browser(plain.proxy)
    page.goto(plain.plain + "/link")
    missing = "/gone/okapi1.html?page=2"
    asked_before = plain.asked[missing]
    with page.expect_navigation() as opened:
        page.click("a")
    assert opened.value.status == 404
    assert opened.value.headers["linkmend-miss"] == "not_found"
    assert page.locator("#alternatives li").first.get_attribute("data-url").startswith("http://other.test")
    eventually(
        lambda: page.url == plain.plain + "/gone/okapi1.html?page=2#top", "our mark is still to be seen"
    )
    assert plain.asked[missing] == asked_before + 1
    page.reload()
    assert page.locator("#alternatives li").count()
    page.go_back()
    assert page.title() == "a link"


def test_plain_http_site_cannot_read_our_pages(plain, open_browser):
    page = open_browser(plain.proxy)
    page.goto(plain.plain + "/script")
    assert page.evaluate(LOOK_IN, "/gone/okapi1.html") == "SecurityError"
    framed = """async (url) => {
        const frame = document.createElement("iframe");
        const loaded = new Promise((done) => (frame.onload = done));
        frame.src = url;
        document.body.append(frame);
        await loaded;
        return frame.contentDocument === null;
    }"""
    assert page.evaluate(framed, "/gone/okapi1.html")


def test_program_gets_alternatives_on_plain_http_without_redirect(plain):
    client, address = Client(plain.proxy.url), plain.plain + "/gone/okapi1.html"
    for answer in (
        client.get(address, Accept="text/html", Accept_Language="de"),
        client.get(address, Accept="text/html", Accept_Encoding="gzip"),
        client.repair(address, Accept_Encoding="gzip"),
    ):
        assert answer.status == 404
        assert "other.test" in answer.text


def test_site_script_cannot_read_our_pages(page, site):
    page.goto(site.url + "/script")
    for url in ("/gone/okapi1.html", f"{HELPER}/search?q=okapi1"):
        assert page.evaluate(LOOK_IN, url) == "SecurityError"


def test_sandboxed_frame_of_a_site_reads_nothing_without_a_miss_id(page, site):
    """Its origin is `null`, like that of our pages."""
    page.goto(site.url + "/script")
    seen = page.evaluate(
        """async (url) => {
            const frame = document.createElement("iframe");
            frame.sandbox = "allow-scripts";
            frame.srcdoc = `<script>fetch("${url}").then((got) => got.text()).catch(String)
                .then((text) => parent.postMessage(text, "*"))<\\/script>`;
            const told = new Promise((done) => addEventListener("message", (event) => done(event.data)));
            document.body.append(frame);
            return await told;
        }""",
        f"{site.url}{HELPER}/mementos?miss=aaaaaaaaaaaaaaaaaaaaaa&part=1",
    )
    assert "quagga" not in seen
    assert "archive.org" not in seen
