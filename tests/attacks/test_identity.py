"""Whatever a request says besides its target, nobody gets another site's page under a site's name.

One server has two sites, as is common: over https it goes by the SNI, over http by Host. One site is the
attacker's, and it is also the default.
"""

import contextlib
import http.client
import json
import ssl
from types import SimpleNamespace

import h2.config
import h2.connection
import h2.events
import pytest

from tests.attacks.attackers import connection_to, read_until, send_raw
from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import eventually, serving

VICTIM, ATTACKER = "victim.test", "attacker.test"
INTERNATIONAL = ("xn--mnchen-3ya.test", "xn--strae-oqa.test")
"""One by the rules of 2003 and one by those of 2008."""
LONG = {"Cache_Control": "max-age=600"}


class Sites(dict):
    """Every path exists, on whichever site the server takes the request to be for."""

    def get(self, path, default=None):
        return self.answer

    async def answer(self, exchange):
        tls = exchange.writer.get_extra_info("ssl_object")
        named = tls.context.site if tls else exchange.headers.get("host", "").rpartition(":")[0]
        exchange.named = named
        site = named if named in (VICTIM, *INTERNATIONAL) else ATTACKER
        words = f"<title>Page of {site}</title><p>the zebra page {exchange.path} of {site}</p>"
        await exchange.send(reply(words, **LONG))


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The server: `plain` and `secure`, and in `trusted` the file that makes its certificates good."""
    folder = tmp_path_factory.mktemp("certificates")
    contexts, pems = {}, b""
    for name in (VICTIM, ATTACKER):
        pem, contexts[name] = certificate(folder, name)
        contexts[name].site = name
        pems += pem.read_bytes()
    trusted = folder / "both.pem"
    trusted.write_bytes(pems)

    def choose(tls, name, context):
        tls.context = contexts[VICTIM if name == VICTIM else ATTACKER]

    default = contexts[ATTACKER]
    default.sni_callback = choose
    with Origin(tls=default, pages=Sites()) as secure, Origin(pages=Sites()) as plain:
        yield SimpleNamespace(secure=secure, plain=plain, trusted=trusted)


@pytest.fixture(scope="module")
def running(tmp_path_factory, sites):
    folder = tmp_path_factory.mktemp("identity")
    names = folder / "names.json"
    known = (VICTIM, ATTACKER, f"{VICTIM}.", VICTIM.upper(), "Victim.test", *INTERNATIONAL)
    names.write_text(json.dumps({key: ["127.0.0.1"] for key in known}))
    settings = f'[proxy]\ntrusted_ca = "{sites.trusted}"\nhttp2 = true\n'
    with serving(folder / "data", settings=settings, names=names) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def bob(running):
    return Client(running.url, running.ca, source="127.0.2.72")


@contextlib.contextmanager
def tunnel(running, host, port, *, sni, alpn=None):
    """A connection through a tunnel to `host`, with `sni`; None for none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols([alpn])
    with connection_to(running) as connection:
        place = f"{host}:{port}".encode()
        connection.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (place, place))
        assert b" 200 " in read_until(connection, b"\r\n\r\n")
        with context.wrap_socket(connection, server_hostname=sni) as secure:
            yield secure


def ask(connection, path, *lines, version="1.1", method="GET"):
    """The response to one request on an open connection."""
    said = "\r\n".join((f"{method} {path} HTTP/{version}", *lines, "", ""))
    connection.sendall(said.encode("latin-1"))
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    return SimpleNamespace(
        status=response.status, text=response.read().decode(), cache=cache_status(response.headers)
    )


def cache_status(headers):
    return ", ".join(headers.get_all("Cache-Status", ()))


def is_hit(answer):
    told = cache_status(answer.headers) if hasattr(answer, "headers") else answer.cache
    return ";hit" in told.rpartition(",")[2]  # the last entry is that of the proxy under test


