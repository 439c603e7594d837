"""Words against words: every query feature against the fields of every candidate, by several scores."""

import numpy as np

from repair.collection.index.vectors import FIELDS, TermStatistics, TermVectors
from repair.ranking import scoring
from repair.ranking.features.frequencies import FrequencyQuery, Table
from repair.ranking.queryfeatures import NAMES

TITLE, URL, ANCHORS, BODY = (FIELDS.index(name) for name in ("title", "url", "anchors", "body"))
_FIELD_NAMES = {TITLE: "title", URL: "url", ANCHORS: "anchors", BODY: "body"}
_TITLED = ("anchor", "slug", "dirs", "inlinks", "copy")
_AROUND = ("context", "around")
# While a page is still at the URL its links lead to, the words of other links and its anchor index are the same
# links: comparing them would look the URL up.
_ONLY_TEXT = ("inlinks", "around")

MATCHED = tuple(
    f"{feature}.{_FIELD_NAMES[field]}"
    for field in _FIELD_NAMES
    for feature in NAMES
    if not (field == ANCHORS and feature in _ONLY_TEXT)
)
COLUMNS = (
    *MATCHED,
    *(f"{feature}.lm" for feature in NAMES),
    *(f"{feature}.title_dice" for feature in _TITLED),
    *(f"{feature}.title_all" for feature in (*_TITLED, *_AROUND)),
    *(f"{feature}.body_all" for feature in _TITLED),
)


def columns(query: FrequencyQuery, tf: Table, vectors: TermVectors, statistics: TermStatistics) -> Table:
    """COLUMNS of each candidate, each scaled to about 0..1 by the score of a perfect match."""
    rarity = scoring.idf(statistics.df[BODY], statistics.pages)
    perfect = np.maximum((query.weights * rarity).sum(axis=1), 1e-6)
    found: list[scoring.Matrix] = []
    for field in _FIELD_NAMES:
        matched = scoring.bm25(
            tf[field], vectors.lengths[:, field], statistics.mean_length(field), rarity, query.weights
        )
        kept = [row for row, name in enumerate(NAMES) if not (field == ANCHORS and name in _ONLY_TEXT)]
        found.append((matched / perfect)[:, kept])
    background = statistics.cf[BODY] / max(1, statistics.lengths[BODY])
    modelled = scoring.dirichlet(tf[BODY], vectors.lengths[:, BODY], background, query.weights)
    found.append(modelled / np.maximum(query.weights.sum(axis=1), 1e-6))
    titled, around = ([NAMES.index(name) for name in names] for names in (_TITLED, _AROUND))
    common = scoring.shared_terms(tf[TITLE], query.weights[titled + around])
    found.append(scoring.dice(common[:, : len(titled)], vectors.distinct[:, TITLE], query.sizes[titled]))
    found.append(common / np.maximum(vectors.distinct[:, TITLE], 1)[:, None])
    found.append(scoring.coverage(tf[BODY] + tf[TITLE], rarity, query.weights[titled]))
    whole: Table = np.concatenate(found, axis=1).astype(np.float32)
    return whole
