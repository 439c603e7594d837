"""How misses and the collection went, week by week and topic by topic. Methods block: call them in a thread."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from proxy.misses.lists import MissTally
from proxy.misses.store import MissStore
from proxy.misses.tallies import NOTHING, OFFERED, OPENED, SLOT_S
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicstore import TopicStore
from repair.growing.growthstore import Brought, GrowthStore, Night

WEEKS = 12
NO_TOPIC = ""
_WEEK = timedelta(weeks=1)
_MOST_ROWS = 200_000
_TIMEOUT_S = 20.0
_NIGHTS = 30
_BROUGHT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicGrowth:
    """The misses of one topic, or of none ("")."""

    topic: str
    weeks: tuple[MissTally, ...]

    @property
    def total(self) -> MissTally:
        """All weeks together."""
        return add_tallies(self.weeks)

    @property
    def halves(self) -> tuple[MissTally, MissTally]:
        """The earlier and the later half of the weeks."""
        middle = len(self.weeks) // 2
        return add_tallies(self.weeks[:middle]), add_tallies(self.weeks[middle:])


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthOverview:
    """The misses of the last weeks, the oldest first; those of addresses for which a night brought something, before
    that and after; and the nights."""

    begins: tuple[datetime, ...]
    topics: tuple[TopicGrowth, ...]
    helped: int
    before: MissTally
    after: MissTally
    nights: tuple[Night, ...]
    brought: tuple[Brought, ...]

    def of(self, topic: str | None) -> TopicGrowth:
        """One topic; None for all together."""
        chosen = [each for each in self.topics if topic is None or each.topic == topic]
        weeks = tuple(
            add_tallies(each.weeks[number] for each in chosen) for number in range(len(self.begins))
        )
        return TopicGrowth(topic=topic or "", weeks=weeks)


@dataclass(slots=True)
class _Sums:
    counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def tally(self) -> MissTally:
        found = self.counts
        return MissTally(
            times=sum(found.values()),
            nothing=found.get(NOTHING, 0),
            offered=found.get(OFFERED, 0),
            opened=found.get(OPENED, 0),
        )


class GrowthReader:
    """Reads the miss log beside what nights brought."""

    def __init__(self, misses: MissStore, database: TopicDatabase) -> None:
        self._misses = misses
        self._store = GrowthStore(database)
        self._topics = TopicStore(database)

    def read(self, now: datetime) -> GrowthOverview:
        """The last weeks; `now` is in local time, in which weeks begin on Mondays. Raises StoreError."""
        begins = week_begins(now)
        nights = self._store.nights(_NIGHTS)
        grown = self._store.grown()
        before, after = self._before_and_after(grown)
        return GrowthOverview(
            begins=begins,
            topics=self._by_topic(begins),
            helped=len(grown),
            before=before,
            after=after,
            nights=nights,
            brought=self._store.brought(nights[0].id, _BROUGHT) if nights else (),
        )

    def _by_topic(self, begins: tuple[datetime, ...]) -> tuple[TopicGrowth, ...]:
        known = self._store.topics()
        sums: dict[str, dict[int, _Sums]] = defaultdict(lambda: defaultdict(_Sums))
        first = int(begins[0].timestamp() // SLOT_S)
        bounds = [int(begin.timestamp() // SLOT_S) for begin in begins]
        rows = self._misses.read(
            "SELECT url, slot, outcome, sum(times) AS times FROM tallies JOIN addresses ON addresses.id = address"
            " WHERE slot >= ? GROUP BY url, slot, outcome LIMIT ?",
            (first, _MOST_ROWS),
            within_s=_TIMEOUT_S,
        )
        for row in rows:
            week = sum(1 for bound in bounds if row["slot"] >= bound) - 1
            sums[known.get(row["url"], NO_TOPIC)][week].counts[row["outcome"]] += row["times"]
        names = sorted({*sums, *(topic.name for topic in self._topics.list())} - {NO_TOPIC})
        return tuple(
            TopicGrowth(topic=name, weeks=tuple(sums[name][number].tally() for number in range(len(begins))))
            for name in (*names, NO_TOPIC)
        )

    def _before_and_after(self, grown: dict[str, float]) -> tuple[MissTally, MissTally]:
        """The misses of addresses before and after a night brought something for them."""
        rows = self._misses.read(
            "SELECT url, slot, outcome, sum(times) AS times FROM tallies JOIN addresses ON addresses.id = address"
            " WHERE url IN (SELECT value FROM json_each(?)) GROUP BY url, slot, outcome LIMIT ?",
            (json.dumps(list(grown)), _MOST_ROWS),
            within_s=_TIMEOUT_S,
        )
        before, after = _Sums(), _Sums()
        for row in rows:
            later = row["slot"] * SLOT_S >= grown[row["url"]]
            (after if later else before).counts[row["outcome"]] += row["times"]
        return before.tally(), after.tally()


def week_begins(now: datetime, weeks: int = WEEKS) -> tuple[datetime, ...]:
    """The Mondays of the last weeks in local time, the oldest first."""
    monday = (now - timedelta(days=now.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)
    return tuple(monday - _WEEK * number for number in reversed(range(weeks)))


def add_tallies(tallies: Iterable[MissTally]) -> MissTally:
    """Tallies together."""
    listed = list(tallies)
    return MissTally(
        **{
            name: sum(getattr(each, name) for each in listed)
            for name in ("times", "nothing", "offered", "opened")
        }
    )


def moment(timestamp: float) -> datetime:
    """A time of the store."""
    return datetime.fromtimestamp(timestamp, UTC)
