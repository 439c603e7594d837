import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from mitmproxy import exceptions
from mitmproxy import flow as mitm_flow

from addons.cache import Cache
from addons.flows import body_of, mitm_headers, url_of
from addons.flowstate import AnsweredBy, is_from_origin, state_of
from proxy.cache.collapsing import RequestCollapser
from proxy.cache.leases import LeaseTable, WorkerLeases
from proxy.messages import FileBody
from proxy.settings import CacheSettings
from tests.caching import NOW, URL, a_request, a_stored, at, cc
from tests.fakes import FakeBodyServer, FakeClock, FakeStore
from tests.make import a_flow

TAG = ("ETag", '"a"')
SETTINGS = CacheSettings(stream_over_bytes=1000, max_body_bytes=5000, collapse_wait_s=5.0)
NAVIGATION = (("Accept", "text/html"),)


class Proxy:
    """The cache between a made-up client and a made-up origin."""

    def __init__(self, *held, offline=False, replay=None):
        self.store, self.bodies, self.clock = (
            FakeStore(file_over_bytes=1000),
            FakeBodyServer(),
            FakeClock(NOW),
        )
        self.store.held[URL] = held
        self.replayed = []
        self.cache = Cache(
            SETTINGS,
            self.store,
            RequestCollapser(),
            self.bodies,
            offline=lambda: offline,
            clock=self.clock,
            replay=replay or self.replayed.append,
        )

    async def ask(self, *headers, **known):
        """A client's request, as far as the cache takes it."""
        flow = a_flow(**known)
        flow.request.headers = mitm_headers(headers)
        await self.cache.request(flow)
        return flow

    async def say(self, flow, status=200, *headers, body=b"hello"):
        """The origin's answer, whole, or in two parts when it is streamed."""
        self.begin(flow, status, *headers, body=body)
        if flow.response.stream:
            through = flow.response.stream if callable(flow.response.stream) else (lambda chunk: chunk)
            assert b"".join(through(part) for part in (body[:7], body[7:], b"")) == body
            flow.response.raw_content = None
        if not self.cache.response_now(flow):  # as addons/mitm/master.py does
            await self.cache.response(flow)

    def begin(self, flow, status=200, *headers, body=b"hello"):
        """The head of the origin's answer."""
        flow.response = a_flow(response=(status, (), body)).response
        flow.response.headers = mitm_headers(headers)
        self.cache.responseheaders(flow)

    def fail(self, flow, message="connection refused"):
        """The origin cannot be reached."""
        flow.error = mitm_flow.Error(message)
        flow.server_conn.timestamp_tcp_setup = None
        self.cache.error(flow)

    async def exchange(self, status=200, *headers, body=b"hello", asked=(), **known):
        flow = await self.ask(*asked, **known)
        assert flow.response is None, "answered without the origin"
        await self.say(flow, status, *headers, body=body)
        return flow

    @property
    def held(self):
        return self.store.held[URL]


def told(flow):
    return flow.response.headers.get("cache-status")


def stale(*headers, **known):
    return a_stored(cc("max-age=10"), *headers, received_s=-60, **known)


def large(*headers, **known):
    return a_stored(*headers, body=FileBody(path=Path("large"), size=2000), **known)


async def test_the_second_request_is_answered_from_the_store():
    proxy = Proxy()
    first = await proxy.exchange(200, cc("max-age=60"))
    assert told(first) == "linkmend;fwd=uri-miss;fwd-status=200;stored"
    proxy.clock.now += 5
    second = await proxy.ask()
    assert (second.response.status_code, second.response.raw_content) == (200, b"hello")
    assert second.response.headers["age"] == "5"
    assert told(second) == "linkmend;hit;ttl=55"
    assert state_of(second).answered_by is AnsweredBy.CACHE


async def test_a_first_visit_waits_for_no_disk_and_those_in_other_workers_wait_for_it():
    proxy, table = Proxy(), LeaseTable()
    here, elsewhere = (RequestCollapser(WorkerLeases(table, worker)) for worker in (1, 2))
    proxy.cache = Cache(
        SETTINGS, proxy.store, here, proxy.bodies, offline=lambda: False, clock=proxy.clock, replay=None
    )
    written = []
    put_soon = proxy.store.put_soon
    proxy.store.put_soon = lambda key, response, then: put_soon(key, response, lambda: written.append(then))
    flow = await proxy.ask(*NAVIGATION)
    proxy.begin(flow, 200, cc("max-age=60"))
    assert not elsewhere.lead(URL)
    assert proxy.cache.response_now(flow)
    assert told(await proxy.ask()) == "linkmend;hit;ttl=60"
    assert not elsewhere.lead(URL), "it is not on disk yet"
    written.pop()()
    assert elsewhere.lead(URL)


