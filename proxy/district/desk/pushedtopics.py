"""The district's topics among a school's own: a topic that the school wrote or changed stays as it is."""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore


def apply_topics(
    store: TopicStore, pushed: Iterable[Topic], known: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Bring the district's topics into a school's. `known` are those that were brought before, with their marks.

    Returns the same as it is now, and the names that stay the school's own. A topic that the district took back goes,
    unless the school changed it; its pages stay saved.
    """
    brought: dict[str, str] = {}
    kept: list[str] = []
    wanted = {topic.name: topic for topic in pushed}
    for name, topic in wanted.items():
        own = store.get(name)
        if own is not None and known.get(own.name) != _mark(own):
            kept.append(name)
            continue
        if own is None or _mark(own) != _mark(topic):
            store.put(topic)
        brought[name] = _mark(store.get(name) or topic)
    for name, mark in known.items():
        own = store.get(name)
        if name not in wanted and own is not None and _mark(own) == mark:
            store.remove(own.name)
    return brought, tuple(kept)


def _mark(topic: Topic) -> str:
    return hashlib.sha256(msgspec.json.encode(topic)).hexdigest()[:16]