def assert_unpoisoned(bob, url):
    """Bob gets the victim's own page, from the victim; and, as the control, the second time from the store."""
    first, second = bob.open_page(url), bob.open_page(url)
    assert f"of {VICTIM}" in first.text
    assert not is_hit(first)
    assert f"of {VICTIM}" in second.text
    assert is_hit(second)


def assert_stored(bob, url):
    told = bob.open_page(url)
    assert f"of {VICTIM}" in told.text
    assert is_hit(told)


# SNI


@pytest.mark.parametrize("sni", [ATTACKER, f"www.{VICTIM}", f"{VICTIM}.{ATTACKER}"])
def test_a_page_fetched_under_another_tls_name_is_not_stored(running, sites, bob, path, sni):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=sni) as connection:
        for _ in range(2):  # on the fast path too, if it were stored
            told = ask(connection, path, f"Host: {VICTIM}:{port}", "Accept: text/html")
            assert not is_hit(told)
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}")


@pytest.mark.parametrize("sni", [VICTIM, VICTIM.upper(), f"{VICTIM}.", None])
def test_equivalent_or_missing_sni_is_stored_normally(running, sites, bob, path, sni):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=sni) as connection:
        told = ask(connection, path, f"Host: {VICTIM}:{port}")
    assert f"of {VICTIM}" in told.text
    assert_stored(bob, f"https://{VICTIM}:{port}{path}")


def test_origin_is_contacted_and_verified_under_the_connect_name(running, sites, path):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=ATTACKER) as connection:
        told = ask(connection, path, f"Host: {VICTIM}:{port}")
    assert sites.secure.seen[-1].named == VICTIM
    assert f"of {VICTIM}" in told.text


def test_stored_page_is_not_served_under_another_sni(running, sites, bob, path):
    port = sites.secure.port
    bob.open_page(f"https://{VICTIM}:{port}{path}")
    assert_stored(bob, f"https://{VICTIM}:{port}{path}")
    with tunnel(running, VICTIM, port, sni=ATTACKER) as connection:
        assert not is_hit(ask(connection, path, f"Host: {VICTIM}:{port}"))
    assert sites.secure.asked[path] == 2


def test_tunnel_to_an_ip_address_stores_nothing_under_its_sni(running, sites, bob, path):
    """A client that resolves names itself is served, with the certificate of its SNI."""
    port = sites.secure.port
    with tunnel(running, "127.0.0.1", port, sni=VICTIM) as connection:
        for _ in range(2):
            told = ask(connection, path, f"Host: {VICTIM}:{port}")
            assert (told.status, is_hit(told)) == (200, False)
            assert f"of {VICTIM}" in told.text
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}")


def test_a_tunnel_to_an_address_without_a_name_needs_a_certificate_for_the_address(running, sites, path):
    port = sites.secure.port
    with tunnel(running, "127.0.0.1", port, sni=None) as connection:
        assert ask(connection, path, f"Host: {VICTIM}:{port}").status == 502


def test_miss_under_another_sni_is_not_logged_for_the_site(running, sites, bob, path):
    """With the control that an honest one is logged."""
    navigation = ("Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
    log = running.data / "misses" / "misses.jsonl"
    missing, dead = path + "-forged", path + "-honest"
    port = 1  # nobody listens there
    with tunnel(running, VICTIM, port, sni=ATTACKER) as connection:
        told = ask(connection, missing, f"Host: {VICTIM}:{port}", *navigation)
        assert told.status == 502
    assert bob.open_page(f"https://{VICTIM}:{port}{dead}").miss
    eventually(lambda: log.exists() and dead in log.read_text(), "no miss was logged")
    assert missing not in log.read_text()


# Host fields


def raw(running, target, *lines, version="1.1"):
    said = "\r\n".join((f"GET {target} HTTP/{version}", *lines, "Connection: close", "", ""))
    return send_raw(running, said.encode("latin-1"))


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_request_without_host_gets_the_host_of_its_target(running, sites, bob, path, version):
    url = f"http://{VICTIM}:{sites.plain.port}{path}"
    told = raw(running, url, "Accept: text/html", version=version)
    assert f"of {VICTIM}".encode() in told
    assert sites.plain.seen[-1].headers["host"] == f"{VICTIM}:{sites.plain.port}"
    assert_stored(bob, url)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("sni", [VICTIM, ATTACKER])
def test_request_without_host_in_a_tunnel_gets_the_host_of_its_target(
    running, sites, bob, path, version, sni
):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=sni) as connection:
        told = ask(connection, path, "Connection: keep-alive", version=version)
        assert f"of {VICTIM}" in told.text
    url = f"https://{VICTIM}:{port}{path}"
    if sni == VICTIM:
        assert sites.secure.seen[-1].headers["host"] == f"{VICTIM}:{port}"
        assert_stored(bob, url)
    else:
        assert_unpoisoned(bob, url)


