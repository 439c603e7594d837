"""What the archive client sends to archives, accepts from hostile ones and stores; on real connections."""

import asyncio
import contextlib
import gzip
import json
import socket

import pytest
from aiohttp.resolver import ThreadedResolver

from proxy.archives.client import archive_http
from proxy.http.errors import ForbiddenTarget, InvalidTarget
from proxy.reach.policy import OUT_OF_REACH, ReachPolicy
from repair.fetch import FetchLimits
from repair.memento.model import ArchiveOutcome
from repair.settings import ARCHIVES, ArchivesSettings
from tests.archiving import memento_client
from tests.integration.origin import Origin, cut, hang, reply
from tests.integration.processes import free_port

LOST = "http://lost.example/page"
LIMITS = FetchLimits(max_bytes=10_000, timeout_s=10.0)


def a_list(base, *years, url=LOST):
    return reply(
        f'<{url}>; rel="original",\n'
        + "".join(
            f'<{base}/{year}0301000000/{url}>; rel="memento"; datetime="Sat, 01 Mar {year} 00:00:00 GMT",\n'
            for year in years
        ),
        kind="application/link-format",
    )


def a_capture(body="<title>Lost</title>", *, year=2014, status="200 OK", **headers):
    headers = {"Memento_Datetime": f"Sat, 01 Mar {year} 00:00:00 GMT", **headers}
    return reply(body, status=status, **headers)


@pytest.fixture
def archive(origin):
    """An archive that has one capture of the lost page."""
    origin.pages[f"/timemap/link/{LOST}"] = a_list(origin.url, 2014)
    origin.pages[f"/20140301000000id_/{LOST}"] = a_capture()
    return origin


@pytest.fixture
def client(tmp_path):
    def of(*lines, **known):
        settings = {name: known.pop(name) for name in tuple(known) if name in ArchivesSettings.__slots__}
        return memento_client(ArchivesSettings(list=lines, **settings), tmp_path, **known)

    return of


def wayback(origin, name="school"):
    return f"{name} wayback={origin.url}/"


async def test_neither_cookies_nor_a_referrer_are_sent(archive, client):
    archive.pages[f"/timemap/link/{LOST}"] = a_list(archive.url, 2014).replace(
        b"\r\n\r\n", b"\r\nSet-Cookie: who=me; Path=/\r\n\r\n", 1
    )
    async with client(wayback(archive)) as archives:
        assert (await archives.best(LOST)).document.title == "Lost"
    assert len(archive.seen) == 2
    for exchange in archive.seen:
        assert not {"cookie", "referer", "authorization", "origin"} & set(exchange.headers)


async def test_personal_addresses_are_sent_to_no_archive(archive, client):
    async with client(wayback(archive), has_secret=lambda url: "token" in url) as archives:
        assert (await archives.timemap("http://lost.example/?token=1")).answers == ()
        assert await archives.best("http://lost.example/?token=1") is None
    assert archive.seen == []


async def test_local_names_are_not_sent_to_public_archives(client):
    async with client(*ARCHIVES) as archives:
        for url in ("http://nas.local/x", "http://10.0.0.1/x", "http://intranet/x"):
            assert (await archives.timemap(url)).answers == ()


class Rebound(ThreadedResolver):
    """A name server that resolves every name to this machine."""

    async def resolve(self, host, port=0, family=socket.AF_INET):
        return await super().resolve("127.0.0.1", port, family)


@contextlib.asynccontextmanager
async def http_of(line, **known):
    """The HTTP client for one archive."""
    http = archive_http(ArchivesSettings(list=(line,)), reach=known.pop("reach", ReachPolicy), **known)
    try:
        yield http
    finally:
        await http.close()


@pytest.mark.parametrize(("private", "asked"), [("", 0), ("private ", 1)])
async def test_archive_name_resolves_to_this_machine_only_if_the_admin_allowed_it(archive, private, asked):
    line = f"x {private}timemap=http://archive.example:{archive.port}/timemap/link/{{url}}"
    url = f"http://archive.example:{archive.port}/timemap/link/{LOST}"
    async with http_of(line, resolver=Rebound()) as http:
        with contextlib.nullcontext() if private else pytest.raises(ForbiddenTarget, match=OUT_OF_REACH):
            await http.get(url, limits=LIMITS, headers={})
    assert len(archive.seen) == asked


async def test_not_even_a_private_archive_leads_to_linkmend_itself(archive):
    own = ReachPolicy(own_ports=[archive.port])
    async with http_of(f"{wayback(archive)}", reach=lambda: own) as http:
        with pytest.raises(ForbiddenTarget):
            await http.get(f"{archive.url}/timemap/link/{LOST}", limits=LIMITS, headers={})
    assert archive.seen == []


