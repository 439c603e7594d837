"""Scores between texts, over matrices of exact frequencies: candidates by terms in, candidates by queries out.

All are pure functions of counts. `tf` is candidates by terms, `weights` is queries by terms, lengths are
per candidate. A term that no candidate has costs only a multiplication by zero.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.floating[Any]]
Row = npt.NDArray[np.floating[Any]]

K1 = 1.2
B = 0.75
DIRICHLET = 2000.0
"""The smoothing that Bashir calls LM2000."""
JELINEK_MERCER = 0.5
_TINY = np.float32(1e-9)


def idf(df: Row, pages: int) -> Row:
    """Lucene's inverse document frequency, which is never negative."""
    rarity: Row = np.log1p((pages - np.minimum(df, pages) + 0.5) / (df + 0.5)).astype(np.float32)
    return rarity


def bm25(tf: Matrix, lengths: Row, mean_length: float, rarity: Row, weights: Matrix) -> Matrix:
    """Okapi BM25 with Lucene's k1 and b, without the constant factor k1 + 1."""
    norm = K1 * (1 - B + B * lengths / mean_length)
    return (tf / (tf + norm[:, None] + _TINY) * rarity) @ weights.T


def tf_sum(tf: Matrix, weights: Matrix) -> Matrix:
    """Occurrences of the query terms."""
    return tf @ weights.T


def df_sum(tf: Matrix, df: Row, pages: int, weights: Matrix) -> Matrix:
    """How rare the matching terms are: 1 - df/N each."""
    return ((tf > 0) * (1 - np.minimum(df, pages) / max(1, pages))).astype(np.float32) @ weights.T


def tf_idf(tf: Matrix, rarity: Row, weights: Matrix) -> Matrix:
    """Logarithm of tf times idf."""
    return (np.log1p(tf) * rarity) @ weights.T


def dirichlet(tf: Matrix, lengths: Row, background: Row, weights: Matrix, mu: float = DIRICHLET) -> Matrix:
    """Log-likelihood of the query under the candidate's model with Dirichlet smoothing, less what all share.

    `background` is the probability of each term in the collection; a term it lacks cannot separate pages.
    """
    seen = np.where(background > 0, tf / (mu * np.maximum(background, _TINY)), 0.0)
    mass = weights.sum(axis=1)
    scored: Matrix = np.log1p(seen) @ weights.T + np.log(mu / (mu + lengths))[:, None] * mass
    return scored


def jelinek_mercer(
    tf: Matrix, lengths: Row, background: Row, weights: Matrix, own: float = JELINEK_MERCER
) -> Matrix:
    """Log-likelihood under a mixture of the candidate's model and the collection's, less what all share."""
    share = tf / np.maximum(lengths, 1)[:, None]
    ratio = own * share / ((1 - own) * np.maximum(background, _TINY))
    scored: Matrix = np.log1p(np.where(background > 0, ratio, 0.0)) @ weights.T
    return scored


def coverage(tf: Matrix, rarity: Row, weights: Matrix) -> Matrix:
    """The share of a query's weight, terms weighted by idf, that a candidate matches: 0 to 1."""
    whole = np.maximum((weights * rarity).sum(axis=1), _TINY)
    share: Matrix = ((tf > 0) * rarity).astype(np.float32) @ weights.T / whole
    return share


def shared_terms(tf: Matrix, weights: Matrix) -> Matrix:
    """How many different terms candidate and query share."""
    return (tf > 0).astype(np.float32) @ (weights > 0).T.astype(np.float32)


def dice(common: Matrix, distinct: Row, sizes: Row) -> Matrix:
    """Twice the common terms over the sum of both sizes."""
    return 2 * common / np.maximum(distinct[:, None] + sizes, 1)


def tanimoto(common: Matrix, distinct: Row, sizes: Row) -> Matrix:
    """The common terms over the union."""
    share: Matrix = common / np.maximum(distinct[:, None] + sizes - common, 1)
    return share


def cosine(left: Row, right: Row) -> float:
    """The cosine of two vectors of weights over the same terms."""
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / norm if norm else 0.0


def divergence(left: Row, right: Row) -> float:
    """Kullback-Leibler divergence of two models over the same terms, the right one slightly smoothed."""
    p = left / max(float(left.sum()), 1e-9)
    q = (right + 1e-6) / float((right + 1e-6).sum())
    present = p > 0
    return float((p[present] * np.log(p[present] / q[present])).sum())