def forged_hosts(port):
    return {
        "another": [f"Host: {ATTACKER}:{port}"],
        "another port": [f"Host: {VICTIM}:{port + 1}"],
        "no port": [f"Host: {VICTIM}"],
        "user": [f"Host: {VICTIM}@{ATTACKER}:{port}"],
        "user of": [f"Host: {ATTACKER}@{VICTIM}:{port}"],
        "list": [f"Host: {VICTIM}:{port}, {ATTACKER}:{port}"],
        "space": [f"Host: {VICTIM}:{port} {ATTACKER}"],
        "tab": [f"Host: {VICTIM}:{port}\t{ATTACKER}"],
        "path": [f"Host: {VICTIM}:{port}/../{ATTACKER}"],
        "folded": [f"Host: {VICTIM}:{port}", f" {ATTACKER}"],
        "two": [f"Host: {VICTIM}:{port}", f"Host: {ATTACKER}:{port}"],
        "two, turned": [f"Host: {ATTACKER}:{port}", f"Host: {VICTIM}:{port}"],
        "two alike": [f"Host: {VICTIM}:{port}", f"Host: {VICTIM}:{port}"],
        "dot": [f"Host: {VICTIM}.:{port}"],
        "brackets": [f"Host: [{VICTIM}]:{port}"],
        "zeros": [f"Host: {VICTIM}:0{port}"],
        "unicode": [f"Host: \xe2\x85\xb4ictim.test:{port}"],
        "name with space": [f"Host : {ATTACKER}:{port}", f"Host: {VICTIM}:{port}"],
    }


FORGED = list(forged_hosts(1))


@pytest.mark.parametrize("kind", FORGED)
def test_page_requested_with_another_host_is_not_stored(running, sites, bob, path, kind):
    port = sites.plain.port
    url = f"http://{VICTIM}:{port}{path}"
    for _ in range(2):
        told = raw(running, url, *forged_hosts(port)[kind])
        assert b";hit" not in told
    assert_unpoisoned(bob, url)


@pytest.mark.parametrize("kind", FORGED)
def test_page_requested_with_another_host_in_a_tunnel_is_not_stored(running, sites, bob, path, kind):
    port = sites.secure.port
    url = f"https://{VICTIM}:{port}{path}"
    with tunnel(running, VICTIM, port, sni=VICTIM) as connection, contextlib.suppress(OSError):
        ask(connection, path, *forged_hosts(port)[kind])
    assert_unpoisoned(bob, url)


def test_unusual_host_spelling_in_a_tunnel_is_forwarded_and_not_stored(running, sites, bob, path):
    """A server may take it for another site, or for none; and a signed Host must not change."""
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=VICTIM) as connection:
        assert ask(connection, path, f"Host: {VICTIM.upper()}:{port}").status == 200
    assert sites.secure.seen[-1].headers["host"] == f"{VICTIM.upper()}:{port}"
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}")


@pytest.mark.parametrize("kind", ["two", "two alike", "list", "user", "space", "folded"])
def test_request_with_an_ambiguous_host_is_refused(running, sites, path, kind):
    told = raw(running, f"http://{VICTIM}:{sites.plain.port}{path}", *forged_hosts(sites.plain.port)[kind])
    assert told.startswith(b"HTTP/1.1 400 ")
    assert sites.plain.asked[path] == 0