async def test_a_redirect_to_another_port_of_this_machine_is_not_followed(archive, client):
    with Origin() as inner:
        inner.pages["/secret"] = reply("secret")
        for path in tuple(archive.pages):
            archive.pages[path] = reply(status="302 Found", Location=f"{inner.url}/secret")
        async with client(wayback(archive)) as archives:
            (answer,) = (await archives.timemap(LOST)).answers
        assert answer.outcome is ArchiveOutcome.BROKEN
        assert answer.note == "leads to a foreign host"
        assert inner.seen == []


async def test_mementos_on_other_hosts_are_ignored(archive, client):
    with Origin() as evil:
        archive.pages[f"/timemap/link/{LOST}"] = a_list(evil.url, 2014)
        async with client(wayback(archive)) as archives:
            assert await archives.best(LOST) is None
        assert evil.seen == []


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"<a>; rel=memento," * 400_000),
        reply(gzip.compress(b" " * 50_000_000), Content_Encoding="gzip"),
        reply(b"[" * 1_000_000, kind="application/json"),
        reply(b"\xff\xfe<\x00" * 1000),
        cut,
        b"HTTP/1.1 200 OK\r\nLink: " + b"x" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01 no http at all\r\n\r\n",
        reply(status="302 Found", Location="http://[::1"),
        reply(status="302 Found"),
    ],
    ids=["long", "bomb", "deep", "noise", "cut", "header", "tls", "location", "nowhere"],
)
async def test_malformed_archive_response_costs_only_its_own_results(archive, client, answer):
    with Origin() as raving:
        raving.pages[f"/timemap/link/{LOST}"] = answer
        async with client(wayback(raving, "raving"), wayback(archive)) as archives:
            found = await archives.timemap(LOST)
    outcomes = {answer.archive: answer.outcome for answer in found.answers}
    assert outcomes == {"raving": ArchiveOutcome.BROKEN, "school": ArchiveOutcome.ANSWERED}


async def test_a_page_that_is_too_large_is_not_read(archive, client):
    archive.pages[f"/20140301000000id_/{LOST}"] = a_capture("x" * 50_000)
    async with client(wayback(archive), max_page_bytes=40_000) as archives:
        assert await archives.best(LOST) is None


async def test_archive_responses_are_cached_until_they_expire(archive, client):
    now = [1_780_000_000.0]
    empty = "http://lost.example/never"
    async with client(
        wayback(archive), clock=lambda: now[0], remember_s=1000, remember_nothing_s=100
    ) as archives:
        for later, asked, asked_empty in ((0, 1, 1), (50, 1, 1), (100, 1, 2), (1000, 2, 3)):
            now[0] += later
            assert (await archives.timemap(LOST)).mementos
            assert (await archives.timemap(empty)).answers[0].outcome is ArchiveOutcome.NOTHING
            assert archive.asked[f"/timemap/link/{LOST}"] == asked
            assert archive.asked[f"/timemap/link/{empty}"] == asked_empty


async def test_earlier_response_is_used_while_the_archive_is_down(archive, client):
    now = [1_780_000_000.0]
    async with client(wayback(archive), clock=lambda: now[0]) as archives:
        await archives.timemap(LOST)
        archive.down()
        now[0] += 10**8
        found = await archives.timemap(LOST)
        assert found.answers[0].outcome is ArchiveOutcome.BROKEN
        assert len(found.mementos) == 1


async def test_earlier_response_is_used_for_a_slow_archive(archive, client):
    now = [1_780_000_000.0]
    async with client(wayback(archive), clock=lambda: now[0], deadline_s=0.3) as archives:
        await archives.timemap(LOST)
        archive.pages[f"/timemap/link/{LOST}"] = hang
        now[0] += 10**8
        found = await archives.timemap(LOST)
    assert found.answers[0].outcome is ArchiveOutcome.LATE
    assert "as of 2026-05-28" in found.answers[0].note
    assert len(found.mementos) == 1


async def test_moves_of_personal_addresses_are_not_reported(archive, client):
    new = "http://lost.example/new?token=1"
    archive.pages[f"/20140301000000id_/{LOST}"] = a_capture(status="301 Moved", Location=new)
    archive.pages[f"/20140301000000id_/{new}"] = a_capture()
    moves = []
    line = wayback(archive)
    async with client(line, has_secret=lambda url: "token" in url, on_move=moves.append) as archives:
        assert (await archives.best(LOST)).page.url == new
    assert moves == []


