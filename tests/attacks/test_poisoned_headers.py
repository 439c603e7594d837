"""Request fields with which one user changes what a careless site sends, and what all others get after that."""

import asyncio
import gzip
import http.client
import threading
from urllib.parse import quote

import pytest

from tests.attacks.attackers import send_raw
from tests.integration.origin import reply
from tests.integration.processes import eventually

FRESH = "public, max-age=600"
SHORT = {"User_Agent": "x"}
"""Too short to be told from any other text of a page that repeats it."""

# Sites and their frameworks, servers and filters are known to read each of these.
NAMES = """
X-HTTP-Host-Override X-Forwarded-Path X-Forwarded-Uri X-Forwarded-For X-Original-Path RSC X-Middleware-Prefetch
Forwarded X-Forwarded-Host X-Forwarded-Port X-Forwarded-Proto X-Forwarded-Protocol X-Forwarded-Scheme
X-Forwarded-Server X-Forwarded-Ssl X-Forwarded-Prefix X-Forwarded-By X-Forwarded-Url X-Forwarded-Request-Uri
X-Forwarded-Method X-Forwarded-Query X-Forwarded-Context X-Forwarded-User X-Forwarded-Email X-Forwarded X-Forward-For
X-Original-Host X-Original-Url X-Original-Uri X-Original-Method X-Original-Forwarded-For X-Original-Remote-Addr
X-Rewrite-Url X-Rewrite-Uri X-Override-Url X-Http-Destinationurl X-Http-Method X-Http-Method-Override
X-Method-Override X-Host X-Host-Override X-Backend-Host X-Backend X-Proxy-Host X-Proxy-Url X-Proxy-User X-Real-Ip
X-Real-Host X-Remote-Ip X-Remote-Addr X-Client-Ip X-Client-Host X-Cluster-Client-Ip X-Azure-Clientip True-Client-Ip
Cf-Connecting-Ip Cf-Ipcountry Cf-Visitor Cdn-Loop Fastly-Client-Ip Fastly-Ssl Client-Ip Front-End-Https
X-Url-Scheme X-Scheme X-Ssl X-Https X-Arr-Ssl X-Wap-Profile X-Wap-Network-Client-Ip X-Ucbrowser-Device
X-Operamini-Phone X-Device X-Device-Type X-Mobile X-Country-Code X-Geo-Country X-Language X-Locale X-Lang X-Theme
X-Template X-Debug X-Env X-Test X-Preview X-Draft X-Amp X-Ab-Test X-Experiment X-Variant X-Version Api-Version
Accept-Version X-Api-Version X-Requested-With X-Pjax X-Inertia X-Inertia-Version Turbo-Frame Turbolinks-Referrer
Hx-Request Hx-Target Hx-Boosted Next-Router-State-Tree Next-Router-Prefetch Next-Url Next-Action X-Nextjs-Data
X-Invoke-Path X-Invoke-Status X-Invoke-Query X-Middleware-Subrequest X-Middleware-Invoke X-Matched-Path
X-Now-Route-Matches X-Prerender-Revalidate X-Vercel-Ip-Country X-Nuxt-Payload X-Sveltekit-Load X-Astro-Path
X-Shopify-Host X-Wp-Nonce X-Drupal-Cache X-Magento-Vary X-Timer X-Cache-Key X-Varnish X-Akamai-Edgescape
X-Amz-Server-Side-Encryption X-Amz-Website-Redirect-Location X-Amz-Meta-A Surrogate-Capability Esi X-Accel-Redirect
X-Sendfile X-Dest X-Destination Destination Base-Url Request-Uri Uri Url Path-Info Script-Name Content-Location
Content-Type Content-Language Content-Disposition Transfer-Encoding-X Location Refresh Link Profile Proxy Proxy-Host
Via From Max-Forwards Warning Age Expires Date Server X-Powered-By X-Content-Type-Options X-Frame-Options
Access-Control-Request-Method Access-Control-Request-Headers Purpose X-Purpose Sec-Purpose X-Moz Save-Data Dpr Width
Viewport-Width Device-Memory Downlink Ect Rtt Sec-Ch-Dpr Sec-Ch-Width Sec-Ch-Viewport-Width
Sec-Ch-Prefers-Color-Scheme Sec-Anything Accept-Datetime Accept-Ch Accept-Patch Accept-Features Negotiate Tcn
Translate Depth If Lock-Token Overwrite Timeout A-Im Im Dasl Soapaction Git-Protocol Icy-Metadata
Service-Worker-Navigation-Preload Early-Data Alt-Svc Idempotency-Key X-Request-Id X-Correlation-Id Traceparent
Tracestate Baggage B3 X-B3-Traceid X-Cloud-Trace-Context User_Agent Accept_Language X_Forwarded_Host Foo
""".split()  # noqa: SIM905  a page of names reads better than a list of them

