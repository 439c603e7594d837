"""A school's stores, opened in the test's own process, and its login at a district's real database."""

import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from proxy.district.connection import DistrictConnection, connect, connected
from proxy.district.reading import DistrictReader
from proxy.district.roles import invite_school
from proxy.district.sending import send_batch
from proxy.district.spool import spools
from proxy.misses.store import MissStore, new_miss_id
from proxy.settings import DistrictSettings, MissesSettings
from repair.collection.collection import Collection
from repair.collection.elsewhere import ConfirmedElsewhere
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import FOLDER, TopicDatabase
from repair.evidence.hints import Hints
from repair.model import MissKind
from repair.settings import CollectionSettings, RepairSettings
from repair.soft404.sitestore import SiteStore
from tests.missed import a_miss

DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


def invited(district: DistrictSettings, name: str, folder: Path) -> DistrictSettings:
    """The settings with which an invited school connects."""
    with connected(district) as owner:
        login = invite_school(owner, name)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{login.user}.password"
    file.write_text(login.password + "\n")
    return replace(district, database_user=login.user, database_password_file=str(file))


class SchoolStores:
    """All that has something to tell. Close it as a file is closed."""

    def __init__(self, data: Path, settings: DistrictSettings) -> None:
        self.data, self.settings = data, settings
        self.collection = Collection.open(data / "collection", CollectionSettings())
        self.hints = Hints(self.collection, RepairSettings())
        self.pins = Pins(self.collection.database)
        self.misses = MissStore(data / "misses", MissesSettings(), clock=lambda: DAY)
        self.sites = SiteStore(data / "soft404" / "sites.sqlite")
        self.topics = TopicDatabase(data / FOLDER)
        self.elsewhere = ConfirmedElsewhere(self.collection.database)
        self.spools = spools(data)
        for spool in self.spools:
            spool.open()

    def pin(self, url: str, target: str) -> None:
        self.pins.pin(url, target, "an admin", DAY)

    def miss(self, url: str, *, readers: int = 1, kind: MissKind = MissKind.GONE, at: datetime = DAY) -> None:
        for reader in range(readers):
            self.misses.record(
                a_miss(url=url, kind=kind, client=f"reader{reader} of {at}", at=at, id=new_miss_id())
            )
        self.misses.flush()

    def connect(self) -> DistrictConnection:
        return connect(self.settings)

    def send(self) -> int:
        """Send all that waits; returns how much that was."""
        with contextlib.closing(self.connect()) as connection:
            return sum(iter(lambda: sum(send_batch(connection, spool) for spool in self.spools), 0))

    def read(self) -> int:
        """Read what the others told."""
        with contextlib.closing(self.connect()) as connection:
            return DistrictReader(self.collection.database, self.sites).read(connection)

    def waiting(self) -> int:
        return sum(spool.count() for spool in self.spools)

    def offered(self, url: str) -> list[tuple[str, tuple[str, ...]]]:
        """What other schools offer for a URL, with their names."""
        return [(offer.target, offer.schools) for offer in self.elsewhere.offers(url)]

    def close(self) -> None:
        self.topics.close()
        self.sites.close()
        self.misses.close()
        self.collection.close()
