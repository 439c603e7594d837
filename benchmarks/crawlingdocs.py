"""Harvest rate of crawlers on real HTML: documentation packages of Debian, each a host, their directories the topics.

    apt-get download git-doc postgresql-doc-15 ... && for each in *.deb; do dpkg -x $each FOLDER/${each%%_*}; done
    python -m benchmarks.crawlingdocs FOLDER [--topics N] [--pages 100 500]

Pages are read as crawls read them. Addresses are made opaque (`http://git-doc.test/bq`), for they would name the
directory; what the pages themselves say of it, in navigation and titles, stays. Of manuals in many languages only the
English one is there. The rest is as in `benchmarks.crawling`.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from benchmarks.crawling import compare
from repair.evaluation.simulatedweb import SimulatedTopic, SimulatedWeb
from repair.model import Document, Page
from repair.parse import htmlpage

_LEAST, _MOST = 60, 400  # pages of a topic
_MOST_SHARE = (
    0.7  # of the pages of its host: few links lead to other hosts, so else every crawler stays in it
)
_OF_A_HOST = 4  # topics, the largest
_MAX_BYTES = 2_000_000
_MAX_LINKS = 5_000
_LANGUAGES = frozenset(
    "ar ca cs da de el es fa fr he hr id it ja ko nb nl pl pt ro ru sv tr vi zh".split()  # noqa: SIM905
)
_READ_AT = datetime(2026, 1, 1, tzinfo=UTC)


def read_web(folder: Path) -> SimulatedWeb:
    """The web of a folder of unpacked packages."""
    documents: dict[str, Document] = {}
    for package in sorted(folder.iterdir()):
        documents |= {document.url: document for document in _read(package)}
    names = Counter[str]()
    opaque: dict[str, str] = {}
    for url in sorted(documents):
        host = url.split("/")[2]
        opaque[url] = f"http://{host}/{_name(names[host])}"
        names[host] += 1
    shown = {opaque[url]: _with_opaque_addresses(document, opaque) for url, document in documents.items()}
    return SimulatedWeb(shown, list(_topics(opaque)))


def _read(package: Path) -> Iterator[Document]:
    for path in sorted(package.rglob("*.htm*")):
        within = path.relative_to(package)
        if path.is_symlink() or not path.is_file() or _is_translation(within):
            continue
        page = Page(
            url=f"http://{package.name}.test/{within}",
            status=200,
            headers=(("content-type", "text/html"),),
            body=path.read_bytes(),
            fetched_at=_READ_AT,
        )
        document = htmlpage.document(page, max_bytes=_MAX_BYTES, max_links=_MAX_LINKS)
        if document is not None:
            yield document


def _name(number: int) -> str:
    """Letters, since crawlers know addresses that differ in a number for those of a calendar and the like."""
    name = ""
    while number or not name:
        number, digit = divmod(number, 26)
        name = chr(ord("a") + digit) + name
    return name


def _is_translation(path: Path) -> bool:
    return any(part.split("-")[0] in _LANGUAGES and len(part) in (2, 5) for part in path.parts[:-1])


def _with_opaque_addresses(document: Document, opaque: Mapping[str, str]) -> Document:
    links = []
    for link in document.links:
        target = link.target_url
        target = opaque.get(f"{target}index.html" if target.endswith("/") else target, "")
        if target:
            links.append(replace(link, target_url=target))
    return replace(document, url=opaque[document.url], links=tuple(links))


def _topics(opaque: Mapping[str, str]) -> Iterator[SimulatedTopic]:
    """The uppermost directories of each host that have the size of a topic."""
    pages: dict[str, list[str]] = {}
    for url in opaque:
        for folder in PurePosixPath(url).parents:
            pages.setdefault(str(folder), []).append(opaque[url])
    fit = {
        folder
        for folder, found in pages.items()
        if _LEAST <= len(found) <= _MOST and len(found) <= _MOST_SHARE * len(pages[_host_of(folder)])
    }
    uppermost = [folder for folder in fit if str(PurePosixPath(folder).parent) not in fit]
    of_hosts: dict[str, list[str]] = {}
    for folder in sorted(uppermost, key=lambda folder: (-len(pages[folder]), folder)):
        of_hosts.setdefault(_host_of(folder), []).append(folder)
    for host, folders in of_hosts.items():
        for folder in folders[:_OF_A_HOST]:
            name = f"{PurePosixPath(host).stem}: {PurePosixPath(folder).name}"
            yield SimulatedTopic(name=name, pages=frozenset(pages[folder]))


def _host_of(folder: str) -> str:
    """The directory of all pages of its host: of addresses, `http:/git-doc.test`."""
    return "/".join(PurePosixPath(folder).parts[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, default=24, help="how many, the largest first")
    parser.add_argument("--pages", type=int, nargs="+", default=[100, 500])
    arguments = parser.parse_args()
    compare(read_web(arguments.folder), arguments.topics, arguments.pages)


if __name__ == "__main__":
    main()
