"""Fetching from real origins on loopback: what is saved, what is refused, and what an origin can do to us."""

import asyncio
import contextlib
import gzip
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.entries import FetchState
from proxy.fetching.politeness import Bandwidth
from proxy.fetching.queue import FetchQueue
from proxy.fetching.rulecheck import FetchRuleCheck
from proxy.fetching.saving import FetchedPageSaver
from proxy.fetching.service import FetchService
from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.reach.policy import ReachPolicy
from proxy.rules.ruleset import RuleSet
from proxy.settings import FetchSettings, ProxySettings, Settings
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection
from repair.evidence.hints import Hints
from repair.fetch import FetchLimits
from repair.harvest import Harvester
from repair.soft404.detector import Soft404Detector
from repair.soft404.sitestore import SiteStore
from tests.files import a_pdf
from tests.integration.client import Client
from tests.integration.origin import Origin, cut, hang, reply
from tests.integration.processes import eventually, linkmend
from tests.make import a_broken_link
from tests.unit.proxy.rules.books import a_book

QUICK = FetchSettings(
    night="00:00-00:00", pause_s=0.0, retry_s=0.05, timeout_s=3.0, tries=2, bytes_per_s=0, max_bytes=200_000
)
LOOPBACK = ("127.0.0.0/8",)
TEXT = "Herons stand in the shallow water and wait for fish, which they catch with a quick stab of the beak. "


def a_page(words="The heron", links=""):
    return reply(
        f"<html><head><title>{words}</title></head><body><h1>{words}</h1><p>{TEXT * 3}{links}</p></body></html>"
    )


class Running:
    """Fetching over real stores in a folder, on an event loop of the test."""

    def __init__(self, folder, settings=None, *, reach=LOOPBACK, tls=True):
        self.settings = settings or Settings(fetch=QUICK)
        self.reach = ReachPolicy(allowed=reach)
        self.ruleset = RuleSet()
        self.responses = ResponseStore.open(folder / "cache", self.settings.cache)
        self.collection = Collection.open(folder / "collection", self.settings.collection)
        self.hints = Hints(self.collection, self.settings.repair)
        self.harvester = Harvester(self.collection, self.settings.collection, self.hints)
        self._sites = SiteStore(folder / "sites.sqlite")
        self._threads = ThreadPoolExecutor(2)
        self.fetching = FetchService(
            folder / "fetch",
            self._saver,
            Connectivity(),
            settings=lambda: self.settings,
            reach=lambda: self.reach,
            tls=tls,
        )
        self.queue = self.fetching.queue

    def _saver(self, max_bytes):
        return FetchedPageSaver(
            responses=self.responses,
            collection=self.collection,
            harvester=self.harvester,
            hints=self.hints,
            detector=Soft404Detector(self._sites, self._threads),
            settings=self.settings.collection,
            max_bytes=max_bytes,
            rulings=FetchRuleCheck(lambda: self.ruleset),
        )

    async def __aenter__(self):
        await self.fetching.start()
        return self

    async def __aexit__(self, *_):
        await self.fetching.close()
        await self.responses.close()
        self.harvester.close()
        self._threads.shutdown()
        self.collection.close()
        self._sites.close()

    async def settled(self, number, timeout_s=15.0):
        """An entry once it is finished."""
        end = time.monotonic() + timeout_s
        while (entry := self.queue.get(number)).state in (FetchState.WAITING, FetchState.FETCHING):
            assert time.monotonic() < end, entry
            await asyncio.sleep(0.02)
        return entry

    async def outcome(self, url, **wishes):
        return await self.settled(self.queue.add(url, **{"when": "now", **wishes}).id)


def outcome(folder, url, settings=None, **options):
    """The final entry of one address."""

    async def one():
        async with Running(folder, settings, **options) as running:
            return await running.outcome(url)

    return asyncio.run(one())


