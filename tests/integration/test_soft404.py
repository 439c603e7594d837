"""Soft 404s through the real proxy: error pages with a 200, parked domains, redirects to the start page."""

import asyncio
import re

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, serving

ERROR_PAGE = (
    "<html><head><title>Page not found | Riverbend School</title></head><body><nav><a href='/'>Home</a></nav>"
    "<main><h1>404</h1><p>Sorry, the page you are looking for does not exist.</p></main></body></html>"
)
VAGUE_PAGE = (
    "<html><head><title>Riverbend School</title></head><body><main><h1>Oops!</h1><p>The caretaker says it is "
    "missing, and he has looked in every cupboard of the house.</p><p>Go home and have a cup of tea.</p>"
    "</main></body></html>"
)
ARTICLE = (
    "<html><head><title>404 Not Found explained</title></head><body><main><h1>404 Not Found</h1>"
    + "<p>The HTTP 404 status code means that a server was reached and has no page at the address asked for. "
    "For example, a link may have been mistyped by its author many years ago, or the page was moved.</p>"
    * 6
    + "</main></body></html>"
)
PARKED = (
    "<html><head><title>riverbend.example is for sale</title>"
    "<script src='https://www.google.com/adsense/domains/caf.js'></script></head>"
    "<body><h1>This domain is for sale</h1><p>Buy this domain.</p><p>Related searches</p></body></html>"
)
LESSON = "<title>Volcanoes</title><main><h1>Volcanoes</h1><p>" + "Lava and ash come out of the Earth. " * 30

SHELLED = "<title>{t}</title><h1>{t}</h1><div id=root></div><script src=/app.js></script>"
TITLES = (
    "Trial and error",
    "Gone with the wind",
    "The Missing Link",
    "Lost and found",
    "Page not found - a history of the web",
    "404 Festival",
)


class Everywhere(dict):
    """A site that answers every unknown address with one page."""

    def __init__(self, answer, **pages):
        super().__init__({"/robots.txt": reply("", status="404 Not Found"), **pages})
        self.answer = answer

    def get(self, path, default=None):
        return super().get(path, self.answer)


