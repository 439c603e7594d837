"""Private stays private (DESIGN, principle 2), end to end: what one client was shown, no other one can find.

Each private page contains a word that others know (`asked`) and one that only the page has (`hidden`). Another
client then looks for it wherever the collection is visible: search, saved copies, repair pages of dead links whose
address or anchor has the known word. Pages are harvested in order: a public one, opened last, shows when to look.
"""

import base64
import contextlib
import http.client
import itertools
import json
import ssl
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

import pytest

from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import eventually, serving

SETTINGS = '[collection]\ncommit_every_s = 0.2\n[log]\nlevel = "debug"\n'
ALICE, BOB = "127.0.0.71", "127.0.0.72"
FRESH = "max-age=600"

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A page at an origin; `linked` is a dead address that it links to, `dead` one that nobody does."""

    url: str
    path: str
    asked: str
    hidden: str
    dead: str
    linked: str


@pytest.fixture(scope="module")
def site():
    with Origin() as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("privacy") / "data", settings=SETTINGS) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def alice(running):
    return Client(running.url, source=ALICE)


@pytest.fixture(scope="module")
def bob(running):
    return Client(running.url, source=BOB)


def publish(site, *, query="", head="", body="", **headers):
    """Put a page with a secret on the site."""
    number = next(_numbers)
    asked, hidden = f"quagga{number}zebra", f"hidden{number}word"
    path, dead, linked = f"/{asked}/page.html{query}", f"/dead/{asked}.html", f"/linked/{asked}.html"
    site.pages[path] = reply(
        f"<html><head><title>{asked} {hidden}</title>{head}</head><body><h1>{asked} {hidden}</h1>"
        f"<p>All that {asked} has to say of {hidden}. {body}</p><a href='{linked}'>{asked} {hidden}</a>",
        **headers,
    )
    return Secret(
        url=site.url + path,
        path=path,
        asked=asked,
        hidden=hidden,
        dead=site.url + dead,
        linked=site.url + linked,
    )


def harvested(site, client):
    """Return when all pages opened so far have been harvested or skipped: they are harvested in order."""
    number = next(_numbers)
    word, path = f"fence{number}post", f"/fence/{number}.html"
    site.pages[path] = reply(f"<title>{word}</title><p>{word}", Cache_Control=FRESH)
    assert client.open_page(site.url + path).status == 200
    eventually(lambda: f"/fence/{number}.html" in client.search(word).text, "no page is ever found")


def places(client, secret):
    """Every place where the collection is visible, by name: what `client` sees there."""
    yield "search", client.search(secret.asked).text
    yield "copy", client.held_copy(secret.url).text
    yield "repair page", client.open_page(secret.dead).text
    yield "repair", client.repair(secret.dead).text
    yield "repair page of what it links to", client.open_page(secret.linked).text
    yield "repair of what it links to", client.repair(secret.linked).text


def assert_nowhere(client, secret):
    for place, text in places(client, secret):
        assert secret.hidden not in text, place
        if place != "copy":  # which repeats the requested address
            assert secret.url not in unquote(unescape(text)), place


BASIC = "Basic " + base64.b64encode(b"alice:sesame").decode()
LINES = {
    "private": ({}, {"Cache_Control": "private, max-age=600"}),
    "private for some fields": ({}, {"Cache_Control": 'private="X-Name", max-age=600'}),
    "no-store": ({}, {"Cache_Control": "no-store"}),
    "no-store in the request": ({"Cache_Control": "no-store"}, {"Cache_Control": FRESH}),
    "Authorization": ({"Authorization": BASIC}, {"Cache_Control": FRESH}),
    "Authorization and public": ({"Authorization": BASIC}, {"Cache_Control": "public, max-age=600"}),
    "Set-Cookie": ({}, {"Cache_Control": "public, max-age=600", "Set_Cookie": "session=abc"}),
    "a Cookie": ({"Cookie": "session=alice"}, {"Cache_Control": FRESH}),
    "a Cookie that the page varies on": (
        {"Cookie": "session=alice"},
        {"Cache_Control": "public, max-age=600", "Vary": "Cookie"},
    ),
    "Vary: *": ({}, {"Cache_Control": FRESH, "Vary": "*"}),
    "noindex in a header": ({}, {"Cache_Control": FRESH, "X_Robots_Tag": "noindex"}),
}


@pytest.mark.parametrize("line", LINES)
def test_personal_pages_are_never_shown_to_other_clients(line, site, alice, bob):
    asked_with, said = LINES[line]
    secret = publish(site, **said)
    assert secret.hidden in alice.open_page(secret.url, **asked_with).text
    harvested(site, alice)
    assert_nowhere(bob, secret)


@pytest.mark.parametrize(
    "tag", ['<meta name="robots" content="noindex">', '<META NAME=ROBOTS CONTENT="none">']
)
def test_noindex_page_is_not_indexed(tag, site, alice, bob):
    secret = publish(site, head=tag, Cache_Control=FRESH)
    alice.open_page(secret.url)
    harvested(site, alice)
    assert_nowhere(bob, secret)


@pytest.mark.parametrize(
    "query", ["?token=8f3a", "?session_id=77aa", "?access_token=abc", "?user=x&sig=99", "?reset=aabbcc"]
)
def test_page_with_a_capability_url_is_shown_to_nobody_else(query, site, alice, bob):
    secret = publish(site, query=query, Cache_Control=FRESH)
    alice.open_page(secret.url)
    harvested(site, alice)
    assert_nowhere(bob, secret)


def test_public_page_is_found_everywhere(site, alice, bob):
    """The control: if the places were wrong, the tests above would prove nothing."""
    secret = publish(site, Cache_Control=FRESH)
    alice.open_page(secret.url)
    harvested(site, alice)
    seen = dict(places(bob, secret))
    for place, text in seen.items():
        assert secret.hidden in text, place
    assert f'data-url="{secret.url}"' in seen["search"]
    assert f'data-url="{secret.url}"' in seen["repair page"]
    assert [item["url"] for item in json.loads(seen["repair"])["alternatives"]] == [secret.url]


def test_public_page_requested_with_a_cookie_is_collected(site, alice, bob):
    secret = publish(site, Cache_Control="public, max-age=600")
    alice.open_page(secret.url, Cookie="theme=dark")
    harvested(site, alice)
    assert secret.hidden in bob.search(secret.asked).text


def test_page_requested_with_a_cookie_is_collected_once_equal_without(site, alice, bob):
    secret = publish(site)
    alice.open_page(secret.url, Cookie="session=alice")
    harvested(site, alice)
    assert_nowhere(bob, secret)
    bob.open_page(secret.url)
    harvested(site, alice)
    assert secret.hidden in bob.search(secret.asked).text


def test_page_that_differs_by_cookie_is_collected_only_without_cookie(site, alice, bob):
    secret = publish(site)
    for_alice = site.pages[secret.path]

    async def by_cookie(exchange):
        known = exchange.headers.get("cookie") == "session=alice"
        await exchange.send(for_alice if known else reply(f"<title>{secret.asked} please sign in</title>"))

    site.pages[secret.path] = by_cookie
    alice.open_page(secret.url, Cookie="session=alice")
    bob.open_page(secret.url)
    alice.open_page(secret.url, Cookie="session=alice")
    harvested(site, alice)
    assert "please sign in" in bob.search(secret.asked).text
    for place, text in places(bob, secret):
        assert secret.hidden not in text, place


def test_source_page_of_a_client_is_not_shown_to_another(site, alice, bob):
    secret = publish(site, Cache_Control="private")
    alice.open_page(secret.url)
    assert alice.repair(secret.linked, Referer=secret.url).told["source_page"] == secret.url
    harvested(site, alice)
    assert bob.repair(secret.linked).told["source_page"] is None


# The cache


@pytest.mark.parametrize(
    ("asked_with", "said"),
    [
        ({}, {"Cache_Control": "private, max-age=600"}),
        ({}, {"Cache_Control": "max-age=600", "Set_Cookie": "session=abc"}),
        ({"Authorization": BASIC}, {"Cache_Control": FRESH}),
        ({"Cookie": "session=alice"}, {"Cache_Control": "public, max-age=600", "Vary": "Cookie"}),
        ({"Cookie": "session=alice"}, {}),
        ({"Cookie": "session=alice"}, {"Last_Modified": "Mon, 04 May 2020 12:00:00 GMT"}),
    ],
    ids=["private", "set-cookie", "authorization", "vary-cookie", "nothing-said", "old-and-nothing-said"],
)
def test_a_personal_answer_is_never_served_to_another_client(asked_with, said, alice, bob):
    with Origin() as site:
        secret = publish(site, **said)
        assert secret.hidden in alice.open_page(secret.url, **asked_with).text
        site.pages[secret.path] = reply("for bob")
        assert bob.open_page(secret.url).text == "for bob"
        site.down()
        for answer in (bob.open_page(secret.url), bob.open_page(secret.url, Cookie="session=bob")):
            assert secret.hidden not in answer.text


@pytest.mark.parametrize("claimed", ["localhost:{other}", "127.0.0.1:{other}", "school.test"])
def test_a_forged_host_header_puts_nothing_under_another_sites_name(claimed, alice, bob):
    with Origin() as evil, Origin() as good:
        path = f"/forged/{next(_numbers)}"
        evil.pages[path] = reply("<title>evil</title>", Cache_Control=FRESH)
        good.pages[path] = reply("<title>good</title>", Cache_Control=FRESH)
        host = claimed.format(other=good.port)
        assert alice.open_page(evil.url + path, Host=host).status == 200
        assert bob.open_page(good.url + path).text == "<title>good</title>"
        assert bob.open_page(f"http://localhost:{good.port}{path}").text == "<title>good</title>"


@pytest.mark.parametrize("claimed", ["evil.test", "127.0.0.1:1337", "127.0.0.1:{port}@evil.test"])
def test_a_page_that_repeats_a_forged_host_header_is_not_kept_for_others(claimed, site, alice, bob):
    path = f"/repeats/{next(_numbers)}"

    async def repeat(exchange):
        body = f"<base href='http://{exchange.headers['host']}/'>"
        await exchange.send(reply(body, Cache_Control=FRESH))

    site.pages[path] = repeat
    alice.open_page(site.url + path, Host=claimed.format(port=site.port))
    assert bob.open_page(site.url + path).text == f"<base href='{site.url}/'>"


def test_foreign_host_header_in_a_tunnel_stores_nothing(tmp_path, start_linkmend):
    """Many sites share a server, which goes by the name in the request line: one of them may be the attacker's."""
    pem, context = certificate(tmp_path, "127.0.0.1")
    with Origin(tls=context) as shared:
        shared.pages["/page"] = reply("<title>good</title>", Cache_Control=FRESH)
        shared.pages["https://evil.test/page"] = reply("<title>evil</title>", Cache_Control=FRESH)
        running = start_linkmend(settings=f'[proxy]\ntrusted_ca = "{pem}"\n')
        trusting = ssl.create_default_context(cafile=str(running.ca))
        forger = http.client.HTTPSConnection("127.0.0.1", running.port, context=trusting, timeout=20)
        with contextlib.closing(forger):
            forger.set_tunnel("127.0.0.1", shared.port)
            forger.request("GET", "https://evil.test/page", headers={"Host": f"127.0.0.1:{shared.port}"})
            forger.getresponse().read()
        assert Client(running.url, running.ca).open_page(shared.url + "/page").text == "<title>good</title>"