def test_stored_page_is_not_served_for_another_host(running, sites, bob, path):
    port = sites.plain.port
    url = f"http://{VICTIM}:{port}{path}"
    bob.open_page(url)
    assert_stored(bob, url)
    assert b";hit" not in raw(running, url, f"Host: {ATTACKER}:{port}")
    assert b";hit" in raw(running, url, f"Host: {VICTIM}:{port}")


def test_a_host_that_contradicts_the_target_still_reaches_the_server(running, sites, path):
    """A user who tests a site by its server's address, with their own Host, gets the same as without us."""
    raw(running, f"http://127.0.0.1:{sites.plain.port}{path}", f"Host: {VICTIM}:{sites.plain.port}")
    assert sites.plain.seen[-1].headers["host"] == f"{VICTIM}:{sites.plain.port}"


def test_several_hosts_in_one_tunnel_stay_apart(running, sites, bob, path):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=VICTIM) as connection:
        forged = ask(connection, path, f"Host: {ATTACKER}:{port}")
        honest = ask(connection, path, f"Host: {VICTIM}:{port}")
        again = ask(connection, path, f"Host: {ATTACKER}:{port}")
        repeated = ask(connection, path, f"Host: {VICTIM}:{port}")
    assert [is_hit(each) for each in (forged, honest, again, repeated)] == [False, False, False, True]
    assert_stored(bob, f"https://{VICTIM}:{port}{path}")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_absolute_form_in_a_tunnel_cannot_name_another_site(running, sites, bob, path, scheme):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=VICTIM) as connection:
        for host in (VICTIM, ATTACKER):
            told = ask(connection, f"{scheme}://{ATTACKER}:{port}{path}", f"Host: {host}:{port}")
            assert not is_hit(told)
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}")
    attackers = bob.open_page(f"https://{ATTACKER}:{port}{path}")
    assert f"of {ATTACKER}" in attackers.text
    assert not is_hit(attackers)


def test_an_absolute_https_target_is_verified_for_its_own_name(running, sites, bob, path):
    port = sites.secure.port
    told = raw(running, f"https://{VICTIM}:{port}{path}", f"Host: {VICTIM}:{port}")
    assert f"of {VICTIM}".encode() in told
    assert_stored(bob, f"https://{VICTIM}:{port}{path}")
    told = raw(running, f"https://{VICTIM}:{port}{path}-2", f"Host: {ATTACKER}:{port}")
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}-2")


def test_host_case_and_default_port_are_normalised(running, sites, bob, path):
    url = f"http://{VICTIM}:{sites.plain.port}{path}"
    raw(running, url.replace(VICTIM, "Victim.test"), f"Host: Victim.test:{sites.plain.port}")
    assert sites.plain.seen[-1].headers["host"] == f"{VICTIM}:{sites.plain.port}"
    assert_stored(bob, url)


def test_trailing_dot_name_is_a_separate_site(running, sites, bob, path):
    port = sites.plain.port
    raw(running, f"http://{VICTIM}.:{port}{path}", f"Host: {VICTIM}.:{port}")
    assert_unpoisoned(bob, f"http://{VICTIM}:{port}{path}")


@pytest.mark.parametrize("name", INTERNATIONAL)
def test_an_international_name_is_looked_up_sent_and_stored_as_it_was_written(
    running, sites, bob, path, name
):
    url = f"http://{name}:{sites.plain.port}{path}"
    first, second = bob.open_page(url), bob.open_page(url)
    assert (first.status, is_hit(first), is_hit(second)) == (200, False, True)
    assert sites.plain.seen[-1].headers["host"] == f"{name}:{sites.plain.port}"
    assert b";hit" not in raw(running, url, f"Host: {VICTIM}:{sites.plain.port}")


