"""The link classifier of Bashir (2018, section 5.2): can a link be repaired, judged by how common its words are.

Four averages over the words of a link: in how many local pages they are (avg_df_local), how often there
(avg_cf_local), in how many pages of the world (avg_df_global), and how often in the page with the link (avg_tf). The
world is a sample of pages of other collections. Our own model judges by what the ranking looks like; `compare` tells
how well each does alone, and both together. Needs scikit-learn.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repair.model import BrokenLink
from repair.text import urls, words

FEATURES = ("avg_df_local", "avg_cf_local", "avg_df_global", "avg_tf")
_FOLDS = 5
_SEED = 7


@dataclass(frozen=True, slots=True)
class TermCounts:
    """In how many of `pages` pages each term is, and how often in all."""

    pages: int
    documents: Counter[str]
    occurrences: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[Counter[str]]) -> "TermCounts":
        """Counted from the terms of pages."""
        pages, documents, occurrences = 0, Counter[str](), Counter[str]()
        for text in texts:
            pages += 1
            documents.update(text.keys())
            occurrences.update(text)
        return cls(pages, documents, occurrences)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLink:
    """A link with the paper's features, our probability that it can be repaired, and the truth.

    `link` is the same for both verdicts on one link: with its page saved, and without.
    """

    link: int
    features: tuple[float, ...]
    ours: float
    repairable: bool


def link_words(link: BrokenLink) -> list[str]:
    """The terms of the anchor, or of the address where the anchor has none."""
    return words.terms(link.anchor) or words.terms(" ".join(urls.path_words(link.url)))


def features_of(
    terms: Sequence[str],
    local: TermCounts,
    world: TermCounts,
    source: Counter[str],
    *,
    hidden: Sequence[Counter[str]] = (),
) -> tuple[float, ...]:
    """The four averages, on a logarithmic scale; `hidden` pages do not count as local."""

    def average(value: Callable[[str], float]) -> float:
        return sum(math.log1p(max(0.0, value(term))) for term in terms) / len(terms) if terms else 0.0

    return (
        average(lambda term: local.documents[term] - sum(term in page for page in hidden)),
        average(lambda term: local.occurrences[term] - sum(page[term] for page in hidden)),
        average(lambda term: 10_000 * world.documents[term] / max(1, world.pages)),
        average(lambda term: source[term]),
    )


def compare(judged: Sequence[JudgedLink]) -> dict[str, float]:
    """The accuracy of each set of features, by a classifier learnt on other links (five folds over links)."""
    paper = np.array([each.features for each in judged])
    ours = np.array([[each.ours] for each in judged])
    truth = np.array([each.repairable for each in judged])
    links = np.array([each.link for each in judged])
    sets = {"paper": paper, "ours": ours, "both": np.hstack((paper, ours))}
    return {name: _accuracy(rows, truth, links) for name, rows in sets.items()}


def _accuracy(
    rows: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_], links: npt.NDArray[np.int64]
) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import GroupKFold, cross_val_score

    model = HistGradientBoostingClassifier(max_iter=60, max_depth=3, random_state=_SEED)
    scores = cross_val_score(model, rows, truth, groups=links, cv=GroupKFold(_FOLDS))
    return round(float(np.mean(scores)), 4)
