"""Pupils' "this did not help, I was looking for ...": to the teacher whose page or lesson the dead link stood on,
else to the reviewers.

Only who got the repair page knows the id of its miss, and only from the same device is it taken: so no other site can
send in a user's name. Of who wrote it nothing is kept; the count for each client is in memory, under a code that
changes every day.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from proxy.lessons.teacherstore import TeacherStore
from proxy.misses.record import MissRecord
from proxy.misses.searches import unanswered_words
from proxy.misses.store import MissStore
from proxy.privacy.fairness import DailyShare
from repair.bounded import BoundedDict
from repair.secrets.addresses import has_secret

MAX_WORDS = 300
EACH_DAY = 5
"""Suggestions taken from one client in a day."""
ALL_DAY = 500
NETWORK_DAY = 200
"""Of one network, in which somebody may have any number of addresses."""
_MAX_CLIENTS = 10_000


class Suggestions:
    """The service in the backend. For one event loop."""

    def __init__(
        self,
        store: TeacherStore,
        misses: MissStore,
        *,
        retention_days: Callable[[], int],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.owner_of_link: Callable[[str, str], str] = lambda url, source: ""
        """Whose page or lesson a link stood on; set by the process that has the lessons. It blocks for a moment."""
        self._misses = misses
        self._retention_days = retention_days
        self._clock = clock
        self._shares = DailyShare(NETWORK_DAY, clock=clock)
        self._today = ""
        self._sent = BoundedDict[str, int](_MAX_CLIENTS)
        self._answered = BoundedDict[str, bool](_MAX_CLIENTS)
        self._total = 0

    async def suggest(self, miss_id: str, words: str, *, client: str) -> bool:
        """Pass on what somebody looked for; False when it was not kept. `client` is a hash."""
        plain = _shown(words)
        if not plain or self._is_full(miss_id, client):
            return False
        miss = await asyncio.to_thread(self._misses.find, miss_id, client=client)
        # Only what is really theirs counts: other sites can have a browser send forms, with any id.
        if miss is None or self._is_full(miss_id, client) or not self._shares.take(client):
            return False
        self._sent[client], self._answered[miss_id] = self._sent.get(client, 0) + 1, True
        self._total += 1
        return await asyncio.to_thread(self._keep, miss, plain, client)

    def _is_full(self, miss_id: str, client: str) -> bool:
        today = self._clock().strftime("%Y-%m-%d")
        if today != self._today:
            self._today, self._total = today, 0
            self._sent.clear()
            self._answered.clear()
        return self._sent.get(client, 0) >= EACH_DAY or self._total >= ALL_DAY or miss_id in self._answered

    def _keep(self, miss: MissRecord, words: str, client: str) -> bool:
        self.store.expire(self._retention_days())
        owner = self.owner_of_link(miss.url, miss.source_url or "")
        if not self.store.suggest(owner, miss.url, words):
            return False
        if (wanted := unanswered_words(words, ())) is not None:
            self._misses.record_search(wanted, client=client)  # what `grow` looks for
        return True


def _shown(words: str) -> str:
    """The words in one line, without mail addresses, numbers of telephones and what looks like a secret."""
    kept = (each for each in words[: 4 * MAX_WORDS].split() if not _is_private(each))
    printable = ("".join(char for char in each if char.isprintable()) for each in kept)
    return " ".join(filter(None, printable))[:MAX_WORDS]


def _is_private(word: str) -> bool:
    digits = sum(char.isdigit() for char in word)
    url = word if word.startswith(("http://", "https://")) else f"http://search.example/?q={word}"
    return "@" in word or digits >= 7 or has_secret(url)