async def test_a_first_visit_whose_storing_fails_lets_those_go_on_who_wait():
    proxy = Proxy()
    flow = await proxy.ask(*NAVIGATION)
    proxy.begin(flow, 200, cc("max-age=60"))
    waiting = asyncio.create_task(proxy.ask(*NAVIGATION))
    await asyncio.sleep(0)

    def fail(*_):
        raise RuntimeError("cannot start a thread")

    proxy.store.put_soon = fail
    with pytest.raises(RuntimeError):
        proxy.cache.response_now(flow)
    async with asyncio.timeout(5.0):
        assert (await waiting).response is None, "it goes to the origin itself"


@pytest.mark.parametrize(
    ("asked", "said", "size"),
    [((), (("Vary", "Accept"),), 5), ((("Cookie", "a=1"),), (TAG,), 5), ((), (), 100_000)],
    ids=["varies", "with a cookie", "large"],
)
async def test_what_takes_more_than_a_moment_is_stored_the_usual_way(asked, said, size):
    proxy = Proxy()
    flow = await proxy.ask(*NAVIGATION, *asked)
    proxy.begin(flow, 200, cc("max-age=60"), *said, body=b"x" * size)
    assert not proxy.cache.response_now(flow)


async def test_an_answer_of_ours_passes_the_later_hooks_untouched():
    proxy = Proxy(a_stored(cc("max-age=60")))
    flow = await proxy.ask()
    before = flow.response.copy()
    proxy.cache.responseheaders(flow)
    await proxy.cache.response(flow)
    assert flow.response.headers == before.headers
    assert len(proxy.held) == 1


