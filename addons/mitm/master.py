"""A lean mitmproxy: only the addons that a proxy needs, and direct calls of their hooks.

mitmdump loads about thirty addons and calls all of them for every hook of every request, which takes about half of
its time. We load five of mitmproxy's own besides linkmend's, and keep a table from hook to handlers.
`LeanAddons.trigger_event` does the same as mitmproxy's, for addons without children.

A hook that is a coroutine costs a task. An addon that seldom has to wait may have a plain method as well,
`request_now` for `request`, that does the work if it can be done at once, and returns whether it did. If not, it must
have changed nothing: then the coroutine is called.
"""

import asyncio
import errno
import inspect
import logging
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from mitmproxy import connection, exceptions, flow, hooks, master, options
from mitmproxy.addonmanager import AddonManager
from mitmproxy.proxy.server import ConnectionHandler

from addons.mitm import balancers, inlinehooks, watchdog
from addons.mitm.certificates import FastTls
from addons.mitm.dns import DnsLookups
from addons.mitm.listening import listen_on_both
from addons.mitm.nextlayer import PatientNextLayer
from addons.mitm.ownaddons import clientplayback, core, proxyserver, tlsconfig
from proxy.errors import StartError
from proxy.eventloops import is_cancelled
from proxy.settings import ProxySettings, split_address
from proxy.tls.authority import ensure_authority
from proxy.tls.certificates import keep_key_private, trusted_file
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

_BEGUN = "linkmend_begun"
_SENT_S = 0.05  # from the last hook of an answer to its bytes in the socket's buffer
_PARTING_S = 2.0
_NO_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def mitmproxy_options(settings: ProxySettings, confdir: str) -> dict[str, Any]:
    """mitmproxy's options, set from ours, besides where it listens. Raises SettingsError for a bad `trusted_ca`."""
    return {
        # A dead https host must reach our hooks as a request, not fail at CONNECT.
        "connection_strategy": "lazy",
        "http2": settings.http2,
        "http3": False,
        # Frames pass as they are: mitmproxy would hold a message until it is whole, however large, answer the end of
        # a conversation itself, and make new frames of all others.
        "websocket": False,
        "ssl_insecure": not settings.verify_origins,
        "ssl_verify_upstream_trusted_ca": trusted_file(settings.trusted_ca, Path(confdir).expanduser()),
        "client_replay_concurrency": -1,
    }


def mode_at(settings: ProxySettings) -> str:
    """mitmproxy's mode with where it listens in it: a change of that alone would not be noticed on a reload."""
    if "@" in settings.mode:
        return settings.mode
    host, port = split_address(settings.listen)
    if settings.mode == "transparent" and host == "0.0.0.0":  # noqa: S104
        # What a router redirects comes by IPv6 as well: on no host in particular, both are listened on.
        return f"{settings.mode}@{port}"
    return f"{settings.mode}@{host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Handler:
    """`waits` when it is a coroutine; `now` may spare us that."""

    run: Callable[..., Any]
    waits: bool
    now: Callable[..., bool] | None

    @property
    def name(self) -> str:
        return str(getattr(self.run, "__qualname__", self.run))


class LeanAddons(AddonManager):
    """An addon manager that remembers which handlers each hook has."""

    def __init__(self, owner: master.Master) -> None:
        super().__init__(owner)
        self._table: dict[str, tuple[_Handler, ...]] = {}
        self._has_ended = False

    def end(self) -> None:
        """Call no hook any more: the stores that addons use are about to be closed. Running hooks are cancelled."""
        self._has_ended = True

    def add(self, *addons: Any) -> None:
        super().add(*addons)
        self._table.clear()

    def remove(self, addon: Any) -> None:
        super().remove(addon)
        self._table.clear()

    async def handle_lifecycle(self, event: hooks.Hook) -> None:
        """Without the `update` hook that mitmproxy calls after every other: it is for user interfaces."""
        await self.trigger_event(event)

    def begin(self, event: hooks.Hook) -> bool:
        """Call the handlers that need not wait, up to the first that must; whether that was all of them.

        What is left is called by `trigger_event` for the same event. A second call for the same event does nothing.
        """
        if _BEGUN in vars(event):
            return False
        args = _args(event)
        if self._has_ended:
            _cut_off(args)
            return True
        for number, handler in enumerate(self._handlers(event)):
            try:
                if not handler.waits:
                    handler.run(*args)
                elif handler.now is None or not handler.now(*args):
                    vars(event)[_BEGUN] = number
                    return False
            except exceptions.AddonHalt:
                return True
            except Exception:  # noqa: BLE001  (whatever fails in one addon, the user's request goes on)
                self._tell(event, handler)
        return True

    async def trigger_event(self, event: hooks.Hook) -> None:
        args = _args(event)
        if self._has_ended:
            _cut_off(args)
            return
        begun = vars(event).pop(_BEGUN, None)
        for number, handler in enumerate(self._handlers(event)[begun or 0 :]):
            try:
                was_tried = begun is not None and number == 0
                if handler.now is not None and not was_tried and handler.now(*args):
                    continue
                result = handler.run(*args)
                if result is not None and inspect.isawaitable(result):
                    await result
            except exceptions.AddonHalt:
                return
            except exceptions.OptionsError:
                raise
            except Exception:  # noqa: BLE001  (as above)
                self._tell(event, handler)

    def _tell(self, event: hooks.Hook, handler: _Handler) -> None:
        if self._has_ended:
            log.debug("hook %s cancelled in %s", event.name, handler.name)
        else:
            log.exception("hook %s failed in %s", event.name, handler.name)

    def _handlers(self, event: hooks.Hook) -> tuple[_Handler, ...]:
        handlers = self._table.get(event.name)
        if handlers is None:
            handlers = self._table[event.name] = tuple(
                _Handler(
                    run=run,
                    waits=inspect.iscoroutinefunction(run),
                    now=getattr(addon, f"{event.name}_now", None),
                )
                for addon in self.chain
                for _, run in self._iter_hooks(addon, event)
            )
        return handlers


