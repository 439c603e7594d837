"""What a classifier learnt of a topic, as plain numbers: judging a page needs no scikit-learn.

A weight for each term of a tf-idf vector, and the two numbers of Platt's calibration. `repair.crawling.classifier`
learns them.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Terms = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicModel:
    """`terms` gives each term's inverse document frequency and its weight; `slope` and `offset` calibrate."""

    terms: Mapping[str, tuple[float, float]]
    bias: float
    slope: float
    offset: float

    def decide(self, terms: Terms) -> float:
        """The machine's own number, above 0 for the topic; for texts too short for a probability to mean much."""
        product = square = 0.0
        known = self.terms
        for term, count in Counter(terms).items():
            if (entry := known.get(term)) is not None:
                value = entry[0] * (1.0 + math.log(count) if count > 1 else 1.0)
                product += value * entry[1]
                square += value * value
        return self.bias + (product / math.sqrt(square) if square else 0.0)

    def probability(self, terms: Terms) -> float:
        """The probability that a page belongs to the topic."""
        return 1.0 / (1.0 + math.exp(min(700.0, self.slope * self.decide(terms) + self.offset)))