async def test_what_may_not_be_stored_passes_with_our_marks_only():
    proxy = Proxy()
    flow = await proxy.exchange(200, cc("private"), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"))
    assert not proxy.held
    assert told(flow) == "linkmend;fwd=uri-miss;fwd-status=200"
    assert flow.response.headers["via"] == "1.1 linkmend"
    assert flow.response.headers.get_all("set-cookie") == ["a=b", "c=d"]
    assert "via" not in flow.request.headers  # an origin that sees it may send its text uncompressed


async def test_an_answer_without_a_date_gets_one():
    flow = await Proxy().exchange(200)
    assert flow.response.headers["date"] == at(0)


async def test_marks_of_earlier_caches_stay_in_front_of_ours():
    flow = await Proxy().exchange(200, ("Cache-Status", "parent;hit"))
    assert flow.response.headers.get_all("cache-status") == [
        "parent;hit",
        "linkmend;fwd=uri-miss;fwd-status=200",
    ]


async def test_a_host_header_that_lies_keeps_its_answer_out_of_the_store():
    proxy = Proxy(a_stored(cc("max-age=60")))
    flow = await proxy.exchange(200, cc("max-age=60"), body=b"evil", asked=(("Host", "other.test"),))
    assert told(flow) == "linkmend;fwd=bypass;fwd-status=200"
    assert [stored.body for stored in proxy.held] == [b"hello world"]


async def test_a_head_is_answered_without_a_body_but_with_its_length():
    flow = await Proxy(a_stored(cc("max-age=60"))).ask(method="HEAD")
    assert flow.response.raw_content == b""
    assert flow.response.headers["content-length"] == "11"


async def test_a_304_of_ours_has_no_length():
    flow = await Proxy(a_stored(cc("max-age=60"), TAG)).ask(("If-None-Match", '"a"'))
    assert flow.response.status_code == 304
    assert "content-length" not in flow.response.headers


async def test_a_part_of_what_is_stored_is_served():
    flow = await Proxy(a_stored(cc("max-age=60"))).ask(("Range", "bytes=0-4"))
    assert (flow.response.status_code, flow.response.raw_content) == (206, b"hello")


async def test_a_stale_response_is_asked_about_and_served_when_it_still_holds():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask()
    assert flow.request.headers["if-none-match"] == '"a"'
    await proxy.say(flow, 304, cc("max-age=60"), ("A", "new"), body=b"")
    assert (flow.response.status_code, flow.response.raw_content) == (200, b"hello world")
    assert flow.response.headers["a"] == "new"
    assert told(flow) == "linkmend;fwd=stale;fwd-status=304;ttl=60;stored"
    assert (await proxy.ask()).response is not None


async def test_a_client_with_a_good_copy_gets_304_after_it_was_asked_about():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask(("If-None-Match", '"other", "a"'))
    assert flow.request.headers.get_all("if-none-match") == ['"a"']
    await proxy.say(flow, 304, TAG, body=b"")
    assert flow.response.status_code == 304


async def test_a_304_to_the_clients_own_condition_is_the_clients():
    proxy = Proxy()
    flow = await proxy.exchange(304, TAG, body=b"", asked=(("If-None-Match", '"a"'),))
    assert flow.response.status_code == 304
    assert not proxy.held


async def test_what_has_changed_takes_the_place_of_what_was_stored():
    proxy = Proxy(stale(TAG))
    await proxy.say(await proxy.ask(), 200, cc("max-age=60"), body=b"new")
    assert [stored.body for stored in proxy.held] == [b"new"]


async def test_a_304_that_makes_it_private_ends_the_storing():
    proxy = Proxy(stale(TAG))
    await proxy.say(await proxy.ask(), 304, cc("private"), body=b"")
    assert not proxy.held


async def test_another_variant_becomes_this_ones_after_a_304():
    held = a_stored(cc("max-age=60"), TAG, ("Vary", "Foo"), request=a_request(("Foo", "1")))
    proxy = Proxy(held)
    flow = await proxy.ask(("Foo", "2"))
    await proxy.say(flow, 304, TAG, body=b"")
    assert flow.response.raw_content == b"hello world"
    assert {stored.vary for stored in proxy.held} == {(("foo", "1"),), (("foo", "2"),)}


async def test_another_variant_never_stands_in_without_a_304():
    held = a_stored(cc("max-age=60"), TAG, ("Vary", "Foo"), request=a_request(("Foo", "1")))
    proxy = Proxy(held)
    flow = await proxy.ask(("Foo", "2"))
    proxy.fail(flow)
    assert flow.response is None


async def test_a_head_refreshes_the_stored_get():
    proxy = Proxy(stale(("A", "1")))
    flow = await proxy.ask(method="HEAD")
    await proxy.say(flow, 200, cc("max-age=600"), ("A", "2"), body=b"")
    assert (await proxy.ask()).response.headers["a"] == "2"


async def test_a_head_that_shows_a_change_removes_it():
    proxy = Proxy(stale(TAG))
    await proxy.say(await proxy.ask(method="HEAD"), 200, ("ETag", '"b"'), body=b"")
    assert not proxy.held


async def test_a_change_removes_what_is_stored_and_a_failed_one_does_not():
    proxy = Proxy(a_stored(cc("max-age=60")))
    await proxy.exchange(500, method="POST")
    assert proxy.held
    await proxy.exchange(200, method="POST")
    assert not proxy.held


async def test_an_imported_copy_is_not_lost_to_an_error_page():
    proxy = Proxy(replace(stale(TAG), pinned=True))
    await proxy.say(await proxy.ask(), 404, cc("max-age=60"))
    assert [stored.status for stored in proxy.held] == [200]


async def test_only_if_cached_is_answered_504_when_nothing_is_held():
    flow = await Proxy().ask(cc("only-if-cached"))
    assert flow.response.status_code == 504
    assert "no-store" in flow.response.headers["cache-control"]


async def test_offline_what_is_held_is_served_and_nobody_is_asked():
    proxy = Proxy(stale(), offline=True)
    assert (await proxy.ask()).response.status_code == 200
    missing = await proxy.ask(url="http://school.test/other")
    assert (missing.response.status_code, state_of(missing).answered_by) == (504, AnsweredBy.OFFLINE)
    assert (await proxy.ask(method="POST")).response.status_code == 504
    assert (await proxy.ask(("Host", "other.test"))).response.status_code == 504


# When the origin fails


async def test_a_stale_copy_stands_in_for_an_origin_out_of_reach():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask()
    proxy.fail(flow)
    assert (flow.response.status_code, flow.response.raw_content) == (200, b"hello world")
    assert told(flow) == "linkmend;fwd=stale;ttl=-50;detail=unreachable"
    assert state_of(flow).answered_by is AnsweredBy.CACHE
    await proxy.cache.response(flow)
    assert told(flow) == "linkmend;fwd=stale;ttl=-50;detail=unreachable"


async def test_it_does_not_when_the_origin_forbade_it():
    proxy = Proxy(a_stored(cc("max-age=10, must-revalidate"), TAG, received_s=-60))
    flow = await proxy.ask()
    proxy.fail(flow)
    assert flow.response is None


async def test_a_failure_that_another_addon_words_gets_our_mark():
    proxy = Proxy()
    flow = await proxy.ask()
    proxy.fail(flow)
    state_of(flow).answered_by = AnsweredBy.FAILURE
    flow.response = a_flow(response=(502, (), b"")).response
    await proxy.cache.response(flow)
    assert told(flow) == "linkmend;fwd=uri-miss;detail=unreachable"


async def test_the_rest_of_a_page_does_not_wait_for_an_origin_known_to_be_down():
    proxy = Proxy(stale(TAG))
    proxy.fail(await proxy.ask(url="http://school.test/other"))
    assert told(await proxy.ask()) == "linkmend;fwd=stale;ttl=-50;detail=unreachable"
    reload = await proxy.ask(cc("max-age=0"))
    assert reload.response is None
    proxy.fail(reload)
    proxy.clock.now += 60
    assert (await proxy.ask()).response is None


async def test_an_error_is_replaced_only_where_stale_if_error_allows():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask()
    await proxy.say(flow, 503)
    assert flow.response.status_code == 503
    proxy = Proxy(a_stored(cc("max-age=10, stale-if-error=100"), TAG, received_s=-60))
    flow = await proxy.ask()
    await proxy.say(flow, 503)
    assert (flow.response.status_code, flow.response.raw_content) == (200, b"hello world")
    assert told(flow) == "linkmend;fwd=stale;fwd-status=503;ttl=-50;detail=error"


async def test_a_parents_word_that_the_origin_is_out_of_reach_counts_like_our_own():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask()
    proxy.begin(flow, 503)
    state_of(flow).failure = object()
    await proxy.cache.response(flow)
    assert flow.response.status_code == 200


async def test_what_the_parent_could_not_get_is_not_stored_whatever_it_says_of_itself():
    for body in (b"hello", b"x" * 2000):
        proxy = Proxy()
        flow = await proxy.ask()
        proxy.begin(flow, 200, cc("max-age=60"), body=body)
        state_of(flow).failure = object()
        await proxy.cache.response(flow)
        assert proxy.held == ()


async def test_a_client_that_left_gets_nothing():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask()
    proxy.fail(flow, mitm_flow.Error.KILLED_MESSAGE)
    assert flow.response is None


# Large bodies


@pytest.mark.parametrize("length", [(), (("Content-Length", "2000"),)])
async def test_a_large_body_or_one_of_unknown_length_is_streamed_and_stored_at_the_end(length):
    proxy = Proxy()
    flow = await proxy.ask()
    proxy.begin(flow, 200, cc("max-age=60"), *length)
    assert callable(flow.response.stream)
    assert told(flow) == "linkmend;fwd=uri-miss;fwd-status=200;stored"
    for part in (b"x" * 1500, b"x" * 500, b""):
        flow.response.stream(part)
    assert not proxy.held
    await proxy.cache.response(flow)
    assert proxy.held[0].body == FileBody(path=Path("spooled"), size=2000)
    assert ("Content-Length", "2000") in proxy.held[0].headers


@pytest.mark.parametrize(
    ("asked", "kind", "kept"),
    [
        (NAVIGATION, "application/pdf", b"%PDF" * 500),
        ((), "application/pdf", None),
        (NAVIGATION, "video/mp4", None),
    ],
    ids=["file opened by a person", "file fetched by a script", "no readable file"],
)
async def test_the_bytes_of_a_streamed_file_are_at_hand_for_the_harvest(
    tmp_path, monkeypatch, asked, kind, kept
):
    monkeypatch.chdir(tmp_path)
    Path("spooled").write_bytes(b"%PDF" * 500)  # noqa: ASYNC240
    proxy = Proxy()
    flow = await proxy.ask(*asked)
    fields = (cc("max-age=60"), ("Content-Length", "2000"), ("Content-Type", kind))
    await proxy.say(flow, 200, *fields, body=b"%PDF" * 500)
    assert flow.response.stream
    assert body_of(flow) == kept


async def test_a_page_of_unknown_length_that_a_person_opens_is_held_back_for_the_repair():
    proxy = Proxy()
    flow = await proxy.ask(*NAVIGATION)
    proxy.begin(flow, 200)
    assert not flow.response.stream


async def test_a_small_body_is_not_streamed():
    flow = await Proxy().exchange(200, ("Content-Length", "5"))
    assert not flow.response.stream


async def test_what_cannot_be_stored_is_streamed_without_a_spool():
    proxy = Proxy()
    flow = await proxy.exchange(200, cc("no-store"))
    assert flow.response.stream is True
    too_long = await proxy.exchange(200, cc("max-age=60"), ("Content-Length", "6000"))
    assert too_long.response.stream is True
    assert not proxy.store.spools


async def test_a_body_cut_short_is_not_stored():
    proxy = Proxy()
    flow = await proxy.ask()
    proxy.begin(flow, 200, cc("max-age=60"))
    flow.response.stream(b"half")
    proxy.fail(flow, "connection closed")
    assert proxy.store.spools[0].abandoned
    assert not proxy.held


async def test_a_spool_that_gave_up_stores_nothing():
    proxy = Proxy()
    flow = await proxy.ask()
    proxy.begin(flow, 200, cc("max-age=60"))
    proxy.store.spools[0].abandon()
    await proxy.cache.response(flow)
    assert not proxy.held


async def test_a_large_hit_is_fetched_from_the_body_server():
    proxy = Proxy(large(cc("max-age=60"), TAG))
    flow = await proxy.ask(("Range", "bytes=10-19"))
    assert flow.response is None
    assert (flow.request.host, flow.request.port, flow.request.path) == ("127.0.0.1", 4321, "/offer")
    assert state_of(flow).original_url == url_of(flow) == URL
    assert [offered[1:] for offered in proxy.bodies.offered] == [(206, 10, 20)]
    proxy.begin(flow, 206, ("Content-Length", "10"), ("Server", "ours"))
    assert flow.response.stream is True
    assert "server" not in flow.response.headers
    assert flow.response.headers["content-range"] == "bytes 10-19/2000"
    assert told(flow) == "linkmend;hit;ttl=60"


async def test_when_its_file_is_gone_the_origin_is_asked():
    proxy = Proxy(large(cc("max-age=60")))
    proxy.bodies.gone = True
    flow = await proxy.ask()
    assert flow.response is None
    assert is_from_origin(flow)


async def test_a_file_that_was_renamed_meanwhile_is_found_again():
    proxy = Proxy(large(cc("max-age=60")))
    offer = proxy.bodies.offer

    async def renamed(body, **known):
        proxy.store.held[URL] = (large(cc("max-age=60")),)
        proxy.bodies.offer = offer

    proxy.bodies.offer = renamed
    flow = await proxy.ask()
    assert state_of(flow).answered_by is AnsweredBy.CACHE
    assert len(proxy.bodies.offered) == 1


async def asked_ahead(proxy, *headers):
    """A request about a large body in doubt, and the question that goes ahead of it."""
    waiting = asyncio.create_task(proxy.ask(*headers))
    while not proxy.replayed:
        await asyncio.sleep(0)
    own_request = proxy.replayed[0]
    await proxy.cache.request(own_request)
    return waiting, own_request


STALE_LARGE = {"received_s": -60}


async def test_a_large_body_in_doubt_is_asked_about_ahead():
    proxy = Proxy(large(cc("max-age=10"), TAG, **STALE_LARGE))
    waiting, own_request = await asked_ahead(proxy, ("Range", "bytes=0-9"))
    assert own_request.request.headers["if-none-match"] == '"a"'
    assert "range" not in own_request.request.headers
    await proxy.say(own_request, 304, cc("max-age=60"), body=b"")
    await waiting
    assert [offered[1:] for offered in proxy.bodies.offered] == [(206, 0, 10)]


async def test_when_it_has_changed_the_question_ends_and_the_request_goes_on():
    proxy = Proxy(large(cc("max-age=10"), TAG, **STALE_LARGE))
    waiting, own_request = await asked_ahead(proxy)
    own_request.live = True
    proxy.begin(own_request, 200, ("ETag", '"b"'))
    assert own_request.error.msg == mitm_flow.Error.KILLED_MESSAGE
    flow = await waiting
    assert flow.response is None
    assert "if-none-match" not in flow.request.headers
    assert not proxy.bodies.offered


async def test_a_crowd_about_a_large_body_is_released_once_it_was_asked_about():
    proxy = Proxy(large(cc("max-age=10"), TAG, **STALE_LARGE))
    waiting, own_request = await asked_ahead(proxy)
    follower = asyncio.create_task(proxy.ask())
    await asyncio.sleep(0)
    await proxy.say(own_request, 304, cc("max-age=60"), body=b"")
    await waiting
    await follower
    assert len(proxy.bodies.offered) == 2
    assert len(proxy.replayed) == 1


async def test_when_nobody_answers_it_stands_in():
    proxy = Proxy(large(cc("max-age=10"), TAG, **STALE_LARGE))
    waiting, own_request = await asked_ahead(proxy)
    proxy.fail(own_request)
    await waiting
    assert proxy.bodies.offered


async def test_without_mitmproxys_replay_the_request_goes_on_by_itself():
    def refuse(flow):
        raise exceptions.CommandError("unknown command")

    proxy = Proxy(large(cc("max-age=10"), TAG, **STALE_LARGE), replay=refuse)
    flow = await proxy.ask()
    assert flow.response is None
    assert not proxy.bodies.offered


# Behind the answer


def within_its_window():
    return a_stored(cc("max-age=10, stale-while-revalidate=100"), TAG, received_s=-60)


async def test_a_stale_answer_within_its_window_is_refreshed_behind_it():
    proxy = Proxy(within_its_window())
    assert told(await proxy.ask()) == "linkmend;hit;ttl=-50"
    assert (await proxy.ask()).response is not None
    (own_request,) = proxy.replayed
    assert own_request.request.headers["if-none-match"] == '"a"'
    await proxy.cache.request(own_request)
    assert own_request.response is None
    await proxy.say(own_request, 304, cc("max-age=60"), body=b"")
    assert told(await proxy.ask()) == "linkmend;hit;ttl=60"


async def test_a_refresh_that_fails_may_be_tried_again():
    proxy = Proxy(within_its_window())
    await proxy.ask()
    proxy.fail(proxy.replayed[0], "reset")
    await proxy.ask()
    assert len(proxy.replayed) == 2


# Many for the same thing


async def crowd(proxy, size=3):
    """One who leads and some who wait."""
    leader = await proxy.ask()
    followers = [asyncio.create_task(proxy.ask()) for _ in range(size)]
    await asyncio.sleep(0)
    assert not any(follower.done() for follower in followers)
    return leader, followers


async def test_a_crowd_costs_one_fetch():
    proxy = Proxy()
    leader, followers = await crowd(proxy)
    await proxy.say(leader, 200, cc("max-age=60"))
    for follower in followers:
        flow = await follower
        assert flow.response.raw_content == b"hello"
        assert told(flow) == "linkmend;fwd=uri-miss;ttl=60;collapsed"


@pytest.mark.parametrize("text", ["private", "no-store", "max-age=0", "no-cache"])
async def test_it_disperses_at_the_first_sign_that_there_is_nothing_to_share(text):
    proxy = Proxy()
    leader, followers = await crowd(proxy)
    proxy.begin(leader, 200, cc(text), TAG)
    for follower in followers:
        assert (await follower).response is None
    assert (await proxy.ask()).response is None


async def test_it_disperses_when_the_leader_fails():
    proxy = Proxy()
    leader, followers = await crowd(proxy, 1)
    proxy.fail(leader)
    assert (await followers[0]).response is None


async def test_a_crowd_about_a_stale_page_waits_for_one_304():
    proxy = Proxy(stale(TAG))
    leader, followers = await crowd(proxy)
    await proxy.say(leader, 304, cc("max-age=60"), body=b"")
    for follower in followers:
        assert (await follower).response.raw_content == b"hello world"


async def test_another_addons_answer_is_left_alone():
    proxy = Proxy(a_stored(cc("max-age=60")))
    flow = a_flow(response=(200, (), b"helper"))
    await proxy.cache.request(flow)
    await proxy.cache.response(flow)
    assert flow.response.raw_content == b"helper"
    assert told(flow) is None


async def test_a_change_of_protocol_passes_untouched():
    proxy = Proxy()
    flow = await proxy.ask(("Upgrade", "websocket"), ("Connection", "upgrade"))
    flow.response = a_flow(response=(101, (("Upgrade", "websocket"),), b"")).response
    before = flow.response.copy()
    proxy.cache.responseheaders(flow)
    await proxy.cache.response(flow)
    assert flow.response.headers == before.headers


# What one client must not do to another


def alices(*headers, **known):
    return a_stored(cc("max-age=60"), TAG, *headers, request=a_request(("Cookie", "alice")), **known)


async def test_another_persons_page_is_no_answer_even_under_the_same_tag():
    proxy = Proxy(alices(("Vary", "Cookie")))
    flow = await proxy.ask(("Cookie", "bob"))
    assert "if-none-match" not in flow.request.headers


async def contradicted(*headers, asked=(("Cookie", "bob"),)):
    """A request about another's variant, and the question that follows on a 304 with these headers."""
    proxy = Proxy(a_stored(cc("max-age=60"), TAG, ("Vary", "Foo"), request=a_request(("Foo", "1"))))
    flow = await proxy.ask(("Foo", "2"), *asked)
    proxy.begin(flow, 304, *headers, body=b"")
    answering = asyncio.create_task(proxy.cache.response(flow))
    for _ in range(10):
        await asyncio.sleep(0)
    assert proxy.replayed
    return proxy, flow, answering


@pytest.mark.parametrize("headers", [[("ETag", '"b"')], [TAG, ("Vary", "Cookie")]])
@pytest.mark.parametrize(("asked", "left"), [((), []), ((("Cookie", "bob"),), [b"hello world"])])
async def test_a_304_that_speaks_of_something_else_is_followed_by_a_plain_request(headers, asked, left):
    proxy, flow, answering = await contradicted(*headers, asked=asked)
    (own_request,) = proxy.replayed
    assert "if-none-match" not in own_request.request.headers
    await proxy.cache.request(own_request)
    await proxy.say(own_request, 200, cc("max-age=60, public"), ("Vary", "Foo"), body=b"for 2")
    await answering
    assert (flow.response.status_code, flow.response.raw_content) == (200, b"for 2")
    assert [stored.body for stored in proxy.held] == [
        b"for 2",
        *left,
    ]  # nobody's Cookie removes what is all's


async def test_when_that_fails_nobody_gets_what_is_anothers():
    proxy, flow, answering = await contradicted(("ETag", '"b"'))
    proxy.fail(proxy.replayed[0])
    await answering
    assert flow.response.status_code == 503
    assert b"hello world" not in flow.response.raw_content


async def test_a_large_variant_that_a_304_does_not_speak_of_is_not_served():
    held = large(cc("max-age=60"), TAG, ("Vary", "Foo"), request=a_request(("Foo", "1")))
    proxy = Proxy(held)
    waiting, own_request = await asked_ahead(proxy, ("Foo", "2"))
    await proxy.say(own_request, 304, ("ETag", '"b"'), body=b"")
    flow = await waiting
    assert not proxy.bodies.offered
    assert is_from_origin(flow)


@pytest.mark.parametrize("stored", [a_stored(cc("max-age=60")), large(cc("max-age=60")), stale(TAG)])
@pytest.mark.parametrize("offline", [False, True])
async def test_a_request_that_is_on_its_way_already_is_never_answered_by_us(stored, offline):
    proxy = Proxy(stored, offline=offline)
    flow = a_flow(headers=[("Transfer-Encoding", "chunked")])
    flow.request.stream = True
    await proxy.cache.request(flow)
    assert flow.response is None
    assert is_from_origin(flow)
    assert "if-none-match" not in flow.request.headers
    await proxy.say(flow, 200, cc("max-age=60"), body=b"evil")
    assert told(flow) == "linkmend;fwd=bypass;fwd-status=200"
    assert proxy.held == (stored,)


async def test_a_body_that_no_header_tells_of_is_noticed():
    """As HTTP/2 allows."""
    proxy = Proxy(a_stored(cc("max-age=60")))
    flow = a_flow()
    flow.request.headers = mitm_headers(())
    flow.request.raw_content = b"evil"
    await proxy.cache.request(flow)
    assert flow.response is None
    await proxy.say(flow, 200, cc("max-age=60"), body=b"evil")
    assert [stored.body for stored in proxy.held] == [b"hello world"]


@pytest.mark.parametrize("answer", [(200, "2000"), (206, "11"), (404, "0"), (206, None)])
async def test_what_is_not_the_file_that_was_offered_ends_the_connection(answer):
    proxy = Proxy(large(cc("max-age=60")))
    flow = await proxy.ask(("Range", "bytes=0-9"))
    flow.live = True
    status, length = answer
    proxy.begin(flow, status, *([("Content-Length", length)] if length else []))
    assert flow.error.msg == mitm_flow.Error.KILLED_MESSAGE
    assert not flow.response.stream


async def test_what_comes_from_elsewhere_is_not_the_file_that_was_offered():
    proxy = Proxy(large(cc("max-age=60")))
    flow = await proxy.ask()
    flow.live = True
    flow.server_conn = a_flow().server_conn
    proxy.begin(flow, 200, ("Content-Length", "2000"))
    assert flow.error.msg == mitm_flow.Error.KILLED_MESSAGE


async def test_the_body_server_gets_no_more_headers_than_it_needs():
    proxy = Proxy(large(cc("max-age=60")))
    asked = (("Host", "school.test"), ("X-Big", "a" * 100_000), ("Cookie", "a=b"), ("Connection", "x, Close"))
    flow = await proxy.ask(*asked)
    assert state_of(flow).answered_by is AnsweredBy.CACHE
    assert dict(flow.request.headers) == {"Host": "school.test", "Connection": "close"}


async def test_a_fragment_is_not_sent_on():
    flow = await Proxy().ask(url="http://school.test/page?a=b#evil")
    assert flow.request.path == "/page?a=b"
    behind = Proxy(within_its_window())
    await behind.ask(url=URL + "#evil")
    assert behind.replayed[0].request.path == "/page"


async def test_a_cookie_set_by_a_304_is_this_clients_and_nobody_elses():
    proxy = Proxy(stale(TAG))
    flow = await proxy.ask()
    await proxy.say(flow, 304, cc("max-age=60"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), body=b"")
    assert flow.response.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert "set-cookie" not in (await proxy.ask()).response.headers


async def test_so_is_one_set_when_a_large_body_was_asked_about():
    proxy = Proxy(large(cc("max-age=10"), TAG, **STALE_LARGE))
    waiting, own_request = await asked_ahead(proxy)
    await proxy.say(own_request, 304, cc("max-age=60"), ("Set-Cookie", "a=1"), body=b"")
    flow = await waiting
    proxy.begin(flow, 200, ("Content-Length", "2000"))
    assert flow.response.headers["set-cookie"] == "a=1"
    other = await proxy.ask()
    proxy.begin(other, 200, ("Content-Length", "2000"))
    assert "set-cookie" not in other.response.headers


async def test_a_shared_page_that_a_304_confirmed_to_somebody_with_a_cookie_is_kept():
    proxy = Proxy(stale(TAG, ("Content-Type", "text/html")))
    flow = await proxy.ask(("Cookie", "bob"))
    await proxy.say(flow, 304, cc("max-age=60"), ("X-User", "bob"), body=b"")
    assert flow.response.headers["x-user"] == "bob"
    after = await proxy.ask()
    assert told(after) == "linkmend;hit;ttl=10"
    assert "x-user" not in after.response.headers


@pytest.mark.parametrize("odd", [("X-Forwarded-Host", "evil.test"), ("Authorization", "Basic eA==")])
async def test_a_304_to_a_request_that_could_not_be_stored_changes_nothing(odd):
    proxy = Proxy(stale(TAG, ("Content-Type", "text/html")))
    flow = await proxy.ask(odd)
    await proxy.say(flow, 304, cc("max-age=60"), ("Link", "<http://evil.test/>"), body=b"")
    assert flow.response.status_code == 200
    after = await proxy.ask()
    assert after.response is None
    await proxy.say(after, 304, cc("max-age=60"), body=b"")
    assert "link" not in after.response.headers
    assert told(await proxy.ask()) == "linkmend;hit;ttl=60"


async def test_a_small_answer_on_a_connection_that_turns_out_doubtful_is_not_stored():
    proxy = Proxy()
    flow = await proxy.ask()
    proxy.begin(flow, 200, cc("max-age=60"), ("Content-Length", "5"))
    assert flow.response.headers["Cache-Status"].endswith(";stored")
    state_of(flow).is_doubtful = True
    await proxy.cache.response(flow)
    assert not proxy.held


async def test_a_small_page_that_has_changed_is_stored_when_it_is_whole():
    proxy = Proxy(a_stored(cc("max-age=5"), TAG, received_s=-10))
    flow = await proxy.exchange(200, cc("max-age=60"), ("Content-Length", "5"))
    assert not flow.response.stream
    assert [stored.body for stored in proxy.held] == [b"hello"]


# Parts of pages that everybody is sent alike, and asks for with a Cookie

PICTURE = ("Content-Type", "image/png")


async def with_cookie(proxy, client, *headers, body=b"hello", asked=(), **known):
    """A client's exchange with a Cookie of its own."""
    flow = await proxy.ask(("Cookie", f"id={client}"), *asked, **known)
    if flow.response is None:
        flow.client_conn.peername = (client, 4000)
        await proxy.say(flow, 200, *headers, body=body)
    return flow


async def test_what_two_clients_were_sent_alike_with_cookies_is_asked_for_without_one_and_then_shared():
    proxy, fresh = Proxy(), cc("max-age=60")
    for client in ("10.0.0.1", "10.0.0.2"):
        await with_cookie(proxy, client, fresh, PICTURE, asked=[("Accept", "image/png,*/*"), ("DNT", "1")])
    assert not proxy.held
    (question,) = proxy.replayed
    assert [name for name, _ in question.request.headers.items()] == ["Accept", "DNT"]
    await proxy.say(question, 200, fresh, PICTURE)
    assert told(await with_cookie(proxy, "10.0.0.3")) == "linkmend;hit;ttl=60"


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (200, (cc("max-age=60"), PICTURE), b"sign in"),
        (200, (cc("max-age=60"), PICTURE, ("Set-Cookie", "id=1")), b"hello"),
        (403, (cc("max-age=60"), PICTURE), b"hello"),
        (200, (cc("public, max-age=60"), PICTURE), b"sign in"),
    ],
)
async def test_what_is_sent_otherwise_without_a_cookie_is_not_stored(status, headers, body):
    proxy = Proxy()
    for client in ("10.0.0.1", "10.0.0.2"):
        await with_cookie(proxy, client, cc("max-age=60"), PICTURE)
    await proxy.say(proxy.replayed[0], status, *headers, body=body)
    assert not [stored for stored in proxy.held if stored.body == b"hello" and stored.status == 200]
    assert not [stored for stored in proxy.held if stored.body == b"sign in"]
    for client in ("10.0.0.3", "10.0.0.4"):
        assert "hit" not in told(await with_cookie(proxy, client, cc("max-age=60"), PICTURE))
    assert len(proxy.replayed) == 1