def test_a_page_is_fetched_into_the_cache_and_the_collection_without_cookies(tmp_path, origin):
    origin.pages["/heron"] = reply(
        f"<title>The heron</title><p>{TEXT}</p>", Set_Cookie="who=me", Vary="Accept-Encoding"
    )
    url = f"{origin.url}/heron"

    async def fetched():
        async with Running(tmp_path) as running:
            entry = await running.outcome(url)
            again = await running.outcome(url)
            held = running.collection.get(url)
            return entry, again, held, await running.responses.lookup(url)

    entry, again, held, (response,) = asyncio.run(fetched())
    assert (entry.state, entry.error, entry.percent) == (FetchState.DONE, "", 100)
    assert again.state is FetchState.DONE
    assert held.title == "The heron"
    assert held.pinned
    assert response.pinned
    assert "set-cookie" not in {name.lower() for name, _ in response.headers}
    assert all("cookie" not in exchange.headers for exchange in origin.seen)
    assert origin.asked["/robots.txt"] == 1


@pytest.mark.parametrize(
    ("body", "title", "note"),
    [
        (a_pdf(f"Herons in winter\n{TEXT}"), "Herons in winter", ""),
        (b"%PDF-1.7 damaged", None, "saved; not a searchable page"),
    ],
    ids=["readable", "damaged"],
)
def test_a_file_is_saved_as_it_is_and_found_if_it_can_be_read(tmp_path, origin, body, title, note):
    origin.pages["/heron.pdf"] = reply(body, kind="application/pdf")
    url = f"{origin.url}/heron.pdf"

    async def fetched():
        async with Running(tmp_path) as running:
            entry = await running.settled(running.queue.add(url, when="now").id, timeout_s=60.0)
            return entry, running.collection.get(url), await running.responses.lookup(url)

    entry, held, (response,) = asyncio.run(fetched())
    assert (entry.state, entry.error) == (FetchState.DONE, note)
    assert (held.title if held else None) == title
    assert response.body == body


def test_a_sitemap_fetched_again_tells_which_pages_moved(tmp_path, origin):
    async def fetched():
        notes = []
        async with Running(tmp_path) as running:
            for place in ("old", "birds"):
                listed = f"<urlset><url><loc>{origin.url}/{place}/grey-heron</loc></url></urlset>"
                origin.pages["/sitemap.xml"] = reply(listed, kind="application/xml")
                notes.append((await running.outcome(f"{origin.url}/sitemap.xml")).error)
            origin.pages["/birds/grey-heron"] = a_page()
            await running.outcome(f"{origin.url}/birds/grey-heron")
            return notes, running.hints.known_targets(a_broken_link(f"{origin.url}/old/grey-heron"))

    notes, targets = asyncio.run(fetched())
    assert notes == [f"saved; a sitemap, which tells of {count} moved pages" for count in (0, 1)]
    assert [target.url for target in targets] == [f"{origin.url}/birds/grey-heron"]


def test_a_feed_that_lists_other_pages_tells_of_no_move(tmp_path, origin):
    async def fetched():
        async with Running(tmp_path) as running:
            for place in ("old", "birds"):
                item = f"<item><title>Heron</title><link>{origin.url}/{place}/grey-heron</link></item>"
                origin.pages["/feed"] = reply(f"<rss>{item}</rss>", kind="application/rss+xml")
                entry = await running.outcome(f"{origin.url}/feed")
            return entry.error

    assert "sitemap" not in asyncio.run(fetched())


def test_redirects_are_followed_and_saved_so_both_addresses_work_offline(tmp_path, origin):
    origin.pages["/old"] = reply(status="301 Moved", Location="/mid")
    origin.pages["/mid"] = reply(status="302 Found", Location="/heron")
    origin.pages["/heron"] = a_page()

    async def fetched():
        async with Running(tmp_path) as running:
            entry = await running.outcome(f"{origin.url}/old")
            kept = [
                await running.responses.lookup(f"{origin.url}{path}") for path in ("/old", "/mid", "/heron")
            ]
            return entry, [found[0].status for found in kept]

    entry, statuses = asyncio.run(fetched())
    assert entry.state is FetchState.DONE, entry
    assert statuses == [301, 302, 200]


