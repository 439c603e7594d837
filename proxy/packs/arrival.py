"""Takes in what a pack says of its pages: topics, sender and licence."""

from dataclasses import dataclass, field

from repair.collection.collection import Collection
from repair.crawling.topics import InvalidTopic
from repair.crawling.topicstore import TopicStore
from repair.packs.packmodel import PackManifest, PackOrigin
from repair.packs.packstore import PackStore


@dataclass(slots=True, kw_only=True)
class PackArrival:
    """A pack that is being imported. `new_topics` counts topics that the school did not have."""

    manifest: PackManifest
    collection: Collection
    topics: TopicStore
    new_topics: int = 0
    _judged: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    _came: dict[PackOrigin, list[str]] = field(default_factory=dict)

    def add_topics(self) -> tuple[str, ...]:
        """Add the topics that are new here; ours stay as they are. Returns what was wrong with others."""
        problems = []
        for packed in self.manifest.topics:
            try:
                topic = packed.topic()
            except InvalidTopic as error:
                problems.append(f"topic skipped: {error}")
                continue
            if (known := self.topics.get(topic.name)) is None:
                self.topics.put(topic)
                self.new_topics += 1
            name = (known or topic).name
            self._judged[packed.name] = (name, frozenset(self.topics.verdicts(name)))
        return tuple(problems)

    def note_page(self, url: str, *, is_ours: bool) -> None:
        """Note a page of the pack; `is_ours` when the collection keeps its own version of it. What people here said
        of the page stays."""
        if not is_ours:
            self._came.setdefault(self.manifest.origin_of(url), []).append(url)
        packed = self.manifest.pages.get(url)
        for name, probability in packed.topics.items() if packed is not None else ():
            topic, judged = self._judged.get(name, ("", frozenset()))
            if topic and url not in judged:
                self.topics.note_page(url, topic, probability)

    def finish(self) -> None:
        """Record where the pages came from, once they are saved."""
        packs = PackStore(self.collection.database)
        packs.note(self.manifest.origins[0], ())
        for origin, addresses in self._came.items():
            packs.note(origin, addresses)