def nonsense_asked(origin):
    """How often the origin was probed with an address of twenty random letters."""
    return sum(times for path, times in origin.asked.items() if re.search(r"/[a-z]{20}", path))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One proxy for most tests: each has a site of its own."""
    with serving(tmp_path_factory.mktemp("soft404") / "data") as proxy:
        yield proxy


@pytest.fixture
def client(running):
    return Client(running.url)


def test_soft_404_is_answered_with_a_repair_page(origin, client):
    origin.pages["/lessons/gone.html"] = reply(ERROR_PAGE)
    answer = client.open_page(origin.url + "/lessons/gone.html")
    assert (answer.status, answer.miss) == (200, "soft_404")
    assert 'id="alternatives"' in answer.text
    assert "no-store" in answer.headers["Cache-Control"]


def test_user_may_see_the_suppressed_page_and_it_stays_visible(origin, client):
    url = origin.url + "/lessons/gone.html"
    origin.pages["/lessons/gone.html"] = reply(ERROR_PAGE)
    way = re.search(r'href="(/\.well-known/linkmend/anyway\?miss=[\w-]+)"', client.open_page(url).text)
    assert way, "no way to the page"
    sent_on = client.open_page(origin.url + way[1])
    assert (sent_on.status, sent_on.headers["Location"]) == (303, url)
    assert client.open_page(url).text == ERROR_PAGE
    assert client.open_page(url).miss is None


def test_other_users_cannot_use_the_show_anyway_link(origin, running):
    origin.pages["/gone.html"] = reply(ERROR_PAGE)
    shown = Client(running.url).open_page(origin.url + "/gone.html").text
    way = re.search(r'href="(/\.well-known/linkmend/anyway[^"]+)"', shown)[1]
    other = Client(running.url, source="127.0.0.2")
    assert other.open_page(origin.url + way).status == 404
    script = {"Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}
    assert Client(running.url).open_page(origin.url + way, **script).status == 403
    assert other.open_page(origin.url + "/gone.html").miss == "soft_404"


def test_an_article_about_errors_passes(origin, client):
    origin.pages["/wiki/404"] = reply(ARTICLE)
    answer = client.open_page(origin.url + "/wiki/404")
    assert answer.miss is None
    assert answer.text == ARTICLE


@pytest.mark.parametrize("title", TITLES)
def test_application_with_error_words_in_its_title_passes_its_error_page_does_not(origin, client, title):
    shell = SHELLED.format(t=title)
    origin.pages["/lessons/7"] = reply(shell)
    origin.pages["/lessons/gone.html"] = reply(ERROR_PAGE)
    answer = client.open_page(origin.url + "/lessons/7")
    assert (answer.miss, answer.text) == (None, shell)
    assert client.open_page(origin.url + "/lessons/gone.html").miss == "soft_404"
    assert nonsense_asked(origin) == 0


def test_an_application_that_sends_one_page_for_every_address_passes(origin, client):
    shell = SHELLED.format(t="Page not found - a history of the web, in ten lessons for the whole family")
    origin.pages = Everywhere(reply(shell), **{"/old": reply(shell, status="404 Not Found")})
    assert client.open_page(origin.url + "/old").miss == "not_found"
    assert [client.open_page(f"{origin.url}/lessons/{n}").text for n in (1, 2)] == [shell, shell]


def test_deep_link_redirected_inside_an_application_passes(origin, client):
    shell = SHELLED.format(t="Lessons")
    deep = "/lessons/rivers-and-lakes.html"
    origin.pages[deep] = reply("", status="302 Found", Location="/#/lessons/rivers-and-lakes")
    origin.pages["/"] = reply(shell)
    assert client.open_page(origin.url + deep).status == 302
    assert client.open_page(origin.url + "/").text == shell


def test_script_requests_are_not_checked(origin, client):
    origin.pages["/part.html"] = reply(ERROR_PAGE)
    script = {"Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}
    assert client.open_page(origin.url + "/part.html", **script).text == ERROR_PAGE


def test_parked_domain_is_reported_as_such(origin, client):
    origin.pages["/lessons/rivers.html"] = reply(PARKED)
    assert client.open_page(origin.url + "/lessons/rivers.html").miss == "parked"


def test_a_deep_link_sent_to_the_start_page_is_a_missing_page(origin, client):
    origin.pages["/lessons/rivers-and-lakes.html"] = reply("", status="302 Found", Location="/")
    origin.pages["/"] = reply(LESSON)
    assert client.open_page(origin.url + "/lessons/rivers-and-lakes.html").status == 302
    answer = client.open_page(origin.url + "/")
    assert answer.miss == "soft_404"
    assert "rivers-and-lakes" in answer.text
    assert client.open_page(origin.url + "/").text == LESSON


def test_soft_404_pages_are_not_stored(origin, client):
    origin.pages["/lessons/gone.html"] = reply(ERROR_PAGE, Cache_Control="public, max-age=600")
    origin.pages["/lessons/lava.html"] = reply(LESSON, Cache_Control="public, max-age=600")
    client.open_page(origin.url + "/lessons/gone.html")
    client.open_page(origin.url + "/lessons/lava.html")
    eventually(lambda: "lava.html" in client.search("volcanoes lava").text, "the lesson was not kept")
    assert f"{origin.port}/lessons/gone.html" not in client.search("Riverbend School page").text


def test_in_doubt_the_site_is_probed_once_per_directory(origin, client):
    origin.pages = Everywhere(reply(VAGUE_PAGE))
    kinds = [client.open_page(f"{origin.url}/lessons/{name}.html").miss for name in ("a", "b", "c")]
    assert kinds == ["soft_404"] * 3
    assert nonsense_asked(origin) == 1


def test_site_that_sends_real_404s_is_trusted(origin, client):
    origin.pages["/lessons/tea.html"] = reply(VAGUE_PAGE)
    assert client.open_page(origin.url + "/lessons/tea.html").text == VAGUE_PAGE
    assert nonsense_asked(origin) == 1


def test_probes_obey_robots_txt(origin, client):
    rules = reply("User-agent: *\nDisallow: /lessons/", kind="text/plain")
    origin.pages = Everywhere(reply(VAGUE_PAGE), **{"/robots.txt": rules})
    assert client.open_page(origin.url + "/lessons/a.html").miss is None
    assert nonsense_asked(origin) == 0


def test_late_probe_delays_nobody_and_serves_the_next_request(origin, start_linkmend):
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(exchange):
        if re.search(r"/[a-z]{20}", exchange.path):
            asked.set()
            await asyncio.wait_for(go_on.wait(), 30)
        await exchange.send(reply(VAGUE_PAGE))

    origin.pages = Everywhere(slowly)
    client = Client(start_linkmend(settings="[soft404]\nbudget_s = 0.1\n").url)
    assert client.open_page(origin.url + "/lessons/a.html").text == VAGUE_PAGE
    eventually(asked.is_set, "the site was not asked")
    origin._loop.call_soon_threadsafe(go_on.set)
    eventually(
        lambda: client.open_page(origin.url + "/lessons/b.html").miss == "soft_404",
        "the answer taught nothing",
    )
    assert nonsense_asked(origin) == 1


def test_probes_and_detection_can_be_switched_off(origin, start_linkmend, tmp_path):
    origin.pages = Everywhere(reply(VAGUE_PAGE), **{"/gone.html": reply(ERROR_PAGE)})
    quiet = Client(start_linkmend(settings='[soft404]\nprobe = "off"\n').url)
    assert quiet.open_page(origin.url + "/lessons/a.html").miss is None
    assert nonsense_asked(origin) == 0
    off = Client(start_linkmend(settings="[soft404]\nenabled = false\n", data=tmp_path / "other").url)
    assert off.open_page(origin.url + "/gone.html").text == ERROR_PAGE


def test_show_anyway_works_in_a_browser(origin, running, open_browser):
    origin.pages["/lessons/gone.html"] = reply(ERROR_PAGE)
    tab = open_browser(running)
    tab.goto(origin.url + "/lessons/gone.html")
    assert tab.title().startswith("This page seems to be missing")
    tab.get_by_role("link", name="Show the page anyway").click()
    tab.wait_for_function("document.title === 'Page not found | Riverbend School'")
    assert tab.url == origin.url + "/lessons/gone.html"
