import numpy as np

from repair.ranking.features import FEATURES, RAW
from repair.ranking.rankmodel import RISING, SIGNALS, ranking_signals

TITLE, BODY = FEATURES.index("anchor.title"), FEATURES.index("anchor.body")


def candidates(*values):
    """Candidates with the given anchor.title and anchor.body; all other features are 0."""
    rows = np.zeros((len(values), len(FEATURES)), np.float32)
    rows[:, [TITLE, BODY]] = values
    return rows


def signals(rows, scores):
    return dict(zip(SIGNALS, ranking_signals(rows, np.array(scores)).tolist(), strict=True))


def test_signals_compare_the_first_candidate_with_the_second_and_with_the_best_of_all_others():
    found = signals(candidates((0.25, 2.0), (1.0, 1.5), (0.5, 8.0)), [1.0, 3.0, 2.0])
    assert (found["first.anchor.title"], found["first.anchor.body"]) == (1.0, 1.5)
    assert (found["second.anchor.title"], found["second.anchor.body"]) == (0.5, -6.5)
    assert (found["others.anchor.title"], found["others.anchor.body"]) == (0.5, -6.5)
    found = signals(candidates((0.75, 2.0), (1.0, 1.5), (0.5, 1.0)), [1.0, 3.0, 2.0])
    assert (found["second.anchor.title"], found["others.anchor.title"]) == (0.5, 0.25)
    assert (found["second.anchor.body"], found["others.anchor.body"]) == (0.5, -0.5)


def test_a_lone_candidate_is_ahead_by_all_that_it_has():
    found = signals(candidates((1.0, 1.5)), [3.0])
    assert found["second.anchor.body"] == found["others.anchor.body"] == found["first.anchor.body"] == 1.5


def test_how_many_candidates_there_are_is_no_signal_and_neither_is_the_height_of_their_scores():
    rows = candidates((1.0, 1.5), (0.5, 1.0))
    assert signals(rows, [3.0, 2.0]) == signals(rows, [13.0, 12.0])
    assert len(SIGNALS) == len(set(SIGNALS)) == len(RISING)


def test_agreement_may_only_raise_the_odds_and_the_sort_of_page_may_count_either_way():
    rising = dict(zip(SIGNALS, RISING, strict=True))
    for name in ("address.path", "address.same_slug", "anchor=title", "slug.body", "language.source"):
        assert rising[f"first.{name}"]
        assert rising[f"second.{name}"]
        assert rising[f"others.{name}"]
    assert rising["margin"]
    assert not any(rising[name] for name in ("first.body_length", "others.prior.url", "known.inlinks"))
    assert all(f"first.{name}" in rising for name in RAW)
