"""What workers and backend both have of one data folder: settings, rules, responses, what judges pages."""

import asyncio
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from proxy.fetching.hostturns import HostTurns
from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.http.prober import PURPOSE, SiteProber
from proxy.paths import DISTRICT_RULES
from proxy.reach.policy import reach_of
from proxy.rules.folder import rules_folder
from proxy.rules.live import LiveRules
from proxy.settings import Settings
from proxy.store.invalidation import StoreInvalidation
from proxy.store.responses import ResponseStore
from proxy.tls.certificates import origin_context
from repair.secrets.addresses import has_secret
from repair.soft404.detector import Soft404Detector
from repair.soft404.sitestore import SiteStore

_JUDGING_THREADS = 2  # their own, so that pages that exist do not wait behind repairs


class SharedState:
    """Stores that several processes may have open, and the current settings, for everything in this process."""

    def __init__(self, settings: Settings, data: Path, *, changes: StoreInvalidation | None = None) -> None:
        """Open everything; raises LinkmendError or RepairError when a store cannot be opened.

        `changes` is how processes tell each other what changed of responses and of what is known of sites.
        """
        self.settings = settings
        self.data = data
        self._own_ports: dict[str, frozenset[int]] = {}
        self.reach = reach_of(settings)
        self.responses = ResponseStore.open(data / "cache", settings.cache, changes=changes)
        self.rules = LiveRules(
            rules_folder(settings.rules.folder, data),
            kept=data / "rules-in-force",
            below=data / DISTRICT_RULES if settings.district.database else None,
        )
        self.sites = SiteStore(data / "soft404" / "sites.sqlite", changes=changes)
        self._judging = ThreadPoolExecutor(_JUDGING_THREADS, thread_name_prefix="soft404")
        turns = HostTurns(data / "fetch" / "hosts")
        self._prober = SiteProber(
            HttpClient(
                ConnectGuard(lambda: self.reach),
                purpose=PURPOSE,
                parent=lambda: self.settings.proxy.parent,
                tls=origin_context(settings.proxy),
                connections=8,
                per_host=2,
            ),
            # No pause of its own: readers wait for probes, and few are allowed (`ASKED_PER_SITE`).
            turn_at=lambda host: turns.at(host, pause_s=0.0),
        )
        self.detector = Soft404Detector(
            self.sites, self._judging, ask=self._prober.ask, may_probe=self._may_probe
        )
        self._following_rules: asyncio.Task[None] | None = None

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running. Sizes of stores and queues wait for the next start."""
        self.settings = settings
        self._reckon_reach()

    def note_ports(self, ports: Collection[int], *, of: str = "desk") -> None:
        """Refuse clients these ports: a service of linkmend listens there, perhaps on ports that the system chose."""
        self._own_ports[of] = frozenset(ports)
        self._reckon_reach()

    def _reckon_reach(self) -> None:
        own = frozenset[int]().union(*self._own_ports.values())
        self.reach = reach_of(self.settings, own_ports=own)

    async def start(self) -> None:
        self._following_rules = asyncio.create_task(self.rules.watch())

    async def close(self) -> None:
        """Called last, once nothing in this process needs it any more."""
        if self._following_rules is not None:
            self._following_rules.cancel()
            with suppress(asyncio.CancelledError):
                await self._following_rules
        await self.detector.close()
        await self._prober.close()
        await self.responses.close()
        await asyncio.to_thread(self._judging.shutdown, wait=True, cancel_futures=True)
        self.sites.close()

    def is_offline(self) -> bool:
        return self.settings.proxy.offline

    def portal_reachable(self) -> bool:
        """Where browsers do not know of the proxy, http://linkmend.internal/ leads nowhere."""
        return self.settings.proxy.mode.split(":")[0].split("@")[0] in ("regular", "upstream")

    def _may_probe(self, url: str) -> bool:
        """Whether a site may be probed about a page in doubt."""
        proxy = self.settings.proxy
        # An upstream proxy is mitmproxy's own business: asking past it might not reach the site, nor be wanted.
        return (
            self.settings.soft404.probe == "auto"
            and not proxy.offline
            and not proxy.mode.startswith("upstream")
            and not has_secret(url)
        )