async def test_archive_can_report_moves_only_of_the_requested_page(archive, client):
    """Not of pages between, not of another page that it claims was requested, not to another site."""
    between, end = "http://bank.example/login", "http://evil.example/"
    archive.pages[f"/20140301000000id_/{LOST}"] = a_capture(status="301 Moved", Location=between)
    archive.pages[f"/20140301000000id_/{between}"] = a_capture(status="301 Moved", Location=f"{end}page")
    archive.pages[f"/20140301000000id_/{end}page"] = a_capture()
    other = "http://lost.example/other"
    archive.pages[f"/timemap/link/{other}"] = a_list(archive.url, 2014, url=between)
    moved, new = "http://lost.example/moved", "http://www.lost.example/new"
    archive.pages[f"/timemap/link/{moved}"] = a_list(archive.url, 2014, url=moved)
    archive.pages[f"/20140301000000id_/{moved}"] = a_capture(status="301 Moved", Location=new)
    archive.pages[f"/20140301000000id_/{new}"] = a_capture()
    moves = []
    async with client(wayback(archive), on_move=moves.append) as archives:
        assert (await archives.best(LOST)).page.url == f"{end}page"
        assert (await archives.best(other)).page.url == f"{end}page"
        assert (await archives.best(moved)).page.url == new
    assert [(move.old, move.new) for move in moves] == [(moved, new)]


@pytest.mark.parametrize("noise", ["\r\nX-Sneaked: in", " ", "\x00", "é"])
async def test_unprintable_address_is_not_requested(archive, noise):
    async with http_of(wayback(archive)) as http:
        with pytest.raises(InvalidTarget):
            await http.get(f"{archive.url}/x{noise}", limits=LIMITS, headers={})
    assert archive.seen == []


async def test_concurrent_identical_queries_are_collapsed(archive, client):
    async with client(wayback(archive)) as archives:
        both = await asyncio.gather(archives.timemap(LOST), archives.timemap(LOST))
    assert both[0].mementos == both[1].mementos != ()
    assert archive.asked[f"/timemap/link/{LOST}"] == 1


async def test_late_results_are_available_for_the_next_user(archive, client):
    listed = archive.pages[f"/timemap/link/{LOST}"]

    async def slowly(exchange):
        await asyncio.sleep(0.5)
        await exchange.send(listed)

    archive.pages[f"/timemap/link/{LOST}"] = slowly
    async with client(wayback(archive), deadline_s=0.1) as archives:
        first = await archives.timemap(LOST)
        assert [answer.outcome for answer in first.answers] == [ArchiveOutcome.LATE]
        assert (await archives.stored_timemap(LOST)).mementos == ()
        await asyncio.sleep(1.0)
        assert len((await archives.stored_timemap(LOST)).mementos) == 1
        assert (await archives.timemap(LOST)).answers[0].outcome is ArchiveOutcome.ANSWERED
    assert archive.asked[f"/timemap/link/{LOST}"] == 1


async def test_archives_that_know_the_host_are_queried_first(archive, client):
    with Origin() as empty:
        lines = (wayback(empty, "empty"), wayback(archive))
        for number in range(3):
            archive.pages[f"/timemap/link/{LOST}{number}"] = a_list(archive.url, 2014, url=f"{LOST}{number}")
        async with client(*lines, at_once=1) as archives:
            order = [
                [answer.archive async for answer in archives.events(f"{LOST}{number}")] for number in range(3)
            ]
    assert order == [["empty", "school"], ["school", "empty"], ["school", "empty"]]


async def test_closing_does_not_wait_for_a_hanging_archive(archive, client):
    archive.pages[f"/timemap/link/{LOST}"] = hang
    started = asyncio.get_running_loop().time()
    async with client(wayback(archive), deadline_s=0.1) as archives:
        await archives.timemap(LOST)
    assert asyncio.get_running_loop().time() - started < 2.0


async def test_switched_off_no_archive_is_queried(archive, client):
    async with client(wayback(archive), enabled=False) as archives:
        assert await archives.best(LOST) is None
    assert archive.seen == []


async def test_aggregator_results_count_for_the_archives_they_name(archive, client):
    with Origin() as memgator:
        listed = [
            {"datetime": "2014-03-01T00:00:00Z", "uri": f"{archive.url}/20140301000000/{LOST}"},
            {
                "datetime": "2015-03-01T00:00:00Z",
                "uri": f"http://127.0.0.1:{free_port()}/20150301000000/{LOST}",
            },
        ]
        memgator.pages[f"/timemap/json/{LOST}"] = reply(json.dumps({"mementos": {"list": listed}}))
        archive.pages.pop(f"/timemap/link/{LOST}")
        async with client(wayback(archive), f"many memgator={memgator.url}/") as archives:
            found = await archives.timemap(LOST)
            assert [memento.archive for memento in found.mementos] == ["school"]
            assert (await archives.best(LOST)).document.title == "Lost"


async def test_archives_are_reached_through_the_parent_unless_they_are_local(archive, client, start_squid):
    squid = start_squid()
    public = "x timemap=http://archive.example/{url}"
    async with client(public, wayback(archive), parent=squid.url) as archives:
        outcomes = {answer.archive: answer for answer in (await archives.timemap(LOST)).answers}
    assert outcomes["school"].outcome is ArchiveOutcome.ANSWERED
    assert "status 50" in outcomes["x"].note  # by Squid, which finds no such host
    assert "via" not in archive.seen[0].headers
