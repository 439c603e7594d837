"""docs/security.md, claims 1 and 2: linkmend is no open proxy, and refused addresses cannot be reached through it.

`inside` is a service of this machine that nobody may reach. The sites of the tests are on 127.0.0.2, the only
allowed address; a file says what names resolve to, and may change at any moment.
"""

import json
import socket
import ssl

import pytest

from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.http.prober import SiteProber
from proxy.reach.policy import ReachPolicy
from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, free_port, serving

OUTSIDE = "127.0.0.2"
SETTINGS = f'[proxy]\nreach = ["{OUTSIDE}/32"]\n'


@pytest.fixture
def inside():
    with Origin() as running:
        running.pages["/"] = reply("<title>keys</title>")
        yield running
        assert running.asked.total() == 0, "it was reached"


@pytest.fixture(scope="module")
def site():
    with Origin(host=OUTSIDE) as running:
        yield running


@pytest.fixture
def outside(site):
    site.pages["/"] = reply("<title>welcome</title>", Cache_Control="no-store")
    site.asked.clear()
    return site


class Names:
    def __init__(self, file):
        self.file = file
        self.lead()

    def lead(self, **names):
        """Set what names resolve to; dots are written as underscores."""
        said = {name.replace("_", "."): addresses for name, addresses in names.items()}
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(said), encoding="utf-8")
        fresh.replace(self.file)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    return Names(tmp_path_factory.mktemp("names") / "names.json")


@pytest.fixture(scope="module")
def running(tmp_path_factory, names):
    with serving(tmp_path_factory.mktemp("reach") / "data", settings=SETTINGS, names=names.file) as proxy:
        yield proxy


def refused(answer):
    assert answer.miss is None, "an address that is refused is no missing page"
    return answer.status == 403 and "destination_ip_prohibited" in answer.headers["Proxy-Status"]


def connect(running, host, port):
    """The response to a CONNECT, and the tunnel."""
    tunnel = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    tunnel.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return int(tunnel.recv(4096).split()[1]), tunnel


# Claim 1: no open proxy


def test_client_outside_the_allowed_networks_is_refused(outside, start_linkmend):
    running = start_linkmend(settings=SETTINGS + 'clients = ["127.0.0.1/32"]\n')
    assert Client(running.url).open_page(outside.url + "/").status == 200
    with pytest.raises(OSError, match=r"(?i)reset|closed|abort"):
        Client(running.url, source="127.0.0.9").open_page(outside.url + "/")
    assert outside.asked.total() == 1


@pytest.mark.parametrize("port", [22, 25, 110, 445, 6379])
def test_no_tunnel_to_a_port_of_another_protocol(running, port):
    status, tunnel = connect(running, "mail.example", port)
    tunnel.close()
    assert status == 403


@pytest.mark.parametrize("port", [22, 25, 445])
def test_no_request_to_a_port_of_another_protocol(running, port):
    assert refused(Client(running.url).open_page(f"http://mail.example:{port}/"))


# Claim 2: this machine, link-local and metadata addresses are out of reach


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "inside.test",
    ],
)
def test_client_request_cannot_reach_an_internal_service(running, inside, names, host):
    names.lead(inside_test=["127.0.0.1"])
    client = Client(running.url, running.ca)
    assert refused(client.open_page(f"http://{host}:{inside.port}/"))
    assert client.get(f"http://{host}:{inside.port}/").status == 403


def test_refusal_is_in_the_users_language(running, inside):
    told = Client(running.url).open_page(inside.url + "/", Accept_Language="fr")
    assert "n’ouvre pas cette adresse" in told.text
    assert not (running.data / "misses" / "misses.jsonl").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "inside.test"])
def test_tunnel_cannot_reach_an_internal_service(start_linkmend, inside, names, host):
    names.lead(inside_test=["127.0.0.1"])
    running = start_linkmend(settings=SETTINGS + f'connect_ports = ["{inside.port}"]\n', names=names.file)
    status, tunnel = connect(running, host, inside.port)
    if status == 200:  # something that is neither TLS nor HTTP, passed on as it comes
        tunnel.sendall(b"\x00\x01\x02\x03 let me in\r\n\r\n")
        assert tunnel.recv(100) == b""
    tunnel.close()
    status, tunnel = connect(running, host, inside.port)
    assert status == 200
    context = ssl.create_default_context(cafile=str(running.ca))
    with context.wrap_socket(tunnel, server_hostname=host) as secure:
        secure.sendall(f"GET / HTTP/1.1\r\nHost: {host}:{inside.port}\r\nAccept: text/html\r\n\r\n".encode())
        assert secure.recv(100).startswith(b"HTTP/1.1 403 ")


