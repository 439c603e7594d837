import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.misses.record import MissRecord
from proxy.privacy.suppressed import SuppressedPage
from proxy.rpc import wire
from proxy.rpc.methods import methods_of
from proxy.rpc.protocol import (
    ArchiveService,
    BrowseService,
    ClientEvents,
    CollectionService,
    HarvestService,
    MissLogService,
)
from repair.collection.pagesearch import SearchResults
from repair.model import Alternative, MissKind, Span
from tests.make import A_MOMENT, a_broken_link, a_page

LINK = a_broken_link(anchor="Marmots", source_url="http://school.test/")
PAGE = SuppressedPage(kind=MissKind.SOFT_404, missed="http://a.test/x", url="http://a.test/", sketch=(1, 2))
CALLS = (
    (MissLogService, "record", (MissRecord(id="a", at=A_MOMENT, url="http://a.test/", kind=MissKind.GONE),)),
    (MissLogService, "record_choice", ("a", 3, "b", "c")),
    (HarvestService, "offer", (a_page(body=b"\x00\xff"),)),
    (ArchiveService, "note", ("a", "b", LINK, True)),
    (ClientEvents, "page_suppressed", ("a", "b", PAGE)),
)


class Anything:
    """Returns the arguments of whichever method is called."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: (*args, *kwargs.values())


def method(service, name):
    return next(each for each in methods_of(service) if each.attribute == name)


def arrive(service, name, arguments):
    """The arguments of a notification at the other side."""
    remote = method(service, name)
    message = wire.TO_BACKEND.decode(wire.encode(wire.Call(remote.name, arguments)))
    assert message.method == remote.name
    return remote.call(Anything(), message.arguments)


@pytest.mark.parametrize(("service", "name", "arguments"), CALLS)
def test_arguments_arrive_as_they_were_given(service, name, arguments):
    assert arrive(service, name, arguments) == arguments


def test_results_arrive_with_numbers_of_numpy():
    found = Alternative(
        url="http://a.test/", title="A", snippet=(Span(text="a", marked=True),), score=np.float64(0.5)
    )
    message = wire.TO_WORKER.decode(wire.encode(wire.Reply(1, SearchResults(found=(found,)))))
    assert method(BrowseService, "find").read_result(message.value) == SearchResults(found=(found,))


def test_a_result_of_nothing_arrives():
    message = wire.TO_WORKER.decode(wire.encode(wire.Reply(1, None)))
    assert method(CollectionService, "copy").read_result(message.value) is None


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_text_can_be_sent(text):
    arrived = arrive(HarvestService, "note_redirect", (f"http://a.test/{text}", text))
    assert arrived[1] == text.encode("utf-8", "replace").decode()


def test_halves_of_surrogate_pairs_in_a_page_do_not_keep_its_bytes_from_being_sent():
    page = a_page(body=b"\xff\xfe", headers=(("X-Name", "caf\udce9"),))
    (arrived,) = arrive(HarvestService, "offer", (page,))
    assert (arrived.body, arrived.fetched_at) == (page.body, page.fetched_at)


def test_what_is_too_large_is_not_sent():
    with pytest.raises(wire.MessageTooLarge):
        wire.encode(wire.Call("HarvestService.offer", (a_page(body=bytes(wire.MAX_BYTES)),)))


class Peer:
    """Takes messages; while it is `slow`, the sender waits once a message is written, as aiohttp has it."""

    def __init__(self, *, slow=False):
        self.got = []
        self.reads = asyncio.Event()
        if not slow:
            self.reads.set()

    async def send(self, data):
        self.got.append(data)
        await self.reads.wait()


async def test_a_message_is_sent_in_the_moment_it_is_put():
    outbox, peer = wire.Outbox(), Peer()
    outbox.attach(peer.send)
    assert outbox.put(b"1", limit=9)
    assert (peer.got, outbox.size) == ([b"1"], 0)


async def test_what_a_slow_peer_has_not_read_waits_within_bounds_and_follows_in_order():
    outbox, peer = wire.Outbox(), Peer(slow=True)
    outbox.attach(peer.send)
    assert [outbox.put(b"12%d" % number, limit=9) for number in range(4)] == [True, True, True, False]
    await asyncio.sleep(0.01)
    assert (peer.got, outbox.size) == ([b"120"], 9)
    peer.reads.set()
    await outbox.wait_sent()
    assert (peer.got, outbox.size) == ([b"120", b"121", b"122"], 0)
    outbox.put(b"again", limit=9)
    assert peer.got[-1] == b"again"


async def test_what_was_not_sent_waits_for_the_next_connection():
    outbox, slow, peer = wire.Outbox(), Peer(slow=True), Peer()
    outbox.attach(slow.send)
    for number in range(3):
        outbox.put(b"%d" % number, limit=9)
    await asyncio.sleep(0.01)
    outbox.detach()
    outbox.put(b"3", limit=9)
    await asyncio.sleep(0.01)
    outbox.attach(peer.send)
    await outbox.wait_sent()
    assert (slow.got, peer.got, outbox.size) == ([b"0"], [b"1", b"2", b"3"], 0)


async def test_a_broken_connection_costs_the_message_at_hand():
    async def broken(data):
        raise ConnectionResetError

    outbox, peer = wire.Outbox(), Peer()
    outbox.put(b"waits", limit=9)
    outbox.attach(broken)
    await outbox.wait_sent()
    outbox.detach()
    outbox.attach(broken)
    outbox.put(b"lost", limit=9)
    assert outbox.size == 0
    outbox.detach()
    outbox.put(b"kept", limit=9)
    outbox.attach(peer.send)
    await outbox.wait_sent()
    assert peer.got == [b"kept"]