def test_a_page_behind_a_redirect_to_loopback_is_refused_and_never_asked_for(tmp_path, origin):
    """The name of the first host is allowed; it redirects to this machine."""
    with Origin() as inner:
        inner.pages["/secret"] = a_page("secret")
        origin.pages["/"] = reply(status="302 Found", Location=f"http://localhost:{inner.port}/secret")

        class OnlyTheFirst(ReachPolicy):
            def may_reach(self, address, port=0):
                return port == origin.port

        async def fetched():
            async with Running(tmp_path) as running:
                running.reach = OnlyTheFirst(allowed=LOOPBACK)
                return await running.outcome(f"{origin.url}/")

        entry = asyncio.run(fetched())
    assert (entry.state, entry.tries) == (FetchState.REFUSED, 1)
    assert "out of reach" in entry.error
    assert not inner.seen


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"])
def test_local_addresses_are_not_fetched(tmp_path, origin, address):
    origin.pages["/"] = a_page()
    entry = outcome(tmp_path, f"http://{address}:{origin.port}/", reach=())
    assert entry.state is FetchState.REFUSED, entry
    assert not origin.seen


@pytest.mark.parametrize(
    ("said", "state", "why"),
    [
        (reply("gone", status="404 Not Found"), FetchState.FAILED, "404"),
        (reply("oops", status="500 Oops"), FetchState.FAILED, "gave up after 2 tries"),
        (reply(f"<title>x</title>{TEXT}", Cache_Control="private"), FetchState.REFUSED, "private"),
        (reply(f"<title>x</title>{TEXT}", Cache_Control="no-store"), FetchState.REFUSED, "no-store"),
        (reply(status="302 Found", Location="/a?session=0123456789abcdef"), FetchState.REFUSED, "personal"),
        (reply(status="302 Found", Location="/"), FetchState.FAILED, "redirects"),
        (reply(status="302 Found", Location="ftp://elsewhere.test/"), FetchState.FAILED, "nowhere"),
        (cut, FetchState.FAILED, "gave up after 2 tries"),
    ],
)
def test_unusable_page_is_reported_with_its_reason(tmp_path, origin, said, state, why):
    origin.pages["/"] = said
    entry = outcome(tmp_path, f"{origin.url}/")
    assert (entry.state, why in entry.error) == (state, True), entry


def test_soft_404_page_is_not_saved(tmp_path, origin):
    origin.pages["/lost"] = reply(
        "<html><head><title>404 Page not found</title></head><body><h1>Page not found</h1>"
        "<p>Sorry, the page you requested could not be found.</p></body></html>"
    )

    async def fetched():
        async with Running(tmp_path) as running:
            entry = await running.outcome(f"{origin.url}/lost")
            return entry, running.collection.page_count(), await running.responses.count()

    entry, pages, responses = asyncio.run(fetched())
    assert entry.state is FetchState.FAILED
    assert "not_found" in entry.error
    assert (pages, responses) == (0, 0)


def test_admin_rules_apply_to_the_fetch_queue(tmp_path, origin):
    origin.pages |= {"/blocked": a_page(), "/unlisted": a_page()}
    rules = """
        [[rule]]
        url = "*/blocked"
        action = "block"
        [[rule]]
        url = "*/unlisted"
        action = "no-index"
        """

    async def fetched():
        async with Running(tmp_path) as running:
            running.ruleset = a_book(rules)
            entries = [await running.outcome(origin.url + path) for path in ("/blocked", "/unlisted")]
            return entries, running.collection.page_count()

    (blocked, unlisted), held = asyncio.run(fetched())
    assert (blocked.state, unlisted.state, held) == (FetchState.REFUSED, FetchState.DONE, 0), (
        blocked,
        unlisted,
    )
    assert origin.asked["/blocked"] == 0


def test_robots_txt_is_obeyed(tmp_path, origin):
    origin.pages["/robots.txt"] = reply("User-agent: *\nDisallow: /private/*.html$", kind="text/plain")
    origin.pages["/private/a.html"] = origin.pages["/open.html"] = a_page()

    async def fetched():
        async with Running(tmp_path) as running:
            return await running.outcome(f"{origin.url}/private/a.html"), await running.outcome(
                f"{origin.url}/open.html"
            )

    refused, done = asyncio.run(fetched())
    assert (refused.state, "robots.txt" in refused.error) == (FetchState.REFUSED, True)
    assert done.state is FetchState.DONE
    assert origin.asked["/private/a.html"] == 0


