"""addons.mitm.inlinehooks and LeanAddons.begin: hooks that need not wait are run where they arise."""

import asyncio
from types import SimpleNamespace

import pytest
from mitmproxy import options
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpRequestHook

from addons.mitm import fasterheaders
from addons.mitm.inlinehooks import BEGIN, InlineHooks, join_hooks, run_inline
from addons.mitm.master import LeanAddons, LeanMaster
from addons.mitm.streams import AnsweringStream
from proxy.settings import ProxySettings


class Waiting(layer.Layer):
    """Has a hook called and says something when that is done."""

    def __init__(self):
        self._paused, self._paused_event_queue = None, []
        self.context = SimpleNamespace(client="client")

    def _handle_event(self, event):
        yield HttpRequestHook("flow")
        yield commands.Log("done")


def what_comes_of(begin):
    return [type(command) for command in InlineHooks(Waiting(), begin).handle_event(events.Start())]


def test_a_hook_that_is_done_at_once_never_leaves_the_layers():
    assert what_comes_of(lambda hook: True) == [commands.Log]


def test_a_hook_that_has_to_wait_goes_to_the_handler():
    assert what_comes_of(lambda hook: False) == [HttpRequestHook]


def test_only_the_clients_own_connection_is_changed():
    top = Waiting()
    handler = SimpleNamespace(client="somebody", layer=top)
    run_inline(handler, "another", lambda hook: True)
    assert handler.layer is top
    run_inline(handler, "somebody", lambda hook: True)
    assert isinstance(handler.layer, InlineHooks)
    assert handler.layer.context is top.context


class Prompt:
    def __init__(self, told, name):
        self._told, self._name = told, name

    def request(self, flow):
        self._told.append(self._name)


class Failing(Prompt):
    def request(self, flow):
        raise ValueError("a bug")


class Late(Prompt):
    async def request(self, flow):
        await asyncio.sleep(0)
        self._told.append(self._name)


class Seldom(Late):
    """Waits only when it has to."""

    has_to = False

    def request_now(self, flow):
        return not self.has_to


@pytest.fixture
def told():
    return []


def called(tmp_path, told, *addons):
    """Whether all of a hook was done at once; then the rest of it is done."""

    async def within():
        master = LeanMaster(ProxySettings(), str(tmp_path), [])
        lean = LeanAddons(master)
        lean.chain = list(addons)
        hook = HttpRequestHook("flow")
        at_once = lean.begin(hook)
        before = list(told)
        if not at_once:
            await lean.trigger_event(hook)
        return at_once, before

    return asyncio.run(within())


def test_handlers_are_called_up_to_the_first_that_waits_and_each_once(tmp_path, told):
    addons = [Prompt(told, "a"), Late(told, "b"), Prompt(told, "c")]
    assert called(tmp_path, told, *addons) == (False, ["a"])
    assert told == ["a", "b", "c"]


def test_who_asks_again_on_the_way_begins_nothing(tmp_path, told):
    """A stream asks first, then whoever stands above all layers."""

    async def within():
        lean = LeanAddons(LeanMaster(ProxySettings(), str(tmp_path), []))
        lean.chain = [Prompt(told, "a"), Late(told, "b")]
        hook = HttpRequestHook("flow")
        assert not lean.begin(hook)
        assert not lean.begin(hook)
        await lean.trigger_event(hook)

    asyncio.run(within())
    assert told == ["a", "b"]


def test_who_need_not_wait_this_time_does_not(tmp_path, told):
    assert called(tmp_path, told, Prompt(told, "a"), Seldom(told, "b"), Prompt(told, "c")) == (
        True,
        ["a", "c"],
    )


def test_who_has_to_wait_this_time_is_called_as_ever(tmp_path, told):
    waiting = Seldom(told, "b")
    waiting.has_to = True
    assert called(tmp_path, told, waiting, Prompt(told, "c")) == (False, [])
    assert told == ["b", "c"]


def test_one_that_fails_does_not_keep_the_others_from_being_called(tmp_path, told, caplog):
    assert called(tmp_path, told, Failing(told, "a"), Prompt(told, "b")) == (True, ["b"])
    assert "hook request failed in Failing.request" in caplog.text


def pieces(*commands_):
    return [
        (command.connection, command.data) if isinstance(command, commands.SendData) else command.message
        for command in join_hooks(commands_)
    ]


def test_pieces_for_one_connection_that_follow_each_other_are_sent_in_one_go():
    send = commands.SendData
    assert pieces(send("a", b"head "), send("a", b"body"), send("b", b"x"), send("a", b"next")) == [
        ("a", b"head body"),
        ("b", b"x"),
        ("a", b"next"),
    ]


def test_nothing_overtakes_what_is_to_be_sent():
    send = commands.SendData
    told = pieces(commands.Log("1"), send("a", b"2"), commands.Log("3"), send("a", b"4"))
    assert told == ["1", ("a", b"2"), "3", ("a", b"4")]


def test_what_was_sent_before_a_layer_failed_is_sent():
    def steps():
        yield commands.SendData("a", b"head")
        raise ValueError("a bug")

    told = join_hooks(steps())
    assert next(told).data == b"head"
    with pytest.raises(ValueError, match="a bug"):
        next(told)


def test_large_pieces_are_not_copied():
    large = bytes(200_000)
    assert pieces(commands.SendData("a", b"head"), commands.SendData("a", large)) == [
        ("a", b"head"),
        ("a", large),
    ]


class Stream(AnsweringStream):
    """Has two hooks called, and says what became of it."""

    def _handle_event(self, event):
        yield HttpRequestHook("first")
        yield commands.Log("between")
        yield HttpRequestHook("second")
        yield commands.Log("done")


def what_a_stream_says(begin):
    context = Context(Client(peername=("10.0.0.9", 1), sockname=("10.0.0.1", 8080)), options.Options())
    vars(context)[BEGIN] = begin
    stream = Stream(fasterheaders.fork(context), 1)
    told = list(stream.handle_event(events.Start()))
    while stream._paused:
        told += list(stream.handle_event(events.HookCompleted(told[-1])))
    return [each.message if isinstance(each, commands.Log) else each.flow for each in told]


def test_a_stream_goes_on_at_once_after_hooks_that_need_not_wait():
    assert what_a_stream_says(lambda hook: True) == ["between", "done"]


def test_a_stream_waits_for_a_hook_that_has_to():
    assert what_a_stream_says(lambda hook: False) == ["first", "between", "second", "done"]
    assert what_a_stream_says(lambda hook: hook.flow == "first") == ["between", "second", "done"]


def test_layers_that_only_hand_on_are_left_out_once_the_next_one_is_chosen():
    client = Client(peername=("10.0.0.9", 1), sockname=("10.0.0.1", 8080), state=ConnectionState.OPEN)
    context = Context(client, options.Options())

    def choose(hook):
        hook.data.layer = HttpLayer(hook.data.context, HTTPMode.regular)
        return True

    top = InlineHooks(modes.HttpProxy(context), choose)
    for event in (
        events.Start(),
        *(events.DataReceived(client, part) for part in (b"GET http", b"://a", b"/")),
    ):
        assert list(top.handle_event(event)) == []
    assert isinstance(top._top, HttpLayer)
    assert bytes(top._top.connections[client].buf) == b"GET http://a/"


def test_who_need_not_wait_does_not_behind_one_that_does(tmp_path, told):
    addons = [Late(told, "a"), Seldom(told, "b"), Prompt(told, "c")]
    assert called(tmp_path, told, *addons) == (False, [])
    assert told == ["a", "c"]
