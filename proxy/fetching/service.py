"""The parts of fetching put together, started and stopped with the proxy."""

import ssl
from collections.abc import Callable
from pathlib import Path

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.fetcher import Fetcher
from proxy.fetching.hostturns import HostTurns
from proxy.fetching.politeness import BANDWIDTH_FILE, Bandwidth, HostSlots
from proxy.fetching.queue import FetchQueue
from proxy.fetching.runner import FetchRunner
from proxy.fetching.saving import FetchedPageSaver
from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.reach.policy import ReachPolicy
from proxy.settings import Settings

PURPOSE = "fetches single pages for a school's offline collection"
_UPSTREAM = "upstream:"


class FetchService:
    """The queue of a data folder and its runner, under the current settings."""

    def __init__(
        self,
        folder: Path,
        saver: Callable[[Callable[[], int]], FetchedPageSaver],
        connectivity: Connectivity,
        *,
        settings: Callable[[], Settings],
        reach: Callable[[], ReachPolicy],
        tls: ssl.SSLContext | bool,
    ) -> None:
        """`saver` is given how large a page may be. Raises StoreError."""
        self.queue = FetchQueue(folder / "queue.sqlite", max_entries=settings().fetch.max_entries)
        host_slots = HostSlots(turns=HostTurns(folder / "hosts"))
        made_saver = saver(lambda: settings().fetch.max_bytes)
        self._client = HttpClient(
            ConnectGuard(reach),
            purpose=PURPOSE,
            parent=lambda: parent_of(settings()),
            tls=tls,
            keep_alive=False,
            pause_after=Bandwidth(lambda: settings().fetch.bytes_per_s, shared=folder / BANDWIDTH_FILE).take,
        )
        self._runner = FetchRunner(
            self.queue,
            Fetcher(
                self._client,
                host_slots,
                check=made_saver.rulings.check,
                pause_s=lambda: settings().fetch.pause_s,
                behind_parent=lambda: bool(parent_of(settings())),
            ),
            made_saver,
            connectivity,
            host_slots,
            lock=folder / "runner.lock",
            settings=lambda: settings().fetch,
            offline=lambda: settings().proxy.offline,
        )

    async def start(self) -> None:
        await self._runner.start()

    async def close(self) -> None:
        """Cancel the pages in progress until the next start."""
        await self._runner.close()
        await self._client.close()
        self.queue.close()


def parent_of(settings: Settings) -> str:
    """The proxy through which the web is reached: the parent, or the target of upstream mode."""
    mode = settings.proxy.mode
    return settings.proxy.parent or (
        mode.removeprefix(_UPSTREAM).partition("@")[0] if mode.startswith(_UPSTREAM) else ""
    )