def _args(event: hooks.Hook) -> list[Any]:
    """As mitmproxy's `Hook.args`, which asks the dataclass for its fields each time."""
    names = _FIELDS.get(type(event))
    if names is None:
        names = _FIELDS[type(event)] = tuple(each.name for each in fields(event))  # type: ignore[arg-type]
    return [getattr(event, name) for name in names]


_FIELDS: dict[type[hooks.Hook], tuple[str, ...]] = {}


def _cut_off(args: Sequence[Any]) -> None:
    """A request that no addon has seen must not go on: rules and limits would not hold for it."""
    for arg in args:
        if isinstance(arg, flow.Flow) and arg.killable:
            arg.kill()  # type: ignore[no-untyped-call]


class _Inline:
    """Has the hooks of every connection begun where they arise."""

    def __init__(self, owner: "LeanMaster", begin: inlinehooks.Begin) -> None:
        self._owner = owner
        self._begin = begin

    def client_connected(self, client: connection.Client) -> None:
        inlinehooks.run_inline(self._owner.handler_of(client), client, self._begin)


class LeanMaster(master.Master):
    """mitmproxy with our addons, listening as the settings say."""

    def __init__(self, settings: ProxySettings, confdir: str, addons: Sequence[Any]) -> None:
        _make_authority(Path(confdir).expanduser())
        super().__init__(options.Options(confdir=confdir))
        self._confdir = confdir
        self._settings = settings
        self._exhausted = RateLimitedLogger(log)
        self.options.changed.disconnect(self.addons._configure_all)
        self.addons = self._lean = LeanAddons(self)
        self.addons.add(
            core.Core(),
            clientplayback.ClientPlayback(),
            proxyserver.Proxyserver(),
            PatientNextLayer(),
            FastTls(),
            *addons,
            _Inline(self, self._lean.begin),
        )
        listen_on_both()
        self.apply(settings)

    def apply(self, settings: ProxySettings) -> None:
        """Set mitmproxy's options from ours; safe while running. Raises StartError for a mode it does not know."""
        chosen = mitmproxy_options(settings, self._confdir)
        watchdog.allow(settings.idle_timeout_s)
        balancers.trust(settings.balancers)
        try:
            self.options.update(mode=[mode_at(settings)], **chosen)
        except exceptions.OptionsError as error:
            raise StartError(f"proxy.mode: {error}") from error

    async def reapply(self, settings: ProxySettings) -> None:
        """Change settings while running; raises StartError, and keeps the old ones, when it could not listen then."""
        self.apply(settings)
        await self._proxyserver.setup_servers()
        try:
            self.listening_on()
        except StartError:
            self.apply(self._settings)
            await self._proxyserver.setup_servers()
            raise
        self._settings = settings

    @property
    def _proxyserver(self) -> proxyserver.Proxyserver:
        return self.addons.get("proxyserver")  # type: ignore[no-any-return]

    def handler_of(self, client: connection.Client) -> ConnectionHandler | None:
        """mitmproxy's handler of a client's connection; None when it is gone."""
        return self._proxyserver.connections.get(client.id)

    def listening_on(self) -> str:
        """The address browsers use, as HOST:PORT; raises StartError when nothing listens."""
        addresses = self._proxyserver.listen_addrs()
        if not addresses:
            mode = self.options.mode[0]
            # mitmproxy wraps the reason in a sentence of its own, and keeps the number.
            failed = (server.last_exception for server in self._proxyserver.servers)
            number = next((each.errno for each in failed if isinstance(each, OSError) and each.errno), None)
            why = f": [Errno {number}] {os.strerror(number)}" if number else ""
            raise StartError(f"cannot listen on {mode.rpartition('@')[2]}{why}")
        host, port = addresses[0][:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def serve(
        self,
        *,
        ready: Callable[[], None],
        in_flight: Callable[[], int],
        grace_s: float,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        """Run until SIGTERM or SIGINT; then `leave`, accept no more clients, let responses finish, and end."""
        loop = asyncio.get_running_loop()
        self._load_authority()
        lookups = DnsLookups()
        lookups.install(loop)
        stop = asyncio.Event()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, stop.set)
        running = asyncio.create_task(self.run())
        stopping = asyncio.create_task(self._stop_when(stop, leave, in_flight, grace_s))
        try:
            await self._wait_for_start(running)
            ready()
            await running
        finally:
            stopping.cancel()
            lookups.close()
            self._lean.end()

    def _load_authority(self) -> None:
        """Load it. mitmproxy would start without its certificate authority, and every https page would fail."""
        file = Path(self._confdir).expanduser() / f"{tlsconfig.CONF_BASENAME}-ca.pem"
        try:
            for loose in keep_key_private(file.parent):
                log.warning(
                    "%s was readable by other users; permissions fixed, but the key may have leaked", loose
                )
            # mitmproxy does so after it has begun to listen: clients that wait already would find no certificate.
            self.addons.get("tlsconfig").configure(("confdir",))
        except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
            why = str(error).partition("\n")[0]
            advice = "restore it from a backup, or delete it to create a new one that all devices must trust"
            raise StartError(f"{file}: no valid CA certificate and key ({why}): {advice}") from error

    def _asyncio_exception_handler(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """asyncio tells a hundred times of one connection that it could not accept, and tries again in a second."""
        error = context.get("exception")
        if is_cancelled(context):
            return
        if isinstance(error, OSError) and error.errno in _NO_RESOURCES:
            self._exhausted.warning("cannot accept connections: %s", error.strerror)
        else:
            super()._asyncio_exception_handler(loop, context)

    async def _wait_for_start(self, running: asyncio.Task[None]) -> None:
        server = self._proxyserver
        while not server.is_running and not running.done():
            await asyncio.sleep(0.01)
        if running.done():
            await running
        try:
            self.listening_on()
        except StartError:
            self.shutdown()
            await running
            raise

    async def _stop_when(
        self, stop: asyncio.Event, leave: Callable[[], None], in_flight: Callable[[], int], grace_s: float
    ) -> None:
        await stop.wait()
        log.info("stopping: %d responses in flight", in_flight())
        leave()
        await self._proxyserver.servers.update([])
        await _until(lambda: in_flight() == 0, timeout_s=grace_s)
        await asyncio.sleep(_SENT_S)
        await _until(lambda: not self._unsent(), timeout_s=grace_s)
        await self._hang_up()
        self.shutdown()

    async def _hang_up(self) -> None:
        """End the connections that are left, idle ones and tunnels: asyncio would do it with a trace for each."""
        connections = self._proxyserver.connections
        for handler in tuple(connections.values()):
            for io in tuple(handler.transports.values()):
                if io.handler is not None:
                    io.handler.cancel("stopping")
        await _until(lambda: not connections, timeout_s=_PARTING_S)

    def _unsent(self) -> bool:
        """Whether bytes of finished answers still wait in a socket's buffer."""
        return any(
            isinstance(io.writer, asyncio.StreamWriter) and io.writer.transport.get_write_buffer_size() > 0
            for handler in self._proxyserver.connections.values()
            for io in handler.transports.values()
        )


def _make_authority(folder: Path) -> None:
    """Before mitmproxy would, which makes one of another kind. Raises StartError."""
    try:
        ensure_authority(folder)
    except OSError as error:
        raise StartError(f"{folder}: cannot create the certificate authority: {error}") from error


async def _until(is_true: Callable[[], bool], *, timeout_s: float) -> None:
    """Wait for a condition that nobody signals; polled, since it is only used while stopping."""
    try:
        async with asyncio.timeout(timeout_s):
            while not is_true():
                await asyncio.sleep(0.02)
    except TimeoutError:
        log.warning("stopping: gave up on responses in flight after %.0f s", timeout_s)