def test_failing_robots_txt_postpones_the_page(tmp_path, origin):
    origin.pages["/robots.txt"] = reply(status="503 Busy")
    origin.pages["/"] = a_page()

    async def fetched():
        async with Running(tmp_path) as running:
            number = running.queue.add(f"{origin.url}/", when="now").id
            while not (entry := running.queue.get(number)).error:
                await asyncio.sleep(0.02)
            return entry

    entry = asyncio.run(asyncio.wait_for(fetched(), 10))
    assert entry.state is FetchState.WAITING
    assert (entry.next_try_at - entry.changed_at).total_seconds() > 500
    assert origin.asked["/"] == 0


async def endless(exchange):
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        while True:
            await exchange.send(b"<p>more " * 1_000)


async def drip(exchange):
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        while True:
            await exchange.send(b"x")
            await asyncio.sleep(0.1)


BOMB = reply(gzip.compress(b"<p>" + b"\0" * 50_000_000), Content_Encoding="gzip")
HUGE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999999999\r\n\r\n"  # and then nothing
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (endless, "larger than"),
        (drip, "took too long"),
        (BOMB, "cannot decompress the page, or it is too large"),
        (HUGE, "larger than"),
        (hang, "took too long"),
    ],
)
def test_slow_or_endless_origin_is_cut_off(tmp_path, origin, said, why):
    origin.pages["/"] = said
    began = time.monotonic()
    quick = replace(QUICK, timeout_s=1.0)
    entry = outcome(tmp_path, f"{origin.url}/", Settings(fetch=quick))
    assert (entry.state, why in entry.error) == (FetchState.FAILED, True), entry
    assert time.monotonic() - began < 10
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*.body")) == 0


@pytest.mark.parametrize("said", [endless, reply("Disallow: /" + "*a" * 200_000, kind="text/plain")])
def test_huge_robots_txt_costs_only_its_own_page(tmp_path, origin, said):
    origin.pages["/robots.txt"] = said
    origin.pages["/" + "a" * 3_000] = a_page()
    began = time.monotonic()
    with Origin() as other:
        other.pages["/"] = a_page()

        async def fetched():
            async with Running(tmp_path) as running:
                running.queue.add(f"{origin.url}/{'a' * 3_000}", when="now")
                return await running.outcome(f"{other.url}/")

        assert asyncio.run(fetched()).state is FetchState.DONE
    assert time.monotonic() - began < 8


def test_a_thousand_rules_in_robots_txt_do_not_keep_a_page_from_being_fetched(tmp_path, origin):
    lines = "User-agent: *\n" + "".join(f"Disallow: /{'*a' * 40}{number}\n" for number in range(4_000))
    origin.pages["/robots.txt"] = reply(lines, kind="text/plain")
    path = "/" + "a" * 3_000
    origin.pages[path] = a_page()
    # With backtracking patterns it would take far too long.
    assert outcome(tmp_path, origin.url + path).state is FetchState.DONE


def test_all_fetches_together_keep_to_the_bandwidth_and_do_not_time_out_over_it(origin):
    origin.pages["/"] = reply(b"x" * 50_000)
    limits = FetchLimits(max_bytes=100_000, timeout_s=0.5)

    async def fetched():
        client = HttpClient(
            ConnectGuard(lambda: ReachPolicy(allowed=LOOPBACK)),
            purpose="test",
            pause_after=Bandwidth(lambda: 50_000).take,
        )
        began = time.monotonic()
        both = [client.get(f"{origin.url}/", limits=limits, headers={}) for _ in "ab"]
        pages = await asyncio.gather(*both)
        took_s = time.monotonic() - began
        await client.close()
        return [len(page.body) for page in pages], took_s

    sizes, took_s = asyncio.run(fetched())
    assert sizes == [50_000, 50_000]
    assert 1.9 < took_s < 5


def test_progress_is_visible_to_all_processes(tmp_path, origin):
    origin.pages["/"] = reply(f"<title>long</title><p>{TEXT * 1500}</p>")
    slow = replace(QUICK, bytes_per_s=50_000)

    async def fetched():
        async with Running(tmp_path, Settings(fetch=slow)) as running:
            number = running.queue.add(f"{origin.url}/", when="now").id
            another = FetchQueue(tmp_path / "fetch" / "queue.sqlite")
            seen = set()
            while (entry := another.get(number)).state is not FetchState.DONE:
                seen.add(entry.percent)
                await asyncio.sleep(0.05)
            another.close()
            return seen

    seen = asyncio.run(asyncio.wait_for(fetched(), 20)) - {None, 0}
    assert len(seen) >= 2, seen


