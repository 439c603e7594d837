"""Words against words: every clue held against the fields of every candidate, by several scores."""

import numpy as np

from repair import scores
from repair.clues import NAMES
from repair.features.frequencies import Asked, Table
from repair.vectors import FIELDS, Statistics, Vectors

TITLE, URL, ANCHORS, BODY = (FIELDS.index(name) for name in ("title", "url", "anchors", "body"))
_FIELD_NAMES = {TITLE: "title", URL: "url", ANCHORS: "anchors", BODY: "body"}
_TITLED = ("anchor", "slug", "dirs", "inlinks", "copy")
# While a page still stands where its links lead, other links' words and its anchor index are the same links:
# comparing them would be looking the address up.
_ONLY_TEXT = ("inlinks", "around")

MATCHED = tuple(
    f"{clue}.{_FIELD_NAMES[field]}"
    for field in _FIELD_NAMES
    for clue in NAMES
    if not (field == ANCHORS and clue in _ONLY_TEXT)
)
COLUMNS = (
    *MATCHED,
    *(f"{clue}.lm" for clue in NAMES),
    *(f"{clue}.title_dice" for clue in _TITLED),
    *(f"{clue}.title_all" for clue in _TITLED),
    *(f"{clue}.body_all" for clue in _TITLED),
)


def columns(asked: Asked, tf: Table, vectors: Vectors, statistics: Statistics) -> Table:
    """COLUMNS of each candidate, each brought to about 0..1 by what a perfect match would have."""
    rarity = scores.idf(statistics.df[BODY], statistics.pages)
    perfect = np.maximum((asked.weights * rarity).sum(axis=1), 1e-6)
    found: list[scores.Matrix] = []
    for field in _FIELD_NAMES:
        matched = scores.bm25(
            tf[field], vectors.lengths[:, field], statistics.mean_length(field), rarity, asked.weights
        )
        kept = [row for row, name in enumerate(NAMES) if not (field == ANCHORS and name in _ONLY_TEXT)]
        found.append((matched / perfect)[:, kept])
    background = statistics.cf[BODY] / max(1, statistics.lengths[BODY])
    modelled = scores.dirichlet(tf[BODY], vectors.lengths[:, BODY], background, asked.weights)
    found.append(modelled / np.maximum(asked.weights.sum(axis=1), 1e-6))
    titled = [NAMES.index(name) for name in _TITLED]
    common = scores.shared(tf[TITLE], asked.weights[titled])
    found.append(scores.dice(common, vectors.distinct[:, TITLE], asked.sizes[titled]))
    found.append(common / np.maximum(vectors.distinct[:, TITLE], 1)[:, None])
    found.append(scores.coverage(tf[BODY] + tf[TITLE], rarity, asked.weights[titled]))
    whole: Table = np.concatenate(found, axis=1).astype(np.float32)
    return whole
