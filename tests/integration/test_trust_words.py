"""docs/security.md, claims 3, 5, 6 and 8: untrusted input stays data, our paths reveal nothing to sites, and the CA
key stays private.
"""

import json
import re
import socket
import stat

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tests.integration.client import PORTAL, Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, serving

SETTINGS = '[collection]\ncommit_every_s = 0.2\n[log]\nlevel = "debug"\n'
HELPER = "/.well-known/linkmend"
LOG_LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (debug|info|warning|error|critical) "
    r"(\[(supervisor|backend|worker \d)\] )?\S+: |linkmend |    "
)
FORGED = "2026-01-01T00:00:00Z info proxy: all is well"
SCRIPT = {"Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty", "Sec_Fetch_Site": "same-origin"}


@pytest.fixture(scope="module")
def site():
    with Origin() as running:
        running.pages["/zebra.html"] = reply(
            "<title>Zebra quagga</title><p>All there is to say of the quagga and the zebra, and of stripes.",
            Cache_Control="max-age=600",
        )
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("words") / "data", settings=SETTINGS) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def client(running, site):
    """A client whose linkmend has a saved page about zebras."""
    reader = Client(running.url)
    reader.open_page(site.url + "/zebra.html")
    eventually(lambda: "zebra.html" in reader.search("quagga").text, "the page is not held")
    return reader


