"""A client's connection without a network: bytes into one of mitmproxy's HTTP layers, and what comes of them."""

import inspect

from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.mode_specs import ProxyMode


class Wire:
    """`addons` are asked in order; origins cannot be reached, and it is noted that one was wanted.

    With `tunnel` the client has already asked for a connection to that (host, port), by https unless `tls` is False.
    """

    def __init__(self, options, addons, *, mode="regular", tunnel=None, sni=None, tls=True):
        self.addons = addons
        self.client = Client(
            peername=("10.0.0.9", 51000),
            sockname=("10.0.0.1", 8080),
            timestamp_start=0,
            proxy_mode=ProxyMode.parse(mode),
            state=ConnectionState.OPEN,
        )
        context = Context(self.client, options)
        if tunnel is not None:
            context.server = Server(address=tunnel)
            self.client.tls = context.server.tls = tls
            self.client.sni = sni
        self.layer = HttpLayer(context, HTTPMode.regular if tunnel is None else HTTPMode.transparent)
        self.sent = b""
        self.wanted = []
        self.closed = False
        self.hooks = []

    async def start(self):
        await self._feed(events.Start())
        return self

    async def receive(self, data):
        """What is sent to the client in return."""
        before = len(self.sent)
        if not self.closed:
            await self._feed(events.DataReceived(self.client, data))
        return self.sent[before:]

    async def _feed(self, event):
        waiting = [event]
        while waiting:
            commanded = list(self.layer.handle_event(waiting.pop(0)))
            for command in commanded:
                waiting += await self._obeyed(command)

    async def _obeyed(self, command):
        if isinstance(command, commands.SendData):
            self.sent += command.data
        elif isinstance(command, commands.OpenConnection):
            self.wanted.append(command.connection.address)
            return [events.OpenConnectionCompleted(command, "out of reach")]
        elif isinstance(command, commands.CloseConnection):
            self.closed = self.closed or command.connection is self.client
        elif isinstance(command, commands.StartHook):
            self.hooks.append(command.name)
            await self._trigger(command)
            return [events.HookCompleted(command)] if command.blocking else []
        return []

    async def _trigger(self, hook):
        for addon in self.addons:
            handler = getattr(addon, hook.name, None)
            result = handler(*hook.args()) if handler is not None else None
            if inspect.isawaitable(result):
                await result