@pytest.mark.parametrize(
    ("clients", "headers", "bodies", "known"),
    [
        (("10.0.0.1", "10.0.0.1"), (PICTURE,), (b"a", b"a"), {}),
        (("10.0.0.1", "10.0.0.2"), (PICTURE,), (b"a", b"b"), {}),
        (("10.0.0.1", "10.0.0.2"), (PICTURE, ("Vary", "Cookie")), (b"a", b"a"), {}),
        (("10.0.0.1", "10.0.0.2"), (PICTURE, ("Cache-Control", "private")), (b"a", b"a"), {}),
        (("10.0.0.1", "10.0.0.2"), (("Content-Type", "text/html"),), (b"a", b"a"), {}),
        (("10.0.0.1", "10.0.0.2"), (("Content-Type", "application/json"),), (b"a", b"a"), {}),
        (("10.0.0.1", "10.0.0.2"), (PICTURE,), (b"a", b"a"), {"url": f"{URL}?token=8Hq2xV9wLr4TzB7n"}),
        (("10.0.0.1", "10.0.0.2"), (PICTURE,), (b"a" * 2000, b"a" * 2000), {}),
    ],
    ids=["one client", "other bytes", "vary", "private", "page", "data", "secret", "large"],
)
async def test_nothing_else_is_asked_for_without_a_cookie(clients, headers, bodies, known):
    proxy = Proxy()
    for client, body in zip(clients, bodies, strict=True):
        await with_cookie(proxy, client, cc("max-age=60"), *headers, body=body, **known)
    assert not proxy.replayed
