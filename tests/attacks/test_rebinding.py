"""A name that resolves to an allowed address and to this machine in turn never reaches this machine.

`inside` is a service of this machine at the same port as the site. The guard checks the address that is connected
to, so it does not matter which DNS response was seen before.
"""

import contextlib
import json
import ssl
from types import SimpleNamespace

import pytest

from tests.attacks.attackers import connection_to, read_until
from tests.attacks.test_identity import ask
from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import eventually, linkmend, serving
from tests.integration.test_soft404 import VAGUE_PAGE, Everywhere, nonsense_asked

OUTSIDE, INSIDE = "127.0.0.2", "127.0.0.1"
NAME = "turns.test"
TIMES = 8
TEXT = (
    "Herons stand in the shallow water and wait for fish, which they catch with a quick stab of the beak. "
    * 4
)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("certificate"), NAME)


@pytest.fixture(scope="module")
def running(tmp_path_factory, tls):
    """A linkmend that gets the two addresses of the name in turn. Only the outside one is allowed."""
    folder = tmp_path_factory.mktemp("rebinding")
    (folder / "names.json").write_text(json.dumps({NAME: [[OUTSIDE], [INSIDE], [INSIDE, OUTSIDE]]}))
    settings = (
        f'[proxy]\nreach = ["{OUTSIDE}/32"]\nconnect_ports = ["1-65535"]\ntrusted_ca = "{tls[0]}"\n'
        "[fetch]\npause_s = 0.0\nretry_s = 0.1\n"
    )
    with serving(folder / "data", settings=settings, names=folder / "names.json") as proxy:
        yield proxy


@contextlib.contextmanager
def both_sides(context=None):
    """The site, and a service of this machine at the same port, which must not be contacted."""
    with Origin(host=OUTSIDE, tls=context) as outside, Origin(port=outside.port, tls=context) as inside:
        yield SimpleNamespace(
            outside=outside, base=f"{'https' if context else 'http'}://{NAME}:{outside.port}"
        )
        assert inside.asked.total() == 0, inside.asked


def test_rebound_client_request_does_not_reach_this_machine(running):
    with both_sides() as sides:
        sides.outside.pages["/"] = reply("welcome", Cache_Control="no-store", Connection="close")
        statuses = [Client(running.url).get(f"{sides.base}/").status for _ in range(TIMES)]
    assert set(statuses) == {200, 403}


def test_rebound_tunnel_request_does_not_reach_this_machine(running, tls):
    context = ssl.create_default_context(cafile=str(running.ca))
    statuses = set()
    with both_sides(tls[1]) as sides:
        sides.outside.pages["/"] = reply("welcome", Cache_Control="no-store", Connection="close")
        place = sides.base.removeprefix("https://")
        for _ in range(TIMES):
            with connection_to(running) as connection:
                connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
                assert b" 200 " in read_until(connection, b"\r\n\r\n")
                with context.wrap_socket(connection, server_hostname=NAME) as secure:
                    statuses.add(ask(secure, "/", f"Host: {place}").status)
    assert statuses == {200, 403}


def test_rebound_background_request_does_not_reach_this_machine(running):
    with both_sides() as sides:
        sides.outside.pages["/stale"] = reply(
            "old", Cache_Control="max-age=0, stale-while-revalidate=600", ETag='"1"', Connection="close"
        )
        client = Client(running.url)
        eventually(lambda: client.get(f"{sides.base}/stale").status == 200, "the page is never there")
        for wanted in range(2, 5):

            def asked_again(wanted=wanted):
                assert client.get(f"{sides.base}/stale").text == "old"
                return sides.outside.asked["/stale"] >= wanted

            eventually(asked_again, "nobody asks in the background")


def test_rebound_fetch_does_not_reach_this_machine(running):
    with both_sides() as sides:
        paths = [f"/fetch/{number}" for number in range(TIMES)]
        for path in paths:
            sides.outside.pages[path] = reply(f"<title>Heron {path}</title><p>{TEXT}</p>", Connection="close")
        wanted = [sides.base + path for path in paths]
        added = linkmend("fetch", "add", *wanted, "--when", "now", "--data", running.data)
        assert added.returncode == 0, added.stderr

        def states():
            told = linkmend("fetch", "list", "--json", "--data", running.data).stdout
            return [each for each in ("done", "refused") if f'"{each}"' in told]

        eventually(lambda: states() == ["done", "refused"], "not both happened", timeout_s=60)


def test_rebound_probe_does_not_reach_this_machine(running):
    with both_sides() as sides:
        sides.outside.pages = Everywhere(reply(VAGUE_PAGE, Connection="close"))
        client, numbers = Client(running.url), iter(range(1000))

        def probed():
            for _ in range(TIMES):
                number = next(numbers)
                client.open_page(f"{sides.base}/folder{number}/page{number}.html")
            return nonsense_asked(sides.outside)

        eventually(probed, "the site was never probed", timeout_s=40)
