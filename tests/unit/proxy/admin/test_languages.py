"""The desk in every language: no fixed text is left in English, as a made-up language shows that marks its texts."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser

import proxy.admin.routing
from proxy.admin.topics.service import AdminTopics
from proxy.fetching.queue import FetchQueue
from proxy.misses.feed import MissFeed
from proxy.misses.review import MissReview
from proxy.pages.desktexts import DeskLanguage, desk_language
from proxy.pages.language import LANGUAGES, catalogue
from proxy.rules.history import RuleEdits
from proxy.rules.live import LiveRules
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from repair.soft404.sitestore import SiteStore
from tests.desks import a_browser, a_desk, an_admin, app_of
from tests.holdings import SITE, a_document
from tests.lessons import some_lessons
from tests.make import A_MOMENT
from tests.missed import a_miss, note
from tests.unit.proxy.admin.home.test_pages import sources_of

GONE = f"{SITE}/gone"
HELD = f"{SITE}/вода"
PAGES = [
    "/admin",
    "/admin?" + urlencode({"for": GONE}),
    "/admin?" + urlencode({"for": GONE, "q": "вода"}),
    "/admin/misses",
    "/admin/misses?by=source",
    "/admin/misses?by=site",
    "/admin/misses?by=choice",
    "/admin/misses?by=record",
    "/admin/misses?text=никто",
    "/admin/misses/address?" + urlencode({"url": GONE}),
    "/admin/misses/decisions",
    "/admin/fetch",
    "/admin/collection",
    "/admin/collection?q=вода",
    "/admin/collection/page?" + urlencode({"url": HELD}),
    "/admin/collection/remove?" + urlencode({"url": HELD}),
    "/admin/topics",
    "/admin/topics/topic?" + urlencode({"name": "Вода"}),
    "/admin/growth",
    "/admin/rules",
    "/admin/rules/test?" + urlencode({"url": GONE}),
    "/admin/rules/file?name=10.toml",
    "/admin/rules/history",
    "/admin/live",
    "/admin/health",
    "/admin/requests",
    "/admin/proposals",
    "/admin/suggestions",
    "/admin/users",
    "/admin/audit",
    "/admin/access",
    "/admin/setup",
    "/admin/rules/new?template=lessons",
    "/admin/rules/new?template=redirect",
    "/admin/misses?by=media",
    "/admin/nothing-here",
]
MARKED = re.compile(r"⟦[^⟧]*⟧")
# What is data, a unit or a name wherever it stands: addresses, the time zone, the audit log's verbs.
DATA = re.compile(
    r"linkmend(?:\.internal\S*)?|\bUTC\b|\b(?:bytes|KB|MB|GB)\b|\b\w+\.toml\S*|\b(?:admin|reviewer|teacher)\b"
    r"|\b(?:GET|POST)\b|/[\w/-]+|https?://\S*|\b\w+\.test\S*|\blogin\b|\bCSV\b|\bJSON\b|\btext/html\b"
    r"|\d+ May \d+|[а-яА-Я]+|\b(?:pass|block|mdn\S*|gov\S*|[a-z]+\d+-\S*|\S*moved)\b"
    r"|\b(?:internetarchive|arquivo\.pt|ukwa|wpschools|deblang|rubylang|devblogs|vuelang)\b"  # archives, collections
)
NO_TEXT = "script, style, code, pre, textarea, [translate=no], bdi, #language-choice, svg[aria-hidden]"


class MarkedTexts(dict):
    """Every text in brackets; values in a text stay outside them."""

    def get(self, message, default=None):
        pieces = re.split(r"(\{\w+\}|</?[a-z]+\d*>)", message)
        return "".join(
            f"⟦{piece}⟧" if place % 2 == 0 and piece else piece for place, piece in enumerate(pieces)
        )


@pytest.fixture
async def app(tmp_path):
    now = datetime.now(UTC)
    queue, sites = FetchQueue(tmp_path / "queue.sqlite"), SiteStore(tmp_path / "sites.sqlite")
    queue.add(f"{SITE}/wanted", when="night", why="")
    topics = TopicDatabase(tmp_path / "topics.sqlite")
    (tmp_path / "rules").mkdir()
    rule = '[[rule]]\nname = "вода"\ndomain = "school.test"\naction = "pass"\n'
    (tmp_path / "rules" / "10.toml").write_text(rule, encoding="utf-8")
    rules = RuleEdits(LiveRules(tmp_path / "rules", kept=tmp_path / "kept"), tmp_path / "history")
    async with (
        some_lessons(tmp_path / "of-teachers") as lessons,
        a_desk(
            tmp_path, fetches=queue, missing_now=MissFeed(), rules=rules, lessons=lessons, topics=topics
        ) as desk,
    ):
        AdminTopics(topics).put(Topic(name="Вода"), by="admin")
        desk.collection.add(a_document("/вода", title="Вода", text="Вода вода."), fetched_at=A_MOMENT)
        desk.collection.commit()
        source = f"{SITE}/откуда"
        note(
            desk.misses,
            *(a_miss(number, GONE, now, client="один", source_url=source) for number in range(3)),
            a_miss(9, f"{SITE}/другое", now, chosen=HELD),
        )
        pins = Pins(desk.collection.database)
        pins.pin(f"{SITE}/old", HELD, "admin", now)
        whole = replace(
            desk, review=MissReview.over(desk.misses, sites), pins=pins, health=sources_of(tmp_path, now)
        )
        yield app_of(whole)
    for store in (queue, sites, topics):
        store.close()


def left_in_english(html):
    """What is neither marked nor data."""
    tree = LexborHTMLParser(html)
    attributes = [
        node.attributes[name]
        for name in ("aria-label", "title", "placeholder")
        for node in tree.css(f"[{name}]:not([translate=no])")
    ]
    for node in tree.css(NO_TEXT):
        node.decompose()
    texts = [*(tree.body.text(separator="\n").split("\n")), *(text or "" for text in attributes)]
    bare = [DATA.sub("", MARKED.sub("", text)) for text in texts]
    return [text.strip() for text in bare if re.search(r"[^\W\d_]{2}", text)]


async def test_no_fixed_text_of_the_desk_is_left_in_english(app, monkeypatch):
    marked = DeskLanguage(pages=catalogue("en"), texts=MarkedTexts())
    left = {}
    async with an_admin(app) as browser:
        monkeypatch.setattr(proxy.admin.routing, "language_of", lambda request: marked)
        for page in PAGES:
            response = await browser.get(page)
            assert response.status in (200, 404), (page, await response.text())
            left[page] = left_in_english(await response.text())
    assert {page: found for page, found in left.items() if found} == {}


@pytest.mark.parametrize("code", LANGUAGES)
async def test_every_page_is_shown_in_every_language(app, code):
    headings = set()
    async with an_admin(app) as browser:
        for page in PAGES:
            response = await browser.get(page, headers={"Accept-Language": code})
            html = LexborHTMLParser(await response.text())
            assert response.status in (200, 404), page
            assert html.css_first("html").attributes["lang"] == code, page
            assert html.css_first("html").attributes["dir"] == catalogue(code).direction, page
            headings.add(html.css_first("h1").text())
    assert (desk_language(code).texts.get("Dead links", "Dead links")) in headings


async def test_the_chosen_language_is_kept_and_goes_before_the_browsers(app):
    async with a_browser(app) as browser:
        sent = {"language": "fr", "back": "/admin/login"}
        assert (await browser.post("/admin/language", sent, token="")).headers["Location"] == "/admin/login"
        response = await browser.get("/admin/login", headers={"Accept-Language": "es"})
        assert "Définir" in await response.text()


async def test_a_language_that_is_not_ours_changes_nothing(app):
    async with a_browser(app) as browser:
        response = await browser.post("/admin/language", {"language": "xx", "back": "//evil.test"}, token="")
        assert (response.headers["Location"], response.headers.get("Set-Cookie")) == ("/admin", None)


async def test_errors_are_in_the_readers_language_on_pages_and_in_english_for_programs(app):
    async with an_admin(app) as browser:
        headers = {"Accept-Language": "es"}
        page = await browser.get("/admin/misses/address", headers=headers)
        assert "no se dio ninguna dirección" in await page.text()
        call = await browser.get("/admin/api/topics/none", headers=headers)
        assert call.status == 404
        assert (await call.json())["detail"] == "Not Found"
