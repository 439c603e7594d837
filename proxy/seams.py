"""What the addons need of linkmend's stores, whoever stands behind it: the stores themselves or the office's line.

The stores are in the office, a process of its own, and a worker has stand-ins of the same shape
(proxy.office.standins). Where there can be only one process, the classes of `repair` and `proxy` stand here.
The shape that `repair` needs too is stated there: `Searches` in repair.turns.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from proxy.archives.findings import Findings
from proxy.mending import Mended, Miss
from proxy.misses.record import MissRecord
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage
from proxy.portal.helper import Mementos
from repair.model import BrokenLink, HeldCopy, HeldPage, Page
from repair.turns import Searches
from repair.versions import HeldVersions

if TYPE_CHECKING:
    from proxy.watching.overview import Watching  # which knows of the desk, which knows of us


class Mender(Protocol):
    """Makes the page that stands in for a lost one; TimeoutError when nobody is there to make it."""

    async def mend(self, miss: Miss, *, within_s: float) -> Mended: ...


class Reader(Protocol):
    """Knows what is held."""

    async def copy(self, url: str) -> HeldCopy | None: ...

    async def versions(self, url: str) -> HeldVersions | None: ...

    async def version(self, url: str, moment: datetime) -> HeldCopy | None: ...

    async def page(self, url: str) -> HeldPage | None: ...

    async def count(self) -> int: ...


class MissLog(Protocol):
    """Takes note of what was missed, and of what was clicked on instead; never waits."""

    def record(self, record: MissRecord) -> None: ...

    def chosen(self, miss_id: str, number: int, *, client: str, network: str) -> None: ...


class Harvester(Protocol):
    """Reads pages behind the reader's back; never waits."""

    def offer(self, page: Page) -> bool: ...

    def later(self, work: Callable[[], None]) -> bool: ...


class Hints(Protocol):
    """Learns where pages went."""

    def note_redirect(self, old: str, new: str) -> None: ...


class Shown(Protocol):
    """What the settings add to what readers see of archives."""

    @property
    def search_template(self) -> str: ...


class Archives(Protocol):
    """Knows the archived versions of lost pages."""

    @property
    def shown(self) -> Shown: ...

    @property
    def asked(self) -> bool: ...

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None: ...

    async def remembered(self, link: BrokenLink, *, ask: bool = True) -> Findings: ...

    async def answer(self, call: Mementos, texts: Catalogue, client: str) -> RenderedPage | None: ...


class Office(Protocol):
    """All of them."""

    @property
    def searcher(self) -> Searches: ...

    @property
    def mender(self) -> Mender: ...

    @property
    def reader(self) -> Reader: ...

    @property
    def misses(self) -> MissLog: ...

    @property
    def harvester(self) -> Harvester: ...

    @property
    def hints(self) -> Hints: ...

    @property
    def archives(self) -> Archives: ...

    @property
    def watching(self) -> "Watching": ...
