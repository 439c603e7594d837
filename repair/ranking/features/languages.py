"""Languages: whether a candidate is in the language that the lost page was probably in.

The address of the lost page, the page of the click and the pages that link to the lost one each say which language
that was. A value is 1 where the candidate agrees, -1 where it contradicts and 0 where either is unknown. A
half-translated page has its title or links in one language and its text in another, so each is compared.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from repair.collection.pages import PageSummary
from repair.ranking.features.frequencies import Table
from repair.ranking.queryfeatures import QueryFeatures
from repair.text.languages import (
    address_language,
    address_variety,
    chinese_variety,
    is_latin,
    same_language,
    script_agrees,
    script_of,
)

COLUMNS = (
    "language.source",
    "language.address",
    "language.backlinks",
    "language.expected",
    "language.title",
    "language.links",
    "language.addresses",
    "language.script",
    "language.all",
    "language.sure",
    "language.signs",
    "language.both",
    "language.edition",
    "language.variety",
)
_AROUND = 80  # characters of text before and after the link


def columns(
    query_features: QueryFeatures,
    pages: Sequence[PageSummary],
    backlinks: Sequence[PageSummary],
    editions: Table,
) -> Table:
    """COLUMNS of each candidate; `backlinks` are the saved pages that link to the lost one.

    source, address, backlinks  the language of the candidate's text against what each of them says
    expected                    the same against the first of address and source that says anything
    title                       the script of the title against that of the expected language
    links                       which edition the candidate links to (`editions`, by candidate)
    addresses                   the language in the candidate's own address
    script                      the script of the title against that of the link
    all                         the mean of those of the candidate's signs that say anything
    sure                        1 where any sign is the expected language, -1 where all that speak are another
    signs                       how many more signs agree than contradict
    both                        -1 where the text contradicts both the address and the source
    edition                     what its links and its address say together
    variety                     simplified or traditional Chinese, where Chinese is expected
    """
    source, address = query_features.language, address_language(query_features.link.url)
    expected = address or source
    linking = Counter(filter(None, (same_language(page.language) for page in backlinks)))
    script = script_of(query_features.link.anchor) if query_features.anchor_name else ""
    is_telling = bool(expected) and not is_latin(expected)  # Latin letters are those of many languages
    variety = _expected_variety(query_features) if expected == "zh" else 0
    by_language: dict[str, tuple[float, ...]] = {}
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    for row, (page, links) in enumerate(zip(pages, editions.tolist(), strict=True)):
        own = same_language(page.language)
        if own not in by_language:
            by_language[own] = (
                _agree(source, own),
                _agree(address, own),
                2 * linking[own] / linking.total() - 1 if linking and own else 0.0,
                _agree(expected, own),
            )
        spoken = by_language[own]
        title = script_agrees(page.title, expected)
        there = address_language(page.url) if query_features.compare_addresses else ""
        signs = (spoken[3], title, links, _agree(address, there))
        telling = [sign for sign in signs if sign]
        edition = links or _agree(expected, there)
        counted = spoken[3], title if is_telling else 0.0, _sign(links), _agree(expected, there)
        found = chinese_variety(page.title) or address_variety(page.url) if variety else 0
        rows[row] = (
            *spoken[:3],
            *signs,
            _agree(script, script_of(page.title)),
            sum(telling) / len(telling) if telling else 0.0,
            1.0 if max(counted) > 0 else -1.0 if min(*counted, title) < 0 else 0.0,
            sum(counted),
            -1.0 if spoken[0] < 0 and spoken[1] < 0 else 0.0,
            _sign(edition),
            variety * found,
        )
    return rows


def _expected_variety(query_features: QueryFeatures) -> int:
    link = query_features.link
    around = f"{link.before[-_AROUND:]}{link.anchor}{link.after[:_AROUND]}"
    return address_variety(link.url) or chinese_variety(around)


def _sign(value: float) -> float:
    return (value > 0) - (value < 0)


def _agree(wanted: str, found: str) -> float:
    if not (wanted and found):
        return 0.0
    return 1.0 if wanted == found else -1.0