def test_rebound_name_is_refused(running, inside, names, outside):
    client = Client(running.url)
    outside.pages["/"] = reply("<title>welcome</title>", Cache_Control="no-store", Connection="close")
    url = f"http://rebound.test:{outside.port}/"
    names.lead(rebound_test=[OUTSIDE])
    assert client.open_page(url).status == 200
    names.lead(rebound_test=["127.0.0.1"])
    assert refused(client.open_page(url))
    assert refused(client.open_page(f"http://rebound.test:{inside.port}/"))


def test_of_two_addresses_of_a_name_only_the_allowed_one_is_contacted(running, names, outside):
    with Origin(port=outside.port) as inside:  # the same port of this machine
        names.lead(both_test=["127.0.0.1", OUTSIDE])
        assert Client(running.url).open_page(f"http://both.test:{outside.port}/").status == 200
        assert inside.asked.total() == 0


def test_redirect_cannot_reach_an_internal_service(running, inside, names, outside):
    names.lead(site_test=[OUTSIDE], other_test=["127.0.0.1"])
    client = Client(running.url)
    for target in (inside.url, f"http://other.test:{inside.port}"):
        outside.pages["/"] = reply(status="302 Found", Location=f"{target}/", Cache_Control="no-store")
        told = client.open_page(f"http://site.test:{outside.port}/")
        assert told.headers["Location"] == f"{target}/", "redirects are the browser's to follow"
        assert refused(client.open_page(told.headers["Location"]))


def test_background_request_cannot_reach_an_internal_service(running, names, outside):
    url = f"http://stale.test:{outside.port}/"
    stale = reply(
        "<title>old</title>",
        Cache_Control="max-age=0, stale-while-revalidate=600",
        ETag='"1"',
        Connection="close",
    )
    outside.pages["/"] = stale
    names.lead(stale_test=[OUTSIDE])
    client = Client(running.url)
    assert client.open_page(url).status == 200
    with Origin(port=outside.port) as inside:
        names.lead(stale_test=["127.0.0.1"])
        assert "old" in client.open_page(url).text
        running.wait_for_line("connection refused by policy: 127.0.0.1")
        assert inside.asked.total() == 0


def a_prober(reach):
    return SiteProber(HttpClient(ConnectGuard(lambda: reach), purpose="test"))


async def test_probe_cannot_reach_an_internal_service(inside):
    prober = a_prober(ReachPolicy())
    try:
        for host in ("127.0.0.1", "localhost"):
            assert await prober.ask(f"http://{host}:{inside.port}/") is None
    finally:
        await prober.close()


async def test_probe_reaches_an_allowed_address(outside):
    prober = a_prober(ReachPolicy(allowed=(f"{OUTSIDE}/32",)))
    try:
        assert (await prober.ask(outside.url + "/")).status == 200
    finally:
        await prober.close()


def test_admin_port_and_metrics_are_not_reachable_through_the_proxy(start_linkmend):
    """Not even where this machine may be reached: the admin server would take a student for a local client."""
    desk, metrics = free_port(), free_port()
    running = start_linkmend(
        settings=f'[proxy]\nreach = ["127.0.0.0/8"]\n[desk]\nlisten = "127.0.0.1:{desk}"\n'
        f'[metrics]\nlisten = "127.0.0.1:{metrics}"\n'
    )
    client = Client(running.url)
    for port in (desk, metrics):
        eventually(lambda port=port: Client("").get(f"http://127.0.0.1:{port}/").status, "nobody listens")
        for host in ("127.0.0.1", "localhost", "127.1"):
            assert refused(client.open_page(f"http://{host}:{port}/"))


def test_parent_proxy_is_not_reachable_through_the_proxy(start_linkmend):
    with Origin() as parent:
        running = start_linkmend(
            settings=SETTINGS + f'parent = "{parent.url}"\nconnect_ports = ["1-65535"]\n'
        )
        assert refused(Client(running.url).open_page(parent.url + "/keys"))
        status, tunnel = connect(running, "127.0.0.1", parent.port)
        tunnel.close()
        assert status == 403
        assert not any("keys" in path for path in parent.asked)  # linkmend itself asks whether it is there


def test_the_target_of_reverse_mode_is_the_admins_choice(start_linkmend):
    with Origin() as site:
        site.pages["/"] = reply("<title>ours</title>")
        running = start_linkmend("--mode", f"reverse:{site.url}", settings="[proxy]\nreach = []\n")
        assert Client("").open_page(running.url + "/").status == 200
