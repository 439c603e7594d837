"""`linkmend topics`: what the school teaches, for which `linkmend crawl` gathers pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.fetching.queue import queueable_url
from repair.crawling.syllabus import read_syllabus
from repair.crawling.topicdatabase import FOLDER, TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.text import urls

topics = typer.Typer(help="Manage the topics that the school teaches.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="TOPIC", help="The name of a topic.")]
Pages = Annotated[list[str], typer.Argument(metavar="URL...", help="Addresses of pages.")]


@topics.command()
def add(
    name: Name,
    subtopic: Annotated[list[str] | None, typer.Option(help="A sub-topic; may be repeated.")] = None,
    word: Annotated[
        list[str] | None, typer.Option(help="A word that its pages have; may be repeated.")
    ] = None,
    seed: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A good page; may be repeated.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="The language of its pages, such as en.")] = None,
    pages: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many pages to fetch.")] = None,
    bytes_: Annotated[
        int | None, typer.Option("--bytes", metavar="N", min=1, help="How many bytes to fetch.")
    ] = None,
    hours: Annotated[
        str | None, typer.Option(help="Local hours in which it is crawled, such as 22:00-05:00.")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="A group it is for; may be repeated.")] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Add a topic, or change the given parts of one; its pages stay."""
    given: dict[str, Any] = {
        "subtopics": subtopic and tuple(subtopic),
        "words": word and tuple(word),
        "seeds": seed and tuple(map(queueable_url, seed)),
        "language": language,
        "max_pages": pages,
        "max_bytes": bytes_,
        "hours": hours,
        "groups": group and tuple(group),
    }
    changes = {key: value for key, value in given.items() if value is not None}
    with open_topics(config, data) as (_, store):
        topic = replace(store.get(name) or Topic(name=name), **changes)
        is_new = store.put(topic)
    if as_json:
        print_json(asdict(topic))
    else:
        print_line(f"{topic.name}: {'added' if is_new else 'changed'}")


@topics.command("list")
def list_(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """List the topics and how far their crawls are."""
    from repair.crawling.crawlstore import CrawlStore

    with open_topics(config, data) as (database, store):
        rows = [
            (topic, store.page_count(topic.name), CrawlStore(database, topic.name).counts())
            for topic in store.list()
        ]
    if as_json:
        for topic, pages, counts in rows:
            print_json({**asdict(topic), "pages": pages, "fetched": counts.fetched, "bytes": counts.received})
        return
    table = Table("topic", "sub-topics", "seeds", "pages", "fetched", "budget", "MB", title="Topics")
    for topic, pages, counts in rows:
        table.add_row(
            Text(topic.name, overflow="fold"),
            str(len(topic.subtopics)),
            str(len(topic.seeds)),
            str(pages),
            str(counts.fetched),
            str(topic.max_pages),
            f"{counts.received / 1e6:.1f}",
        )
    Console().print(table)


@topics.command()
def show(
    name: Name,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many pages to show.")] = 20,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show a topic with its likeliest pages."""
    from repair.crawling.crawlstore import CrawlStore

    with open_topics(config, data) as (database, store):
        topic = find_topic(store, name)
        pages = store.pages(topic.name, limit=limit)
        counts = CrawlStore(database, topic.name).counts()
    if as_json:
        found = [{"url": page.url, "probability": round(page.probability, 3)} for page in pages]
        print_json({**asdict(topic), "states": counts.states, "bytes": counts.received, "pages": found})
        return
    for key, value in asdict(topic).items():
        if value:
            print_line(f"{key}: {', '.join(value) if isinstance(value, tuple) else value}")
    print_line("links: " + ", ".join(f"{count} {state}" for state, count in counts.states.items()))
    for page in pages:
        print_line(f"{page.probability:.2f}  {page.url}")


@topics.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="A syllabus: .csv or an outline.")],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Add the topics of a syllabus; topics of the same name are replaced, their pages stay."""
    found = [topic for file in files for topic in read_syllabus(file)]
    for topic in found:
        for seed in topic.seeds:
            queueable_url(seed)
    with open_topics(config, data) as (_, store):
        for topic in found:
            is_new = store.put(topic)
            if as_json:
                print_json(asdict(topic))
            else:
                print_line(
                    f"{topic.name}: {'added' if is_new else 'replaced'}, {len(topic.subtopics)} sub-topics"
                )


@topics.command()
def remove(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="Names of topics.")],
    config: Config = None,
    data: Data = None,
) -> None:
    """Remove topics. Their pages stay saved; `linkmend remove` deletes pages."""
    with open_topics(config, data) as (_, store):
        for topic in [find_topic(store, name) for name in names]:
            store.remove(topic.name)


@topics.command("not")
def not_(name: Name, pages: Pages, config: Config = None, data: Data = None) -> None:
    """Say that pages do not belong to a topic; the next crawl learns from it."""
    _judge(name, pages, config, data, belongs=False)


@topics.command()
def yes(name: Name, pages: Pages, config: Config = None, data: Data = None) -> None:
    """Say that pages belong to a topic; the next crawl learns from it."""
    _judge(name, pages, config, data, belongs=True)


def _judge(name: str, pages: list[str], config: Path | None, data: Path | None, *, belongs: bool) -> None:
    for url in pages:
        if not urls.is_web_url(url):
            raise LinkmendError(f"{url[:100]}: expected an http(s) address")
    with open_topics(config, data) as (_, store):
        topic = find_topic(store, name)
        for url in pages:
            store.note_verdict(url, topic.name, belongs=belongs)


def find_topic(store: TopicStore, name: str) -> Topic:
    """A topic by its name; raises LinkmendError."""
    topic = store.get(name)
    if topic is None:
        raise LinkmendError(f"no such topic: {name[:100]!r}; `linkmend topics list` lists them")
    return topic


@contextmanager
def open_topics(config: Path | None, data: Path | None) -> Iterator[tuple[TopicDatabase, TopicStore]]:
    """The topics of a data folder."""
    settings_from(config)
    database = TopicDatabase(data_from(data) / FOLDER)
    try:
        yield database, TopicStore(database)
    finally:
        database.close()
