"""Dead links to request: links of a collection's own pages, as if on a site that has lost the targets.

Some saved pages are added again as pages of the origin, and their links lead to addresses of the origin that do not
exist. So all evidence of a broken link is there: source page, anchor and context; and often the collection has the
target under its true address.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from repair.collection.collection import Collection
from repair.importer import CollectionImporter
from repair.model import Document, HeldPage, Link
from repair.settings import CollectionSettings

_SETTINGS = CollectionSettings(max_pages=10_000_000)
_LINKS_A_PAGE = 20
_EVERY = 7
"""Pages taken are so far apart, so that they are of all kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLink:
    """A path of the origin that does not exist, and the page that links there."""

    path: str
    source_url: str


def dead_links(data: Path, site: str, count: int) -> list[DeadLink]:
    """`count` different dead links; their source pages are added to the collection of a data folder.

    No other process may have it open. Links of a small collection are used several times, under other paths.
    """
    found: list[DeadLink] = []
    with Collection.open(data / "collection", _SETTINGS) as collection:
        intake = CollectionImporter(collection, _SETTINGS)
        for number, page in enumerate(_pages(collection)):
            document = _with_dead_links(page, collection.outlinks(page.url), f"http://{site}/lost-{number}")
            intake.add(document)
            paths = (urlsplit(link.target_url).path for link in document.links)
            found += [DeadLink(path=path, source_url=document.url) for path in paths]
            if len(found) >= count:
                break
        intake.flush()
        collection.commit()
    return found[:count]


def _pages(collection: Collection) -> Iterator[HeldPage]:
    """Pages with links, repeated without end."""
    numbers = collection.numbers()
    spread = [number for start in range(_EVERY) for number in numbers[start::_EVERY]]
    for number in itertools.cycle(spread):
        summary = collection.page_summaries([number]).get(number)
        page = collection.get(summary.url) if summary else None
        if page is not None and any(not link.nav for link in collection.outlinks(page.url)):
            yield page


def _with_dead_links(page: HeldPage, links: tuple[Link, ...], base: str) -> Document:
    said = [link for link in links if not link.nav and urlsplit(link.target_url).path.isascii()]
    by_path = {urlsplit(link.target_url).path: link for link in said}
    return Document(
        url=base + urlsplit(page.url).path,
        title=page.title,
        text=page.text,
        language=page.language,
        links=tuple(
            replace(link, target_url=base + path)
            for path, link in itertools.islice(by_path.items(), _LINKS_A_PAGE)
        ),
    )
