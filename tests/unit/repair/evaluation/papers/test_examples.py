"""What the papers' models learn from."""

import math

import numpy as np
import pytest

pytest.importorskip("sklearn")

from repair import simulate
from repair.papers import formula, termclassifier
from repair.papers.genetic import Breeding, bred
from repair.papers.lessons import Ranks, plans, source_examples, term_examples, together
from repair.papers.postings import WEIGHTINGS, Postings
from repair.papers.singles import FEATURES
from repair.simulate import Variant
from tests.folders import a_folder


@pytest.fixture
def plan(tmp_path):
    return plans([a_folder(tmp_path / "site")])[0]


def test_only_train_links_are_learnt_from(plan):
    assert (plan.split, plan.variant) == ("train", Variant.MOVED)


def test_the_single_sources_list_the_answers_among_their_candidates(plan, tmp_path):
    found = source_examples(plan, tmp_path / "cache")
    assert found.rows.shape[1] == len(FEATURES)
    assert (found.links, int(found.answer.sum())) == (8, 8)
    assert found.rows.min() >= 0
    assert found.rows.max() == 1
    tree, recall = bred(found, range(len(FEATURES)), Breeding(generations=2, population=20))
    assert recall == 1.0
    assert formula.loads(formula.dumps(tree, FEATURES, {}), FEATURES) == tree


def test_terms_are_good_or_bad_by_where_they_move_the_answer(plan, tmp_path):
    rows, good = term_examples(plan, tmp_path / "cache")
    assert rows.shape == (len(good), len(termclassifier.FEATURES))


def test_ranks_are_those_of_the_language_model(plan, tmp_path):
    with simulate.collection(plan, tmp_path / "cache") as collection:
        postings = Postings(collection)
        for terms in (["lava"], ["guid", "lava"], ["guid", "tide", "ash"], ["guid", "tide", "ash", "moon"]):
            matched = postings.matched(terms)
            values = WEIGHTINGS["lm"](matched)
            for place, value in zip(matched.places, values, strict=True):
                ranks = Ranks(postings, int(place))
                assert ranks(terms[:-1]) >= 1
                assert ranks(terms) == 1 + (values > value + 1e-5).sum()
            assert Ranks(postings, 11)(["lava"]) == math.inf


def test_links_of_several_collections_are_numbered_on(plan, tmp_path):
    found = source_examples(plan, tmp_path / "cache")
    both = together([found, found])
    assert (both.links, len(both.rows)) == (16, 2 * len(found.rows))
    assert np.all(np.diff(both.link) >= 0)
