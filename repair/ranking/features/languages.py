"""Languages: whether a candidate is in the language that the lost page was probably in.

The address of the lost page, the page of the click and the pages that link to the lost one each say which language
that was. An address that names none says one too where other editions of the site name theirs: that of the default
edition. A value is 1 where the candidate agrees, -1 where it contradicts and 0 where either is unknown. A
half-translated page has its title or links in one language and its text in another, so each is compared.
"""

from collections import Counter
from collections.abc import Callable, Sequence

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
    default_edition: Table,
) -> Table:
    """COLUMNS of each candidate; `backlinks` are the saved pages that link to the lost one.

    source, address, backlinks  the language of the candidate's text against what each of them says
    expected                    the same against the first of address and source that says anything
    title                       the script of the title against that of the expected language
    links                       which edition the candidate links to (by candidate: `editions`, where the address
                                names one, else `default_edition`)
    addresses                   the language in the candidate's own address
    script                      the script of the title against that of the link
    all                         the mean of those of the candidate's signs that say anything
    sure                        1 where any sign is the expected language, -1 where all that speak are another
    signs                       how many more signs agree than contradict
    both                        -1 where the text contradicts both the address and the source
    edition                     what its links and its address say together
    variety                     simplified or traditional Chinese, where Chinese is expected
    """
    own = [same_language(page.language) for page in pages]
    source, named = query_features.language, address_language(query_features.link.url)
    address = named or _default_language(query_features, own)
    expected = address or source
    linking = Counter(filter(None, (same_language(page.language) for page in backlinks)))
    script = script_of(query_features.link.anchor) if query_features.anchor_name else ""
    is_telling = bool(expected) and not is_latin(expected)  # Latin letters are those of many languages
    variety = _expected_variety(query_features) if expected == "zh" else 0
    there = [address_language(page.url) if query_features.compare_addresses else "" for page in pages]
    scripts = [script_of(page.title) for page in pages]
    spoken = _look_up(
        own,
        lambda code: (
            _agree(source, code),
            _agree(address, code),
            2 * linking[code] / linking.total() - 1 if linking and code else 0.0,
            _agree(expected, code),
        ),
    )
    addressed = _look_up(there, lambda code: (_agree(address, code), _agree(expected, code)))
    written = _look_up(scripts, lambda found: (script_agrees(found, expected), _agree(script, found)))
    links = np.asarray(editions if named or not address else default_edition, np.float32)
    title = written[:, 0]
    signs = np.stack((spoken[:, 3], title, links, addressed[:, 0]), axis=1)
    counted = np.stack((spoken[:, 3], title * is_telling, np.sign(links), addressed[:, 1]), axis=1)
    is_foreign = (counted.min(axis=1) < 0) | (title < 0)
    found = np.zeros(len(pages))
    if variety:
        found[:] = [chinese_variety(page.title) or address_variety(page.url) for page in pages]
    derived = (
        written[:, 1],
        signs.sum(axis=1) / np.maximum((signs != 0).sum(axis=1), 1),
        np.where(counted.max(axis=1) > 0, 1.0, -1.0 * is_foreign),
        counted.sum(axis=1),
        -1.0 * ((spoken[:, 0] < 0) & (spoken[:, 1] < 0)),
        np.sign(np.where(links != 0, links, addressed[:, 1])),
        variety * found,
    )
    rows: Table = np.concatenate((spoken[:, :3], signs, np.stack(derived, axis=1)), axis=1)
    return rows.astype(np.float32)


def _default_language(query_features: QueryFeatures, spoken: Sequence[str]) -> str:
    """The language of the site's default edition, which its addresses need not name; "" when there is none.

    It is the one that most candidates speak of those that no other edition has.
    """
    others = frozenset(query_features.editions.values())
    found = Counter(code for code in spoken if code and code not in others) if others else Counter[str]()
    return max(found, key=lambda code: (found[code], code), default="")


def _look_up(found: Sequence[str], judge: Callable[[str], tuple[float, ...]]) -> Table:
    """A row for each of them; candidates share a few languages and scripts, and each is judged once."""
    judged = {each: judge(each) for each in set(found)}
    return np.array([judged[each] for each in found], np.float32)


def _expected_variety(query_features: QueryFeatures) -> int:
    link = query_features.link
    around = f"{link.before[-_AROUND:]}{link.anchor}{link.after[:_AROUND]}"
    return address_variety(link.url) or chinese_variety(around)


def _agree(wanted: str, found: str) -> float:
    if not (wanted and found):
        return 0.0
    return 1.0 if wanted == found else -1.0
