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
from repair.text.languages import address_language, same_language, script_agrees, script_of

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
)


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
    """
    source, address = query_features.language, address_language(query_features.link.url)
    expected = address or source
    linking = Counter(filter(None, (same_language(page.language) for page in backlinks)))
    script = script_of(query_features.link.anchor) if query_features.anchor_name else ""
    addresses = query_features.compare_addresses and bool(address)
    rows = np.zeros((len(pages), len(COLUMNS)), np.float32)
    for row, page in enumerate(pages):
        own = same_language(page.language)
        signs = (
            _agree(expected, own),
            script_agrees(page.title, expected),
            float(editions[row]),
            _agree(address, address_language(page.url)) if addresses else 0.0,
        )
        telling = [sign for sign in signs if sign]
        rows[row] = (
            _agree(source, own),
            _agree(address, own),
            2 * linking[own] / linking.total() - 1 if linking and own else 0.0,
            *signs,
            _agree(script, script_of(page.title)),
            sum(telling) / len(telling) if telling else 0.0,
        )
    return rows


def _agree(wanted: str, found: str) -> float:
    if not (wanted and found):
        return 0.0
    return 1.0 if wanted == found else -1.0
