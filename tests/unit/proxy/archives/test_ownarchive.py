from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.archives.ownarchive import OwnArchive, may_read, may_read_page
from proxy.pages.language import catalogue
from repair.collection.versions import HeldVersions
from repair.memento.datetimes import as_http_date, as_timestamp
from repair.model import HeldCopy
from tests.make import A_MOMENT

URL = "http://school.test/water"
BASE = "http://10.0.0.5:8080"
INSIDE, OUTSIDE = "10.0.0.9", "8.8.8.8"


class Shelf:
    """Two versions, a day apart, of every page, except those with "never" in their address."""

    moments = (A_MOMENT.replace(microsecond=0), A_MOMENT.replace(microsecond=0) + timedelta(days=1))

    async def versions(self, url):
        return None if "never" in url else HeldVersions(url=url, moments=self.moments)

    async def version(self, url, moment):
        body = b"%d" % self.moments.index(moment)
        return HeldCopy(url=url, content_type="text/html", body=body, fetched_at=moment)


class Emptied(Shelf):
    """Its versions disappear between being listed and being read."""

    async def version(self, url, moment):
        return None


async def ask(target, *, share="local", client=INSIDE, accept="*/*", accept_datetime=None, shelf=None):
    archive = OwnArchive(shelf or Shelf(), lambda: share)
    return await archive.answer(
        target,
        base=BASE,
        client=client,
        accept=accept,
        accept_datetime=accept_datetime,
        texts=catalogue("en"),
    )


async def test_a_browser_shows_a_time_map_that_it_would_otherwise_save():
    for accept, kind in (
        ("*/*", "application/link-format"),
        ("text/html,*/*;q=0.8", "text/plain; charset=utf-8"),
    ):
        page = await ask(f"/timemap/link/{URL}", accept=accept)
        assert dict(page.headers)["Content-Type"] == kind


def path(number, modifier=""):
    return f"/memento/{as_timestamp(Shelf.moments[number])}{modifier}/{URL}"


@pytest.mark.parametrize(
    ("share", "client", "allowed"),
    [
        ("local", "127.0.0.1", True),
        ("local", "192.168.7.7", True),
        ("local", "100.64.0.1", True),
        ("local", "fe80::1%eth0", True),
        ("local", "::ffff:10.0.0.1", True),
        ("local", "::ffff:8.8.8.8", False),
        ("local", "8.8.8.8", False),
        ("local", "2001:4860:4860::8888", False),
        ("local", "", False),
        ("local", "localhost", False),
        ("all", "8.8.8.8", True),
        ("off", "127.0.0.1", False),
        ("nonsense", "127.0.0.1", False),
    ],
)
def test_share_setting_decides_who_may_read(share, client, allowed):
    assert may_read(share, client) is allowed


@pytest.mark.parametrize(
    ("url", "client", "allowed"),
    [
        ("http://school.example/", OUTSIDE, True),
        ("http://nas.local/", INSIDE, True),
        ("http://nas.local/", OUTSIDE, False),
        ("http://10.0.0.1/", OUTSIDE, False),
        ("http://school.example/?session_id=123456789", INSIDE, False),
        ("http://school.example/?session_id=123456789", OUTSIDE, False),
    ],
)
def test_pages_of_the_network_stay_in_it_and_personal_ones_with_their_owner(url, client, allowed):
    assert may_read_page(url, client) is allowed


@pytest.mark.parametrize(
    "target", ["/timemap/link/", "/timemap/json/", "/timegate/", "/memento/20210301123005id_/"]
)
async def test_outside_client_gets_nothing_from_any_path(target):
    assert (await ask(target + URL, client=OUTSIDE)).status == 403
    assert (await ask(target + "http://nas.local/", client=OUTSIDE, share="all")).status == 404
    assert (await ask(target + "http://school.example/", client=OUTSIDE, share="all")).status in (200, 302)
    assert (await ask(target + URL, share="off")).status == 403


async def test_page_not_saved_has_no_time_map():
    assert (await ask("/timemap/link/http://school.test/never")).status == 404
    assert (await ask("/timegate/http://school.test/never")).status == 404


async def test_the_time_gate_takes_the_date_of_the_request():
    for number, at in enumerate(Shelf.moments):
        page = await ask(f"/timegate/{URL}", accept_datetime=as_http_date(at + timedelta(hours=1)))
        assert dict(page.headers)["Location"] == BASE + path(number)


@pytest.mark.parametrize("date", ["", "yesterday", "20200101", "Thu, 99 Foo 2020 00:00:00 GMT", "1" * 10_000])
async def test_invalid_date_is_refused(date):
    assert (await ask(f"/timegate/{URL}", accept_datetime=date)).status == 400
    assert (await ask(f"/timemap/link/{URL}", accept_datetime=date)).status == 200


@given(st.text())
async def test_no_date_breaks_the_time_gate(date):
    assert (await ask(f"/timegate/{URL}", accept_datetime=date)).status in (302, 400)


async def test_versions_are_shown_and_given_as_they_were_sent():
    assert (await ask(path(0, "id_"))).body == b"0"
    assert b">1<" in (await ask(path(1))).body
    moved = await ask(f"/memento/20010101000000/{URL}")
    assert dict(moved.headers)["Location"] == BASE + path(0)


async def test_just_removed_version_redirects_to_a_remaining_one():
    assert (await ask(path(0), shelf=Emptied())).status == 302