ODD_VALUES = [
    ("User-Agent", "<script>alert(1)</script>"),
    ("User-Agent", "A" * 3000),
    ("Referer", "javascript:alert(1)"),
    ("Referer", "https://evil.test/'><script>"),
    ("Accept", "application/json"),
    ("Accept", "text/x-component"),
    ("Accept-Language", "../../../../etc/passwd"),
    ("Accept-Language", "<b>"),
    ("Accept-Encoding", "evil"),
    ("Accept-Charset", "'-alert(1)-'"),
    ("Origin", "https://evil.test/<script>"),
    ("Sec-Fetch-Site", "evil\"'"),
    ("Upgrade-Insecure-Requests", "evil"),
    ("Cache-Control", "x=<script>"),
    ("Pragma", "<script>"),
    ("If-None-Match", "<script>"),
    ("Range", "evil=1"),
    ("DNT", "<script>"),
    ("Priority", "<script>"),
]


def reflecting(name, *, status="200 OK", **said):
    """A page that repeats what it was sent in one field."""

    async def answer(exchange):
        body = f"<p>for {exchange.headers.get(name.lower(), 'everyone')}"
        await exchange.send(reply(body, status=status, **{"Cache_Control": FRESH, **said}))

    return answer


def ask_with(running, site, path, *fields):
    lines = [f"GET {site.url}{path} HTTP/1.1", f"Host: 127.0.0.1:{site.port}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in fields]
    return send_raw(running, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


@pytest.fixture(scope="module")
def attacker(running):
    """Sends one request after the other on one connection, with any field it likes."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
    yield connection
    connection.close()


def attack(attacker, url, name, value):
    attacker.putrequest("GET", url, skip_accept_encoding=True)
    attacker.putheader(name, value)
    attacker.endheaders()
    answer = attacker.getresponse()
    return answer.read().decode("latin-1")


def is_hit(answer):
    return "hit" in answer.headers["Cache-Status"]


def test_no_field_that_a_site_reflects_poisons_its_page(site, alice, attacker):
    """Each of more than two hundred names; the same page requested plainly is stored."""
    poisoned, unshared = [], []
    for name in NAMES:
        url = f"{site.url}/reflected/{quote(name)}"
        site.pages[f"/reflected/{quote(name)}"] = reflecting(name)
        assert "for evil" in attack(attacker, url, name, "evil"), name
        first = alice.get(url)
        if "evil" in first.text or is_hit(first):
            poisoned.append(name)
        if not is_hit(alice.get(url)):
            unshared.append(name)
    assert len(NAMES) > 200
    assert (poisoned, unshared) == ([], [])


@pytest.mark.parametrize(("name", "value"), ODD_VALUES)
def test_a_value_that_no_browser_sends_poisons_nothing(site, alice, running, path, name, value):
    site.pages[path] = reflecting(name)
    assert f"for {value}".encode() in ask_with(running, site, path, (name, value))
    first = alice.get(site.url + path, **SHORT)
    assert not is_hit(first)
    assert value not in first.text
    assert is_hit(alice.get(site.url + path, **SHORT))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("User-Agent", "Mozilla/5.0 (call 0900-POISON now)"),
        ("User-Agent", "poisoned"),
        ("Referer", "https://poison.test/buy"),
        ("Origin", "https://poison.test"),
        ("Accept-Language", "poison-lang,xx;q=0.9"),
        ("X-Client-Data", "poisonpoison"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_page_that_repeats_what_its_request_said_is_not_shared(site, alice, bob, path, name, value, packed):
    async def answer(exchange):
        body = f"<p>for {exchange.headers.get(name.lower(), 'everyone')}".encode()
        coded = {"Content_Encoding": "gzip"} if packed else {}
        await exchange.send(reply(gzip.compress(body) if packed else body, Cache_Control=FRESH, **coded))

    site.pages[path] = answer
    field = {name.replace("-", "_"): value, "Accept_Encoding": "gzip"}
    alice.get(site.url + path, **field)
    assert not is_hit(bob.get(site.url + path, User_Agent="x", Accept_Encoding="gzip"))
    again = bob.get(site.url + path, User_Agent="x", Accept_Encoding="gzip")
    assert is_hit(again)
    assert b"poison" not in (gzip.decompress(again.body) if packed else again.body).lower()


def test_a_field_in_two_lines_poisons_nothing(site, alice, running, path):
    site.pages[path] = reflecting("User-Agent")
    assert b"for evil" in ask_with(running, site, path, ("User-Agent", "nice"), ("User-Agent", "evil"))
    assert "evil" not in alice.get(site.url + path, **SHORT).text
    assert is_hit(alice.get(site.url + path, **SHORT))


def test_a_field_that_vary_names_is_part_of_the_key(site, alice, bob, path):
    site.pages[path] = reflecting("X-Theme", Vary="X-Theme")
    assert alice.get(site.url + path, X_Theme="dark").text == "<p>for dark"
    again = bob.get(site.url + path, X_Theme="dark")
    assert (again.text, is_hit(again)) == ("<p>for dark", True)
    assert bob.get(site.url + path).text == "<p>for everyone"


def test_unusual_accept_language_is_not_shared(site, alice, running, path):
    site.pages[path] = reflecting("Accept-Language", Vary="Accept-Language", Content_Language="en")
    assert b"for <b>, en" in ask_with(running, site, path, ("Accept-Language", "<b>, en"))
    assert alice.get(site.url + path, Accept_Language="en").text == "<p>for en"
    assert is_hit(alice.get(site.url + path, Accept_Language="en"))


@pytest.mark.parametrize(
    "status",
    [
        "400 Bad",
        "403 No",
        "404 None",
        "405 Method",
        "414 Long",
        "431 Large",
        "500 Error",
        "501 No",
        "503 Busy",
    ],
)
def test_error_caused_by_an_unusual_request_is_not_shared(site, alice, bob, path, status):
    async def answer(exchange):
        bad = "x-oversized" in exchange.headers
        said = {"status": status if bad else "200 OK", "Cache_Control": FRESH}
        await exchange.send(reply("an error" if bad else "the page", **said))

    site.pages[path] = answer
    assert alice.get(site.url + path, X_Oversized="a" * 2000).text == "an error"
    assert bob.get(site.url + path).text == "the page"
    assert is_hit(bob.get(site.url + path))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Range", "bytes=99999-"),
        ("If-Match", '"x"'),
        ("Cookie", "a=1"),
        ("Authorization", "Basic eA=="),
        ("Accept", "evil/evil"),
        ("Referer", "http://other.test/"),
        ("Origin", "http://other.test"),
    ],
)
def test_error_caused_by_a_browser_field_is_not_shared(site, alice, bob, path, name, value):
    async def answer(exchange):
        bad = name.lower() in exchange.headers
        said = {"status": "400 Bad Request" if bad else "200 OK", "Cache_Control": FRESH}
        await exchange.send(reply("an error" if bad else "the page", **said))

    site.pages[path] = answer
    assert alice.get(site.url + path, **{name.replace("-", "_"): value}).text == "an error"
    assert bob.get(site.url + path).text == "the page"
    assert is_hit(bob.get(site.url + path))


def test_plain_error_is_shared_and_a_temporary_one_replaces_no_page(site, alice, bob, path):
    site.pages[path] = reply("gone", status="404 Not Found", Cache_Control=FRESH)
    alice.get(site.url + path)
    assert is_hit(bob.get(site.url + path))
    other = path + "/other"
    site.pages[other] = reply("the page", Cache_Control=FRESH)
    alice.get(site.url + other)
    site.pages[other] = reply("broken", status="500 Error", Cache_Control=FRESH)
    assert alice.get(site.url + other, Cache_Control="no-cache").text == "broken"
    again = bob.get(site.url + other)
    assert (again.text, is_hit(again)) == ("the page", True)


def test_cors_response_for_one_origin_is_not_sent_to_another(site, alice, bob, path):
    async def answer(exchange):
        allowed = exchange.headers.get("origin", "")
        said = {"Access_Control_Allow_Origin": allowed} if allowed else {}
        await exchange.send(reply("data", Cache_Control=FRESH, **said))

    site.pages[path] = answer
    alice.get(site.url + path, Origin="https://evil.test")
    mine = bob.get(site.url + path, Origin="https://school.test")
    assert mine.headers["Access-Control-Allow-Origin"] == "https://school.test"
    again = bob.get(site.url + path, Origin="https://school.test")
    assert (again.headers["Access-Control-Allow-Origin"], is_hit(again)) == ("https://school.test", True)


def test_redirect_to_the_referrer_is_not_shared(site, alice, bob, path):
    async def answer(exchange):
        back = exchange.headers.get("referer", "http://home.test/")
        await exchange.send(reply("", status="302 Found", Location=back, Cache_Control=FRESH))

    site.pages[path] = answer
    assert (
        alice.get(site.url + path, Referer="https://evil.test/").headers["Location"] == "https://evil.test/"
    )
    assert bob.get(site.url + path).headers["Location"] == "http://home.test/"
    assert is_hit(bob.get(site.url + path))


def test_unusual_request_is_not_collapsed_with_others(site, alice, bob, path):
    """The response to the unusual request takes long; the other is not delayed by it."""
    go_on, answered = threading.Event(), []

    async def answer(exchange):
        if "x-odd" in exchange.headers:
            await asyncio.to_thread(go_on.wait, 10)
            answered.append("odd")
        await exchange.send(reply("the page", Cache_Control=FRESH))

    site.pages[path] = answer
    slow = threading.Thread(target=alice.get, args=(site.url + path,), kwargs={"X_Odd": "1"})
    slow.start()
    eventually(lambda: site.asked[path], "the odd request never came")
    assert bob.get(site.url + path).text == "the page"
    assert not answered
    go_on.set()
    slow.join(20)
    assert is_hit(bob.get(site.url + path))


def test_a_poisoned_page_does_not_enter_the_collection(site, alice, running, path):
    words = "quixotic zymurgy heliotrope " * 20
    page = f"<html><title>T</title><h1>An article</h1><p>{words}"

    async def answer(exchange):
        poison = "poisonberry " * 20 if "x-forwarded-path" in exchange.headers else ""
        await exchange.send(reply(page + poison, Cache_Control=FRESH))

    site.pages[path] = site.pages[path + "/good"] = answer
    alice.open_page(site.url + path, X_Forwarded_Path="/evil")
    alice.open_page(site.url + path + "/good")
    eventually(lambda: path + "/good" in alice.search("zymurgy").text, "the honest page is not found")
    assert path + '"' not in alice.search("poisonberry").text