def said(running, request):
    """The raw header section of the response to a request."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as connection:
        connection.sendall(request)
        head = b""
        while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
            head += piece
    return head.partition(b"\r\n\r\n")[0]


# Claim 3: no header or log injection


@pytest.mark.parametrize(
    "path",
    [
        "/search?q=a%0d%0aX-Evil:%201%0d%0a%0d%0a<p>",
        "/copy?url=http://a.test/%0d%0aX-Evil:%201",
        "/copy?url=http://a.test/%250d%250aX-Evil:%201",
        "/mementos?miss=aaaaaaaaaaaaaaaaaaaaaa%0d%0aX-Evil:%201",
        "/mementos?miss=aaaaaaaaaaaaaaaaaaaaaa&take=%0d%0aX-Evil:%201&archive=%0d%0aX-Evil:%201",
        "/anyway?miss=aaaaaaaaaaaaaaaaaaaaaa%0d%0aX-Evil:%201",
        "/static/%0d%0aX-Evil:%201",
        "/%0d%0aX-Evil:%201",
    ],
)
def test_request_values_cannot_inject_headers(running, path):
    for place in ("http://school.test" + HELPER, PORTAL + HELPER, PORTAL):
        head = said(running, f"GET {place}{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert head.startswith(b"HTTP/1.1 ")
        assert not re.search(rb"(?im)^x-evil", head)


@pytest.mark.parametrize("question", ["timemap/link", "timemap/json", "timegate", "memento/20200101000000"])
def test_archive_request_values_cannot_inject_headers(running, client, site, question):
    for tail in (
        "?%0d%0aX-Evil:%201",
        "#\rX-Evil: 1",
        '>; rel="original", <http://evil.test/>; rel="memento',
    ):
        asked = f"{PORTAL}/{question}/{site.url}/zebra.html{tail}".replace(" ", "%20")
        head = said(running, f"GET {asked} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert not re.search(rb"(?im)^x-evil|<http://evil.test/>; rel", head)


def test_error_of_a_site_cannot_inject_headers(running, site, client):
    site.pages["/bad"] = b"HTTP/1.1 200 OK\r\nContent-Length: \x1b[31m\r\n\r\n"
    host = f"127.0.0.1:{site.port}"
    head = said(running, f"GET {site.url}/bad HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\n\r\n".encode())
    assert head.startswith(b"HTTP/1.1 502 ")
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", head)


@pytest.mark.parametrize(
    "path",
    [
        "/\x1b[31mred\x1b[0m",
        "/a%0a" + FORGED.replace(" ", "%20"),
        "/a\x85\u2028" + FORGED.replace(" ", "\u00a0"),
        '/"},{"event":"miss"}',
        "/\x7f\x9b31m",
        "/{0.__class__}%s%n",
    ],
)
@pytest.mark.parametrize("host", ["{site}", "http://no-such-host.invalid"])
def test_address_cannot_inject_log_lines(running, site, client, host, path):
    before = len(misses(running))
    base = host.format(site=site.url)
    authority = base.removeprefix("http://")
    request = f"GET {base}{path} HTTP/1.1\r\nHost: {authority}\r\nAccept: text/html\r\n\r\n"
    status = said(running, request.encode()).split()[1]
    if status in (b"404", b"502"):
        eventually(lambda: len(misses(running)) > before, "the miss is not logged")
    else:
        assert status == b"400", "refused before it is logged"
    assert "\x1b" not in running.output
    assert "\x9b" not in running.output
    assert [line for line in running.output.splitlines() if not LOG_LINE.match(line)] == []
    assert not any(line.startswith(FORGED) for line in running.output.splitlines())


def misses(running):
    """Every line of misses.jsonl, which must be JSON and ASCII without control characters."""
    file = running.data / "misses" / "misses.jsonl"
    data = file.read_bytes() if file.exists() else b""
    assert re.fullmatch(rb"[\x20-\x7e\n]*", data)
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


# Claim 5: no cross-site request changes state


def test_choice_needs_the_miss_id_of_the_users_own_page(running, client, site):
    page = client.open_page(site.url + "/zebra/quagga-stripes.html")
    miss_id = re.search(r"miss=([A-Za-z0-9_-]{16,})", page.text)[1]
    guessed = miss_id[:-1] + ("a" if miss_id[-1] != "a" else "b")
    for url in (f"{site.url}{HELPER}", f"{PORTAL}{HELPER}"):
        assert client.get(f"{url}/chose?n=1", method="POST").status == 400
        assert client.get(f"{url}/chose?miss={miss_id}&n=1").status == 405, "a picture or a link is no choice"
        assert client.get(f"{url}/chose?miss={guessed}&n=1", method="POST").status == 204
    page = client.open_page(site.url + "/zebra/quagga-again.html")
    eventually(lambda: any("quagga-again" in str(line.get("url")) for line in misses(running)), "no miss")
    assert not [line for line in misses(running) if line["event"] == "chosen"]


def test_suppressed_page_is_shown_only_to_the_user_who_requested_it(running, client, site):
    site.pages["/quagga-soft"] = reply("<title>404 Not Found</title><h1>Page not found</h1><p>Error 404.")
    page = client.open_page(site.url + "/quagga-soft")
    miss_id = re.search(r"anyway\?miss=([A-Za-z0-9_-]{16,})", page.text)[1]
    url = f"{site.url}{HELPER}/anyway?miss={miss_id}"
    assert Client(running.url, source="127.0.0.9").open_page(url).status == 404
    assert client.get(url, **SCRIPT).status == 403
    assert client.open_page(url).headers["Location"] == site.url + "/quagga-soft"


# Claim 6: our paths tell a visited site nothing


@pytest.mark.parametrize("path", ["/search?q=quagga", "/copy?url={site}/zebra.html"])
def test_site_script_learns_nothing_about_the_collection(client, site, path):
    path = path.format(site=site.url)
    assert client.get(f"{site.url}{HELPER}{path}", Accept="text/html", **SCRIPT).status == 403
    silent = client.get(f"http://school.test{HELPER}{path}", Accept="text/html")  # plain http says nothing
    assert silent.status == 303
    assert silent.headers["Location"].startswith(f"{PORTAL}/"), "another origin, which the script cannot read"
    assert "Zebra" not in silent.text


@pytest.mark.parametrize("path", ["timemap/link/", "timemap/json/", "timegate/", "memento/20200101000000/"])
def test_site_script_learns_nothing_from_our_archive(client, running, site, path):
    for base in (PORTAL, running.url):
        for headers in ({"Origin": site.url}, {"Origin": "null"}, SCRIPT):
            answer = client.get(f"{base}/{path}{site.url}/zebra.html", **headers)
            assert answer.status == 403
            assert "Access-Control-Allow-Origin" not in answer.headers
            assert "zebra.html" not in answer.text


def test_no_page_allows_cross_origin_reads_but_the_archive_fragment(client, site):
    for url in (f"{PORTAL}/", f"{PORTAL}/search?q=quagga", f"{PORTAL}/copy?url={site.url}/zebra.html"):
        answer = client.open_page(url, Origin=site.url)
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path", ["misses", "misses.jsonl", "log", "data", "collection", "static/../../misses"]
)
def test_no_path_serves_the_log(client, running, path):
    for base in (PORTAL, f"{PORTAL}{HELPER}", f"http://school.test{HELPER}", running.url):
        answer = client.open_page(f"{base}/{path}")
        assert answer.status in (303, 400, 403, 404, 502)
        assert "quagga-" not in answer.text.replace(path, "")


# Claim 8: the key of the certificate authority


def test_ca_key_is_private(running, client):
    for file in (running.data / "ca").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
    assert stat.S_IMODE((running.data / "ca").stat().st_mode) & 0o077 == 0


def test_readable_ca_key_is_made_private_at_start(start_linkmend):
    running = start_linkmend()
    running.stop()
    key = running.data / "ca" / "mitmproxy-ca.pem"
    key.chmod(0o644)
    again = start_linkmend()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "was readable by other users" in again.output


@pytest.mark.parametrize(
    "path",
    [
        "ca.key",
        "ca.pem",
        "ca.cer",
        "ca.p12",
        "mitmproxy-ca.pem",
        "mitmproxy-ca.p12",
        "ca/mitmproxy-ca.pem",
        "static/mitmproxy-ca.pem",
        "static/../../ca/mitmproxy-ca.pem",
        "static/..%2f..%2f..%2fca%2fmitmproxy-ca.pem",
        "static/%2e%2e/%2e%2e/ca/mitmproxy-ca.pem",
        "static/....//....//ca/mitmproxy-ca.pem",
        "ca.pem%00.key",
        "copy?url=file:///{data}/ca/mitmproxy-ca.pem",
        "copy?url={data}/ca/mitmproxy-ca.pem",
        "memento/20200101000000/file://{data}/ca/mitmproxy-ca.pem",
    ],
)
def test_no_path_serves_the_ca_key(client, running, path):
    key = load_pem_private_key((running.data / "ca" / "mitmproxy-ca.pem").read_bytes(), password=None)
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    path = path.format(data=running.data)
    for base in (PORTAL, f"{PORTAL}{HELPER}", f"http://school.test{HELPER}", running.url):
        body = client.open_page(f"{base}/{path}").body
        assert b"PRIVATE KEY" not in body
        assert der[-100:] not in body
