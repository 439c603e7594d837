"""`linkmend df` and `linkmend signature`: document frequencies in the collection, and a page's characteristic
terms.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy import logs
from proxy.cli.options import Config, Data, Json, open_collection, print_json, settings_from
from proxy.errors import LinkmendError
from repair.text.termselection import SIGNATURES, drop_common, lexical_signature

if TYPE_CHECKING:
    from repair.collection.collection import Collection


def df(
    asked: Annotated[list[str], typer.Argument(metavar="WORD...", help="The words to look up.")],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """How many saved pages contain a word (df), and how often it occurs in total (cf). Words are stemmed."""
    from repair.collection.index.vectors import FIELDS, hashes
    from repair.text import words

    body = FIELDS.index("body")
    pairs = [(word, term) for word in asked for term in dict.fromkeys(words.terms(word))]
    with _open_collection(config, data) as collection:
        known = collection.statistics(hashes(term for _, term in pairs), (body,))
    table = Table("word", "term", "df", "cf", title=f"Of {known.pages} pages")
    for at, (word, term) in enumerate(pairs):
        pages, times = int(known.df[body, at]), int(known.cf[body, at])
        if as_json:
            print_json({"word": word, "term": term, "df": pages, "cf": times, "pages": known.pages})
        else:
            table.add_row(Text(word), Text(term), str(pages), str(times))
    if not as_json:
        Console().print(table)


def signature(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of a saved page.")],
    size: Annotated[
        int, typer.Option("--terms", metavar="N", min=1, max=100, help="How many terms; 5 or 7 work best.")
    ] = SIGNATURES[0],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Print the lexical signature of a saved page: the terms with the highest tf-idf, to find it again."""
    from repair.text import words

    with _open_collection(config, data) as collection:
        page = collection.get(url)
        if page is None:
            raise LinkmendError(f"{url}: no saved page with this address")
        terms, pages, frequency = (
            words.terms(page.text, page.language),
            collection.size(),
            collection.document_frequency,
        )
        found = lexical_signature(drop_common(terms, frequency, pages), frequency, pages, size)
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
def _open_collection(config: Path | None, data: Path | None) -> Iterator["Collection"]:
    settings = settings_from(config)
    logs.set_up(settings.log)
    with open_collection(settings, data) as collection:
        collection.commit()  # so that pages imported a moment ago count
        yield collection
