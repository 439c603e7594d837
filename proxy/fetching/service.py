"""All that fetching takes, put together: what is started and ended with the proxy."""

import ssl
from collections.abc import Callable
from pathlib import Path

from proxy.fetching.door import Door
from proxy.fetching.fetcher import Fetcher
from proxy.fetching.keeping import Keeper
from proxy.fetching.line import Line
from proxy.fetching.pace import Bandwidth, Turns
from proxy.fetching.queue import FetchQueue
from proxy.fetching.runner import FetchRunner
from proxy.settings import Settings
from proxy.trust.reach import Reach

_UPSTREAM = "upstream:"


class Fetching:
    """The queue of a data folder and who works it off, under the settings of each moment."""

    def __init__(
        self,
        folder: Path,
        keeper: Callable[[Callable[[], int]], Keeper],
        line: Line,
        *,
        settings: Callable[[], Settings],
        reach: Callable[[], Reach],
        tls: ssl.SSLContext | bool,
    ) -> None:
        """`keeper` is given how large a page may be. Raises StoreError."""
        self.queue = FetchQueue(folder / "queue.sqlite", max_entries=settings().fetch.max_entries)
        turns = Turns()
        made_keeper = keeper(lambda: settings().fetch.max_bytes)
        self._door = Door(
            reach=reach,
            parent=lambda: _parent(settings()),
            bandwidth=Bandwidth(lambda: settings().fetch.bytes_per_s),
            tls=tls,
        )
        self._runner = FetchRunner(
            self.queue,
            Fetcher(
                self._door,
                turns,
                check=made_keeper.rulings.check,
                pause_s=lambda: settings().fetch.pause_s,
                behind_parent=lambda: bool(_parent(settings())),
            ),
            made_keeper,
            line,
            turns,
            lock=folder / "runner.lock",
            settings=lambda: settings().fetch,
            offline=lambda: settings().proxy.offline,
        )

    async def start(self) -> None:
        await self._door.start()
        await self._runner.start()

    async def close(self) -> None:
        """Give up what is under way, for the next start."""
        await self._runner.close()
        await self._door.close()
        self.queue.close()


def _parent(settings: Settings) -> str:
    """The proxy through which the web is reached: the parent, or where upstream mode sends everything."""
    mode = settings.proxy.mode
    return settings.proxy.parent or (
        mode.removeprefix(_UPSTREAM).partition("@")[0] if mode.startswith(_UPSTREAM) else ""
    )
