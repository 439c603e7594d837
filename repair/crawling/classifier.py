"""Learns whether pages belong to a topic from pages that do and pages that do not.

A linear support vector machine on tf-idf, as in the paper (Bashir 2018, section 5.1), with Platt's calibration over
cross-validated decisions, so that it gives a probability. Needs scikit-learn (the extra `learn`); only the crawler
imports this module, never the proxy.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from repair.crawling.topicmodel import Terms, TopicModel

_MAX_TERMS = 50_000
_FOLDS = 5

Numbers = npt.NDArray[np.float64]


def learn_topic(
    positives: Sequence[Terms], negatives: Sequence[Terms], *, cost: float = 1.0, calibrate: bool = True
) -> TopicModel:
    """A model from pages that belong to the topic and pages that do not, at least two of each.

    Without `calibrate` it takes a fifth of the time, and only what it decides counts, not its probabilities.
    """
    vectorizer = TfidfVectorizer(analyzer=_terms_as_they_are, sublinear_tf=True, max_features=_MAX_TERMS)
    vectors = vectorizer.fit_transform([*positives, *negatives])
    labels = np.array([1] * len(positives) + [0] * len(negatives))
    machine = LinearSVC(C=cost, class_weight="balanced", random_state=0)
    slope, offset = -1.0, 0.0
    if calibrate:
        folds = max(2, min(_FOLDS, len(positives), len(negatives)))
        fitted = CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False)
        calibrated = fitted.fit(vectors, labels).calibrated_classifiers_[0]
        machine, (platt,) = calibrated.estimator, calibrated.calibrators
        slope, offset = float(platt.a_), float(platt.b_)
    else:
        machine.fit(vectors, labels)
    rarities, weights = vectorizer.idf_.tolist(), machine.coef_[0].tolist()
    return TopicModel(
        terms={term: (rarities[column], weights[column]) for term, column in vectorizer.vocabulary_.items()},
        bias=float(machine.intercept_[0]),
        slope=slope,
        offset=offset,
    )


def learn_link_words(good: Sequence[Terms], bad: Sequence[Terms]) -> TopicModel:
    """The same from the words of links; nobody asks it for probabilities."""
    return learn_topic(good, bad, calibrate=False)


def _terms_as_they_are(terms: Terms) -> Terms:
    return terms


def learn_link_weights(features: Numbers, outcomes: Sequence[bool]) -> tuple[Numbers, float]:
    """Weights and a bias for the features of links, by logistic regression on what came of them."""
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    fitted = LogisticRegression(C=0.5).fit((features - mean) / spread, np.array(outcomes))
    weights: Numbers = fitted.coef_[0] / spread
    return weights, float(fitted.intercept_[0] - (mean * weights).sum())
