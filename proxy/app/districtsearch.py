"""Brings a school and its district's OpenSearch together: pages go there, and are ranked with the school's own."""

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
from repair.opensearch.patience import Patience
from repair.opensearch.probing import ProbingClient
from repair.opensearch.sharedpages import SharedPages
from repair.ranking.rankers import Find, finder
from repair.settings import RepairSettings


class DistrictSearch:
    """How pages are found: in the school alone, or with the district's when the settings name nodes."""

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
        self.find: Find
        self.text_of: Callable[[str], HeldPage | None]
        self._asked: OpenSearchClient | None = None
        self._sender: Sender | None = None
        if has_left or not settings.search:
            self.find, self.text_of = finder(collection, repair, hints), collection.get
            return
        collection.outbox.open()
        patience = Patience(settings.search_deadline_s)
        # Nodes that are too slow for repairs may still be sent to.
        self._asked = search_client(settings, partial(ProbingClient, fast_s=settings.search_deadline_s / 2))
        shared = SharedPages(self._asked, deadline_s=settings.search_deadline_s)
        self.find, joined = joined_finder(collection, shared, repair, hints, patience)
        self.text_of = joined.text_of
        folder = collection.database.path.parent
        client = search_client(settings)
        self._sender = Sender(collection, client, shared, folder, is_hurried=is_hurried)

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
