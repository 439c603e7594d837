"""What every process of linkmend has over one data folder, whatever its part: rules, responses, what judges pages."""

import asyncio
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from proxy.rules.folder import rules_folder
from proxy.rules.live import LiveRules
from proxy.settings import Settings
from proxy.store.changes import Changes
from proxy.store.responses import ResponseStore
from proxy.trust.certificates import origin_context
from proxy.trust.reach import reach_of
from repair.secreturls import has_secret
from repair.soft404.ask import Asker
from repair.soft404.detector import Detector
from repair.soft404.sites import Sites

_JUDGING_THREADS = 2  # of their own: who opens a page that is there does not wait behind those who miss one


class Premises:
    """Stores that processes share by themselves, and the settings of this moment, for all who are in this process."""

    def __init__(self, settings: Settings, data: Path, *, changes: Changes | None = None) -> None:
        """Open everything; raises LinkmendError or RepairError when a store cannot be opened.

        `changes` is how processes tell each other what changed of responses and of what is known of sites.
        """
        self.settings = settings
        self.data = data
        self._own_ports: dict[str, frozenset[int]] = {}
        self.reach = reach_of(settings)
        self.responses = ResponseStore.open(data / "cache", settings.cache, changes=changes)
        self.rules = LiveRules(rules_folder(settings.rules.folder, data), kept=data / "rules-in-force")
        self.sites = Sites(data / "soft404" / "sites.sqlite", changes=changes)
        self._judging = ThreadPoolExecutor(_JUDGING_THREADS, thread_name_prefix="soft404")
        self._asker = Asker(
            parent=settings.proxy.parent, tls=origin_context(settings.proxy), may_reach=self.may_reach
        )
        self.detector = Detector(self.sites, self._judging, ask=self._asker.ask, may_probe=self._may_probe)
        self._following_rules: asyncio.Task[None] | None = None

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.settings = settings
        self._asker.parent = settings.proxy.parent
        self._reckon_reach()

    def note_ports(self, ports: Collection[int], *, of: str = "desk") -> None:
        """A service of linkmend listens there, at ports that the system may have chosen: nobody is led to them."""
        self._own_ports[of] = frozenset(ports)
        self._reckon_reach()

    def _reckon_reach(self) -> None:
        own = frozenset[int]().union(*self._own_ports.values())
        self.reach = reach_of(self.settings, own_ports=own)

    async def start(self) -> None:
        self._following_rules = asyncio.create_task(self.rules.watch())
        await self._asker.start()

    async def close(self) -> None:
        """Called last, once nobody in this process needs it any more."""
        if self._following_rules is not None:
            self._following_rules.cancel()
            with suppress(asyncio.CancelledError):
                await self._following_rules
        await self.detector.close()
        await self._asker.close()
        await self.responses.close()
        await asyncio.to_thread(self._judging.shutdown, wait=True, cancel_futures=True)
        self.sites.close()

    def may_reach(self, address: str, port: int) -> bool:
        """Whether a request of our own may go to an IP address, by the settings of this moment."""
        return self.reach.may_reach(address, port)

    def may_connect(self, address: str, port: int) -> bool:
        """Whether a request of ours to a place that an admin chose may go there: anywhere but to linkmend itself."""
        return not self.reach.is_own_service(address, port)

    def is_offline(self) -> bool:
        return self.settings.proxy.offline

    def portal_reachable(self) -> bool:
        """Where browsers do not know of the proxy, http://linkmend.internal/ leads nowhere."""
        return self.settings.proxy.mode.split(":")[0].split("@")[0] in ("regular", "upstream")

    def _may_probe(self, url: str) -> bool:
        """Whether a site may be asked about a page in doubt."""
        proxy = self.settings.proxy
        # An upstream proxy is mitmproxy's own business: asking past it might not reach the site, nor be wanted.
        return (
            self.settings.soft404.probe == "auto"
            and not proxy.offline
            and not proxy.mode.startswith("upstream")
            and not has_secret(url)
        )
