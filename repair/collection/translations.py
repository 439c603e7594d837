"""Which saved pages are translations of one another, in the collection's database.

Two things tell. A page names its translations itself (`hreflang`), which counts within one site only, as any page
could claim any other. And parallel addresses differ in nothing but the name of a language: `/ja/start`, `/de/start`
and, of the default edition, `/start`; so each saved page whose address names a language is noted under its address
without it.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from repair.collection.database import Database
from repair.model import Translation
from repair.text.languages import address_language, same_language, without_language
from repair.text.urls import url_hash

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS translations (page INTEGER NOT NULL, language TEXT NOT NULL, url TEXT NOT NULL,"
    " PRIMARY KEY (page, language)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS editions (address INTEGER NOT NULL, page INTEGER NOT NULL,"
    " PRIMARY KEY (address, page)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS editions_page ON editions (page)",
)
_SAVED = "SELECT url, pages.language FROM urls JOIN pages USING (id)"
_PARALLEL = "(SELECT page FROM editions WHERE address = ? ORDER BY page LIMIT ?)"
_MOST_PARALLEL = 100  # rows read: two addresses may have the same number
_MOST = 40


class SavedTranslations:
    """The tables; methods block, from any thread, in any number of processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    def replace(self, page: int, url: str, declared: Iterable[Translation]) -> None:
        """Note what a page that is saved under a URL says of its translations."""
        with self._database.write() as connection:
            self.remove(page)
            connection.executemany(
                "INSERT OR IGNORE INTO translations VALUES (?, ?, ?)",
                [(page, each.language, each.url) for each in declared],
            )
            if plain := without_language(url):
                connection.execute("INSERT INTO editions VALUES (?, ?)", (url_hash(plain), page))

    def remove(self, page: int) -> None:
        """Forget what a page said, and its place among parallel addresses."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM translations WHERE page = ?", (page,))
            connection.execute("DELETE FROM editions WHERE page = ?", (page,))

    def of(self, page: int, url: str, language: str) -> tuple[Translation, ...]:
        """The saved translations of a saved page, by language, one of each; the page itself is none of them.

        A page's own word comes before that of its address.
        """
        own = same_language(language) or address_language(url)
        found: dict[str, Translation] = {}
        with self._database.read() as connection:
            for other, its_language in (*_declared(connection, page), *_parallel(connection, url)):
                code = same_language(its_language) or address_language(other)
                if code and code != own and other != url:
                    found.setdefault(code, Translation(language=code, url=other))
        return tuple(sorted(found.values(), key=lambda each: each.language)[:_MOST])


def _declared(connection: sqlite3.Connection, page: int) -> Sequence[tuple[str, str]]:
    """The saved pages that a page names, with the languages that it says they are in."""
    return connection.execute(
        "SELECT url, translations.language FROM translations JOIN urls USING (url)"
        " JOIN pages ON pages.id = urls.id WHERE page = ?",
        (page,),
    ).fetchall()


def _parallel(connection: sqlite3.Connection, url: str) -> list[tuple[str, str]]:
    """The saved pages at parallel addresses, with their languages."""
    plain = without_language(url) or url
    rows = connection.execute(
        f"{_SAVED} WHERE pages.id IN {_PARALLEL} ORDER BY url",
        (url_hash(plain), _MOST_PARALLEL),
    ).fetchall()
    found = [(other, language) for other, language in rows if without_language(other) == plain]
    return found + connection.execute(f"{_SAVED} WHERE url = ?", (plain,)).fetchall()
