"""The editions of a site: directories, hosts and names of files that name a language, as its known URLs show them.

On a site that has `/ja/` and `/es/`, `ja.school.test` beside `school.test` or `rules.ja.html` beside `rules.html`, a
URL that names no language says one too: that of the default edition, which is none of those named.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from repair.text import urls
from repair.text.languages import address_language, edition_of

_LEAST_URLS = 3  # fewer may be chance
_LEAST_SHARE = 0.005
_LEAST_NAMED_OTHERWISE = 0.05  # many file names end in two letters that are also the code of a language
_LEAST_DEFAULT = 0.1
_MOST_EDITIONS = 24
HOST_SAMPLE = 20
_HOST_CODES = (
    *("ar", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he"),
    *("hi", "hu", "id", "it", "ja", "ko", "nl", "no", "pl", "pt", "ro", "ru"),
    *("sv", "th", "tr", "uk", "vi", "zh", "cn", "zh-hk", "jp", "kr", "tw", "ua"),
)
"""Names of hosts to look for beside one that names no language."""


class AddressLookup(Protocol):
    """Knows the URLs of a host, saved or linked to."""

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known URLs with a prefix, sampled evenly."""


def site_editions(known: AddressLookup, beginning: str, sample: Sequence[str]) -> Mapping[str, str]:
    """The editions of a site with their languages, if it has a default edition too.

    Each is named by its directory, or by its language where that is in the names of files or in parameters. `sample`
    are URLs that begin with its host. Where nearly all of them name a language, those that do not are of no edition.
    """
    languages = [address_language(url) for url in sample]
    if languages.count("") < _LEAST_DEFAULT * len(sample):
        return {}
    editions = [edition_of(url) for url in sample]
    directories = Counter(filter(None, editions))
    if not address_language(beginning):
        directories.update(_counts_beside(known, beginning))
    least = max(_LEAST_URLS, _LEAST_SHARE * len(sample))
    found = {
        directory: address_language(directory)
        for directory, count in directories.most_common(_MOST_EDITIONS)
        if count >= least or not directory.startswith(beginning)
    }
    otherwise = Counter(
        code for code, edition in zip(languages, editions, strict=True) if code and not edition
    )
    least = max(_LEAST_URLS, _LEAST_NAMED_OTHERWISE * len(sample))
    return found | {code: code for code, count in otherwise.items() if count >= least}


def hosts_beside(beginning: str) -> list[str]:
    """The beginnings of URLs at hosts beside a host that name a language, whether there are any or not."""
    parts = urls.parse(beginning)
    host = parts.authority.removeprefix("www.")
    return [f"{parts.scheme}://{code}.{host}/" for code in _HOST_CODES] if "." in host else []


def _counts_beside(known: AddressLookup, beginning: str) -> dict[str, int]:
    counts = {root: len(known.addresses(root, HOST_SAMPLE)) for root in hosts_beside(beginning)}
    return {root: count for root, count in counts.items() if count >= _LEAST_URLS}