def test_forged_request_adds_nothing_to_the_collection(running, sites, bob, path):
    """With the control that an honest page is."""
    port = sites.plain.port
    lines = ("Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
    raw(running, f"http://{VICTIM}:{port}{path}-forged", f"Host: {ATTACKER}:{port}", *lines)
    raw(running, f"http://{VICTIM}:{port}{path}-bare", *lines)
    honest = f"http://{VICTIM}:{port}{path}-honest"
    bob.open_page(honest)
    eventually(lambda: bob.held_copy(honest).status == 200, "the honest page was not collected")
    assert bob.held_copy(f"http://{VICTIM}:{port}{path}-forged").status == 404
    bare = bob.held_copy(f"http://{VICTIM}:{port}{path}-bare")
    assert f"of {ATTACKER}" not in bare.text


# HTTP/2, where it is switched on


def ask_h2(connection, headers):
    """The status and Cache-Status of one HTTP/2 request; status 0 when the proxy refuses the stream."""
    config = h2.config.H2Configuration(
        validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding="utf-8"
    )
    speaking = h2.connection.H2Connection(config)
    speaking.initiate_connection()
    speaking.send_headers(1, headers, end_stream=True)
    connection.sendall(speaking.data_to_send())
    status, cache = 0, ""
    with contextlib.suppress(TimeoutError, ConnectionError):
        while data := connection.recv(65536):
            for event in speaking.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    told = dict(event.headers)
                    status, cache = int(told[":status"]), told.get("cache-status", "")
                if isinstance(
                    event, h2.events.StreamEnded | h2.events.StreamReset | h2.events.ConnectionTerminated
                ):
                    return SimpleNamespace(status=status, cache=cache)
            connection.sendall(speaking.data_to_send())
    return SimpleNamespace(status=status, cache=cache)


def authorities(port):
    victim, attacker = f"{VICTIM}:{port}", f"{ATTACKER}:{port}"
    return {
        "another": [(":authority", attacker)],
        "another beside host": [(":authority", attacker), ("host", victim)],
        "another host beside": [(":authority", victim), ("host", attacker)],
        "another host alone": [("host", attacker)],
        "two hosts": [(":authority", victim), ("host", victim), ("host", attacker)],
        "user": [(":authority", f"{ATTACKER}@{victim}")],
    }


def h2_request(path, names):
    first = [pair for pair in names if pair[0].startswith(":")]
    rest = [pair for pair in names if not pair[0].startswith(":")]
    return [(":method", "GET"), (":scheme", "https"), (":path", path), *first, *rest]


@pytest.mark.parametrize("kind", list(authorities(1)))
def test_another_authority_in_http2_is_not_stored(running, sites, bob, path, kind):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=VICTIM, alpn="h2") as connection:
        assert not is_hit(ask_h2(connection, h2_request(path, authorities(port)[kind])))
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}")


@pytest.mark.parametrize("name", [":authority", "host"])
def test_matching_authority_in_http2_is_stored(running, sites, bob, path, name):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=VICTIM, alpn="h2") as connection:
        assert ask_h2(connection, h2_request(path, [(name, f"{VICTIM}:{port}")])).status == 200
    assert sites.secure.seen[-1].headers["host"] == f"{VICTIM}:{port}"
    assert_stored(bob, f"https://{VICTIM}:{port}{path}")


def test_another_tls_name_in_http2_is_not_stored(running, sites, bob, path):
    port = sites.secure.port
    with tunnel(running, VICTIM, port, sni=ATTACKER, alpn="h2") as connection:
        told = ask_h2(connection, h2_request(path, [(":authority", f"{VICTIM}:{port}")]))
        assert not is_hit(told)
    assert_unpoisoned(bob, f"https://{VICTIM}:{port}{path}")


