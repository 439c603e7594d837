"""What the proxy learns besides text: from traffic and from users' choices."""

import re
from html import unescape

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually

SETTINGS = "[collection]\ncommit_every_s = 0.2\n"
TEXT = "<p>Words that have nothing to do with the address of the page, nor with that of any other.</p>"


@pytest.fixture
def client(start_linkmend):
    return Client(start_linkmend(settings=SETTINGS).url)


def offered(client, url):
    return {item["url"]: item for item in client.repair(url).told["alternatives"]}


def read(origin, client, **titles):
    """Open pages of these names and titles, and wait until they can be found."""
    for name, title in titles.items():
        origin.pages[f"/archive/{name}"] = reply(f"<title>{title}</title>{TEXT}", Cache_Control="max-age=60")
        assert client.open_page(f"{origin.url}/archive/{name}").status == 200
    for name, title in titles.items():
        place = f'data-url="{origin.url}/archive/{name}"'.encode()
        eventually(
            lambda place=place, title=title: place in client.search(title).body, f"{name} was not read"
        )


def test_learnt_directory_move_is_applied_to_a_missing_page(origin, client):
    read(origin, client, k7="Ocelot")
    lost = origin.url + "/papers/k7"
    assert "moved" not in {code for item in offered(client, lost).values() for code in item["reasons"]}
    for name in ("a1", "b2"):
        origin.pages[f"/papers/{name}"] = reply(status="301 Moved Permanently", Location=f"/archive/{name}")
        assert client.open_page(f"{origin.url}/papers/{name}").status == 301

    def moved():
        item = offered(client, lost).get(origin.url + "/archive/k7")
        return item if item and "moved" in item["reasons"] else None

    assert eventually(moved, "the move was not learnt")["confidence"] > 0.6


def test_choice_of_three_networks_ranks_before_an_equal_page(origin, start_linkmend):
    url = start_linkmend(settings=SETTINGS).url
    users = [Client(url, source=f"127.0.{network}.31") for network in range(1, 5)]
    marmots = {f"m{number}": f"Marmots part {number}" for number in range(3)}
    read(origin, users[0], **marmots, **{f"o{number}": f"Otters {number}" for number in range(9)})
    lost = origin.url + "/papers/marmots-part"
    before = list(offered(users[0], lost))
    chosen = before[-1]
    for user in users[:3]:
        ping = re.search(rf'href="{re.escape(chosen)}" ping="([^"]+)"', user.open_page(lost).text)
        assert user.get(origin.url + unescape(ping[1]), method="POST").status == 204

    def came_up():
        now = offered(users[3], lost)
        return now if chosen in now and "shared" in now[chosen]["reasons"] else None

    now = eventually(came_up, "the choices were not noted")
    assert list(now).index(chosen) < before.index(chosen)
    assert now[chosen]["source"] == "shared"
