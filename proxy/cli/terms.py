"""`linkmend df` and `linkmend signature`: how common words are in what is held, and which ones tell a page apart."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy import logs
from proxy.commands.options import Config, Data, Json, data_from, print_json, settings_from
from proxy.errors import LinkmendError
from repair import words
from repair.collection import Collection
from repair.selection import SIGNATURES, lexical_signature, telling
from repair.vectors import FIELDS, hashes

_BODY = FIELDS.index("body")


def df(
    asked: Annotated[list[str], typer.Argument(metavar="WORD...", help="The words to look up.")],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """In how many held pages words stand (df), and how often in all (cf); by their stems."""
    pairs = [(word, term) for word in asked for term in dict.fromkeys(words.terms(word))]
    with _opened(config, data) as collection:
        known = collection.statistics(hashes(term for _, term in pairs), (_BODY,))
    table = Table("word", "term", "df", "cf", title=f"Of {known.pages} pages")
    for at, (word, term) in enumerate(pairs):
        pages, times = int(known.df[_BODY, at]), int(known.cf[_BODY, at])
        if as_json:
            print_json({"word": word, "term": term, "df": pages, "cf": times, "pages": known.pages})
        else:
            table.add_row(Text(word), Text(term), str(pages), str(times))
    if not as_json:
        Console().print(table)


def signature(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of a held page.")],
    size: Annotated[
        int, typer.Option("--terms", metavar="N", min=1, max=100, help="How many terms; 5 or 7 find most.")
    ] = SIGNATURES[0],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """The lexical signature of a held page: the terms by which it can be found again, by tf-idf."""
    with _opened(config, data) as collection:
        page = collection.get(url)
        if page is None:
            raise LinkmendError(f"{url}: no such page is held")
        terms, pages, frequency = (
            words.terms(page.text, page.language),
            collection.size(),
            collection.document_frequency,
        )
        found = lexical_signature(telling(terms, frequency, pages), frequency, pages, size)
        counts = Counter(terms)
        rows = [(term, weight, counts[term], frequency(term)) for term, weight in found]
    if as_json:
        named = [dict(zip(("term", "weight", "tf", "df"), row, strict=True)) for row in rows]
        print_json({"url": page.url, "title": page.title, "pages": pages, "terms": named})
        return
    table = Table("term", "tf-idf", "tf", "df", title=Text(page.title or page.url))
    for term, weight, tf, of_pages in rows:
        table.add_row(Text(term), f"{weight:.2f}", str(tf), str(of_pages))
    Console().print(table)


@contextmanager
def _opened(config: Path | None, data: Path | None) -> Iterator[Collection]:
    settings = settings_from(config)
    logs.set_up(settings.log)
    with Collection.open(data_from(data) / "collection", settings.collection) as collection:
        collection.commit()  # what was imported a moment ago counts as well
        yield collection
