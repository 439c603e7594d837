"""Brings a school and its district's OpenSearch together: pages go there, and come from there to be ranked."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from proxy.errors import SettingsError
from proxy.settings import DistrictSettings
from repair.collection.collection import Collection
from repair.evidence.hints import Hints
from repair.model import HeldPage
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.joined import joined_finder
from repair.opensearch.outgoing import Sender
from repair.opensearch.probing import ProbingClient
from repair.opensearch.sharedpages import SharedPages
from repair.ranking.rankers import Find
from repair.settings import RepairSettings


class DistrictSearch:
    """Finds pages of the school and the district together, where the settings name nodes; else `find` is None."""

    def __init__(
        self,
        collection: Collection,
        hints: Hints,
        settings: DistrictSettings,
        repair: RepairSettings,
        *,
        is_hurried: Callable[[], bool],
        has_left: bool = False,
    ) -> None:
        """Open the outbox, unless the school `has_left`; raises SettingsError when the password cannot be read.

        Asks nobody yet.
        """
        self.find: Find | None = None
        self.text_of: Callable[[str], HeldPage | None] = collection.get
        self._asked: OpenSearchClient | None = None
        self._sender: Sender | None = None
        if has_left or not settings.search:
            return
        collection.outbox.open()
        # Nodes that are too slow for repairs may still be sent to.
        self._asked = search_client(settings, partial(ProbingClient, fast_s=settings.search_deadline_s / 2))
        shared = SharedPages(self._asked, deadline_s=settings.search_deadline_s)
        self.find, joined = joined_finder(
            collection, shared, repair, hints, within_s=settings.search_deadline_s
        )
        self.text_of = joined.text_of
        folder = collection.database.path.parent
        client = search_client(settings)
        self._sender = Sender(collection, client, shared, folder, is_hurried=is_hurried)

    def is_there(self) -> bool:
        """Whether the district may be asked now: it is named, and did not fail a moment ago."""
        return self._asked is not None and not self._asked.is_resting()

    def start(self) -> None:
        """Begin to send what waits."""
        if self._sender is not None:
            self._sender.start()

    def close(self) -> None:
        """Stop sending; what waits is sent after the next start."""
        if self._asked is not None:
            self._asked.close()
        if self._sender is not None:
            self._sender.close()


def search_client(
    settings: DistrictSettings, make: Callable[..., OpenSearchClient] = OpenSearchClient
) -> OpenSearchClient:
    """A client of the district's OpenSearch; raises SettingsError when a file that it needs cannot be read."""
    try:
        file = settings.search_password_file
        password = Path(file).read_text(encoding="utf-8").partition("\n")[0].strip() if file else ""
        return make(settings.search, user=settings.search_user, password=password, ca_file=settings.ca_file)
    except (OSError, ValueError) as error:
        raise SettingsError(f"district.search: {error}") from error