@pytest.mark.parametrize("begins", ["@{victim}", ".{victim}", "", "*"])
def test_http2_path_cannot_change_the_host(running, sites, bob, path, begins):
    """`https://attacker.test` with the path `@victim.test/` after it would be an address of the victim's."""
    port = sites.secure.port
    forged = begins.format(victim=f"{VICTIM}:{port}") + path.removeprefix("/" if not begins else "")
    navigation = [("accept", "text/html"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    with tunnel(running, ATTACKER, port, sni=ATTACKER, alpn="h2") as connection:
        names = [(":authority", f"{ATTACKER}:{port}"), *navigation]
        assert ask_h2(connection, h2_request(forged, names)).status in (0, 400)
    assert sites.secure.asked[forged] == 0
    url = f"https://{VICTIM}:{port}{path}"
    assert bob.held_copy(url).status == 404
    assert_unpoisoned(bob, url)


# Other ways to the site: a parent, an upstream proxy, reverse mode


@pytest.fixture(scope="module")
def chained(request, running, sites, tmp_path_factory):
    """A linkmend that reaches the sites through the other one."""
    folder, further = tmp_path_factory.mktemp("chained"), ()
    settings = f'[proxy]\ntrusted_ca = "{folder / "trusted.pem"}"\n'
    trusted = sites.trusted.read_bytes() + running.ca.read_bytes()
    (folder / "trusted.pem").write_bytes(trusted)
    if request.param == "upstream":
        further = ("--mode", f"upstream:{running.url}")
    else:
        settings += f'parent = "{running.url}"\nparent_https = "{request.param}"\n'
    with serving(folder / "data", *further, settings=settings) as proxy:
        yield proxy


@pytest.mark.parametrize("chained", ["absolute", "connect", "upstream"], indirect=True)
def test_chained_proxies_do_not_store_contradictory_requests(chained, running, sites, bob, path):
    near = Client(chained.url, chained.ca, source="127.0.3.73")
    plain, secure = sites.plain.port, sites.secure.port
    with tunnel(chained, VICTIM, secure, sni=ATTACKER) as connection:
        assert not is_hit(ask(connection, f"{path}-sni", f"Host: {VICTIM}:{secure}"))
    with tunnel(chained, VICTIM, secure, sni=VICTIM) as connection:
        assert not is_hit(ask(connection, f"{path}-host", f"Host: {ATTACKER}:{secure}"))
    raw(chained, f"http://{VICTIM}:{plain}{path}-forged", f"Host: {ATTACKER}:{plain}")
    assert f"of {VICTIM}".encode() in raw(chained, f"http://{VICTIM}:{plain}{path}-none", version="1.0")
    assert sites.plain.seen[-1].headers["host"] == f"{VICTIM}:{plain}"
    for url in (
        f"https://{VICTIM}:{secure}{path}-sni",
        f"https://{VICTIM}:{secure}{path}-host",
        f"http://{VICTIM}:{plain}{path}-forged",
    ):
        assert f"of {VICTIM}" in bob.open_page(url).text
        assert_unpoisoned(near, url)


@pytest.fixture(scope="module")
def reversed_(sites, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reversed")
    (folder / "names.json").write_text(json.dumps({VICTIM: ["127.0.0.1"]}))
    with serving(
        folder / "data",
        *("--mode", f"reverse:https://{VICTIM}:{sites.secure.port}"),
        settings=f'[proxy]\ntrusted_ca = "{sites.trusted}"\n',
        names=folder / "names.json",
    ) as proxy:
        yield proxy


@pytest.mark.parametrize("host", ["Host: whatever.test", "Accept: */*", f"Host: {ATTACKER}"])
def test_in_reverse_mode_the_target_is_used_whatever_the_client_says(reversed_, sites, path, host):
    first, second = raw(reversed_, path, host), raw(reversed_, path, host)
    assert f"of {VICTIM}".encode() in first
    assert sites.secure.seen[-1].headers["host"] == f"{VICTIM}:{sites.secure.port}"
    assert b";hit" in second


def test_in_reverse_mode_an_absolute_form_of_another_site_is_not_stored(reversed_, sites, path):
    raw(reversed_, f"https://{ATTACKER}{path}", f"Host: {ATTACKER}")
    assert b";hit" not in raw(reversed_, path, "Host: school.test")
    assert b";hit" in raw(reversed_, path, "Host: school.test")
