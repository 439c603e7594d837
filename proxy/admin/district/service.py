"""What the district's desk reads and gives, over a connection for each request. Methods block."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from proxy.district.connection import connected
from proxy.district.desk.overview import DistrictOverview, read_overview
from proxy.district.desk.pushing import PushedText, PushKind, push, versions
from proxy.settings import DistrictSettings

_SHOWN_VERSIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictState:
    """All that the page shows; `given` are the latest versions of each kind, the newest first."""

    overview: DistrictOverview
    given: dict[PushKind, tuple[PushedText, ...]]


class DistrictDesk:
    """The desk of the district that the settings name. Every method may raise DistrictUnavailable."""

    def __init__(self, settings: Callable[[], DistrictSettings]) -> None:
        self._settings = settings

    def read(self, today: date) -> DistrictState:
        """How the schools are, and what they were given."""
        with connected(self._settings()) as connection:
            return DistrictState(
                overview=read_overview(connection, today),
                given={kind: versions(connection, kind, limit=_SHOWN_VERSIONS) for kind in PushKind},
            )

    def push(self, kind: PushKind, text: str, *, by: str) -> int:
        """Give all schools rules or topics; returns the version. Raises RulesError or InvalidTopic with lines."""
        with connected(self._settings()) as connection:
            return push(connection, kind, text, by=by)