@pytest.mark.parametrize("header", ["X_Forwarded_Host", "X_Host", "Forwarded"])
def test_page_altered_by_an_unusual_header_is_not_stored(header, site, alice, bob):
    secret = publish(site, Cache_Control=FRESH)
    bent = site.pages[secret.path]

    async def bend(exchange):
        forged = header.lower().replace("_", "-") in exchange.headers
        await exchange.send(bent if forged else reply("<title>as it is</title>", Cache_Control=FRESH))

    site.pages[secret.path] = bend
    assert secret.hidden in alice.open_page(secret.url, **{header: "evil.test"}).text
    harvested(site, alice)
    assert_nowhere(bob, secret)
    assert bob.open_page(secret.url).text == "<title>as it is</title>"


# The logs


def test_no_client_address_is_written_to_disk(site, start_linkmend):
    running = start_linkmend(settings=SETTINGS)
    secret = publish(site, Cache_Control=FRESH)
    for source in (ALICE, BOB):
        client = Client(running.url, source=source)
        client.open_page(secret.url)
        client.open_page(secret.dead)
        client.open_page("http://no-such-host.invalid/page")
        harvested(site, client)
    running.stop()
    written = {path: path.read_bytes() for path in running.data.rglob("*") if path.is_file()}
    assert secret.dead.encode() in written[running.data / "misses" / "misses.jsonl"]
    for address in (ALICE, BOB):
        assert address not in running.output
        assert [path for path, content in written.items() if address.encode() in content] == []
