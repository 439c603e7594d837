"""Requests for pictures cannot write into the list of dead ones what is not so, nor fill the log."""

import sqlite3

import pytest

from tests.attacks.rawservers import HeadsOnly, kept_connection, page
from tests.integration.processes import eventually

PICTURE = "Accept: image/avif,image/webp,*/*;q=0.8"


@pytest.fixture(scope="module")
def site():
    with HeadsOnly(lambda head: page("gone", status="404 Not Found")) as origin:
        yield origin


def listed(running):
    with sqlite3.connect(f"file:{running.data}/misses/misses.sqlite?mode=ro", uri=True) as database:
        return dict(database.execute("SELECT url, page FROM dead_media").fetchall())


def ask(running, site, path, *fields):
    """As a page that shows the picture."""
    with kept_connection(running, site) as client:
        assert client.ask(path, PICTURE, *fields)[0] == 404


def after(running, site, path):
    """The list, once an honest request that came later is in it."""
    ask(running, site, f"{path}/later.png", f"Referer: {site.url}/lesson")
    eventually(lambda: f"{site.url}{path}/later.png" in listed(running), "the honest picture is not listed")
    return listed(running)


def test_a_request_that_names_two_sites_is_not_listed(running, site, path):
    with kept_connection(running, site) as client:
        client._host = "other.test"
        client.ask(f"{path}/two.png", PICTURE)
    found = after(running, site, path)
    assert not [url for url in found if url.endswith(f"{path}/two.png")]
    assert found[f"{site.url}{path}/later.png"] == f"{site.url}/lesson"


@pytest.mark.parametrize(
    "referrer", ["http://[", "http://[::1", "http://a:b:c/", "javascript:alert(1)", "http://a b/"]
)
def test_a_referrer_that_is_no_address_is_no_page(running, site, path, referrer):
    ask(running, site, f"{path}/odd.png", f"Referer: {referrer}")
    assert after(running, site, path)[f"{site.url}{path}/odd.png"] == ""
    assert "Traceback" not in running.output
