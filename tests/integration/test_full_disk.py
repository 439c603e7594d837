"""A full disk: linkmend starts, passes pages on, and stores again once there is room."""

import pytest

from proxy.settings import ProxySettings
from proxy.store.reserve import NAME
from tests.chaos.school import small_disk
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as mounted:
        if not mounted:
            pytest.skip("a small disk can be mounted by root only")
        yield tmp_path / "disk"


def fill(disk):
    with open(disk / "others", "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


WITH_BALLAST = {"LINKMEND_PROXY_BALLAST_BYTES": str(ProxySettings().ballast_bytes)}


def from_the_cache(client, url):
    client.open_page(url)
    return "hit" in client.open_page(url).headers["Cache-Status"]


@pytest.mark.parametrize("workers", ["1", "2"], ids=["one worker", "two workers"])
def test_linkmend_starts_on_a_full_disk_and_stores_once_there_is_room(disk, start_linkmend, origin, workers):
    for name in ("before", "full", "later"):
        origin.pages[f"/{name}"] = reply(f"<title>{name}</title>", Cache_Control="max-age=600")
    first = start_linkmend("--workers", workers, data=disk / "data", also=WITH_BALLAST)
    eventually((disk / "data" / NAME).exists, "no room is set aside")
    assert from_the_cache(Client(first.url), f"{origin.url}/before")
    first.stop()
    for _ in range(2):
        fill(disk)
        running = start_linkmend("--workers", workers, data=disk / "data", also=WITH_BALLAST)
        client = Client(running.url)
        assert client.open_page(f"{origin.url}/full").status == 200
        running.wait_for_line("the proxy runs on, but saves nothing new")
        if _ == 0:
            running.stop()
    assert "hit" in client.open_page(f"{origin.url}/before").headers["Cache-Status"]
    (disk / "others").unlink()
    running.wait_for_line("disk space available again")
    eventually(lambda: from_the_cache(client, f"{origin.url}/later"), "nothing is stored")
