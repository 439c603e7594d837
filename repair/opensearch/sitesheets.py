"""The known URLs of each site, saved or linked to, as one document of the index: an even sample of at most 3,000.

Ranking weighs the words of a lost page's URL by the other URLs of its site, and looks for editions of the site at
hosts beside it. From pages alone a site whose pages have all moved would be unknown, and three thousand hits cost
more than everything else that a repair asks. A sample is the URLs with the least hashes, so that schools that add to
a sheet in any order make the same, which is also that of a collection with all their pages.
"""

import base64
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from repair.bounded import BoundedDict
from repair.opensearch.pagedocument import column_bytes, page_number, site_of
from repair.text.urls import even_sample

SAMPLE = 3_000
_MAX_BYTES = 8_000_000
_NOTED = 200_000


def sheet_number(site: str) -> int:
    """The number of a site's document."""
    return page_number(f"sheet {site}")


def sheet(site: str, addresses: Iterable[str]) -> dict[str, Any]:
    """The document with the URLs of a site; its first line says whose it is."""
    lines = "\n".join((site, *even_sample(addresses, SAMPLE))).encode("utf-8", "replace")
    packed = base64.b64encode(zlib.compress(lines)).decode()
    return {"number": sheet_number(site), "addresses": packed}


def unpacked_sheet(column: str) -> tuple[str, tuple[str, ...]]:
    """The site of a sheet and its URLs; raises ValueError for anything else."""
    try:
        lines = zlib.decompressobj().decompress(column_bytes(column), _MAX_BYTES).decode("utf-8", "replace")
    except zlib.error as error:
        raise ValueError(str(error)) from error
    site, *addresses = lines.split("\n")
    return site, tuple(address for address in addresses[:SAMPLE] if address.startswith(site))


def changed_sheet(
    site: str, column: str | None, added: Iterable[str], removed: Iterable[str]
) -> dict[str, Any] | None:
    """A site's document with URLs added and removed; None when that changes nothing."""
    before: tuple[str, ...] = ()
    with suppress(ValueError):  # some school may have left anything there: then it begins anew
        before = unpacked_sheet(column)[1] if column else ()
    after = even_sample({*before, *added}.difference(removed), SAMPLE)
    return None if set(before) == set(after) else sheet(site, after)


class NewAddresses:
    """Which of the URLs that a process meets it has not told the district yet."""

    def __init__(self) -> None:
        self._told = BoundedDict[str, None](_NOTED)

    def by_site(self, urls: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Those that were not told, by site."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for url in dict.fromkeys(urls):
            if url not in self._told and (site := site_of(url)):
                found[site].append(url)
        return found

    def told(self, urls: Iterable[str]) -> None:
        """The district has these."""
        for url in urls:
            self._told[url] = None