def test_subresources_are_fetched_with_the_page(tmp_path, origin):
    parts = '<img src="/a.png"><link rel="stylesheet" href="/a.css"><img src="/missing.png">'
    origin.pages["/"] = a_page(links=parts)
    origin.pages["/a.png"] = reply(b"\x89PNG", kind="image/png")
    origin.pages["/a.css"] = reply("p{}", kind="text/css")

    async def fetched():
        async with Running(tmp_path) as running:
            entry = await running.outcome(f"{origin.url}/")
            held = [bool(await running.responses.lookup(origin.url + path)) for path in ("/a.png", "/a.css")]
            return entry, held

    entry, held = asyncio.run(fetched())
    assert (entry.state, entry.error) == (FetchState.DONE, "1 of its files could not be fetched")
    assert held == [True, True]


def test_an_https_page_is_fetched_only_when_its_certificate_is_trusted(tmp_path, secure_origin):
    import ssl

    secure_origin.pages["/"] = a_page()
    trusted = ssl.create_default_context(cafile=str(secure_origin.pem))
    assert outcome(tmp_path / "a", f"{secure_origin.url}/").state is FetchState.FAILED
    assert outcome(tmp_path / "b", f"{secure_origin.url}/", tls=trusted).state is FetchState.DONE


def test_one_request_at_a_time_per_host(tmp_path, origin):
    under_way, most = 0, 0

    async def slowly(exchange):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.05)
        under_way -= 1
        await exchange.send(a_page(exchange.path))

    origin.pages.update({f"/{number}": slowly for number in range(6)})

    async def fetched():
        async with Running(tmp_path, Settings(fetch=replace(QUICK, at_once=4))) as running:
            numbers = [running.queue.add(f"{origin.url}/{number}", when="now").id for number in range(6)]
            return [(await running.settled(number)).state for number in numbers]

    assert set(asyncio.run(fetched())) == {FetchState.DONE}
    assert most == 1


def test_nothing_is_fetched_offline(tmp_path, origin):
    origin.pages["/"] = a_page()

    async def fetched():
        settings = Settings(fetch=QUICK, proxy=ProxySettings(offline=True))
        async with Running(tmp_path, settings) as running:
            number = running.queue.add(f"{origin.url}/", when="now").id
            await asyncio.sleep(1.5)
            return running.queue.get(number)

    assert asyncio.run(fetched()).state is FetchState.WAITING
    assert not origin.seen


def test_what_the_command_adds_is_fetched_by_the_running_proxy_and_read_offline(
    tmp_path, origin, start_linkmend
):
    origin.pages["/heron"] = a_page()
    url = f"{origin.url}/heron"
    running = start_linkmend(settings="[fetch]\npause_s = 0.0\n")
    added = linkmend("fetch", "add", url, "--when", "now", "--data", running.data)
    assert added.returncode == 0, added.stderr

    def done():
        return '"done"' in linkmend("fetch", "list", "--json", "--data", running.data).stdout

    eventually(done, "the page is not fetched")
    running.stop()
    origin.down()
    offline = start_linkmend("--offline", data=running.data)
    assert "Herons stand" in Client(offline.url).open_page(url).text


def test_after_kill_9_in_mid_fetch_the_page_is_fetched(tmp_path, origin, start_linkmend):
    hanging = True

    async def at_first_never(exchange):
        await (hang(exchange) if hanging else exchange.send(a_page()))

    origin.pages["/heron"] = at_first_never
    url = f"{origin.url}/heron"
    first = start_linkmend(settings="[fetch]\npause_s = 0.0\n")
    linkmend("fetch", "add", url, "--when", "now", "--data", first.data)
    eventually(lambda: origin.asked["/heron"], "nobody asked")
    first.kill()
    hanging = False
    start_linkmend(settings="[fetch]\npause_s = 0.0\n", data=first.data)

    def done():
        return '"done"' in linkmend("fetch", "list", "--json", "--data", first.data).stdout

    eventually(done, "the page is not fetched after all")


def test_a_personal_address_is_not_queued():
    refused = linkmend("fetch", "add", "http://a.test/?session=0123456789", "--data", "/nonexistent/nowhere")
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
