"""Training examples for the papers' models."""

import math

import numpy as np
import pytest

pytest.importorskip("sklearn")

from repair.evaluation.papers import formula, termclassifier
from repair.evaluation.papers.examples import (
    RankedExamples,
    join_examples,
    plans,
    source_examples,
    term_examples,
)
from repair.evaluation.papers.genetic import Breeding, breed
from repair.evaluation.papers.postings import WEIGHTINGS, Postings
from repair.evaluation.papers.singlesources import FEATURES
from repair.simulation import pseudobroken
from repair.simulation.pseudobroken import Variant
from tests.folders import a_folder


@pytest.fixture
def plan(tmp_path):
    return plans([a_folder(tmp_path / "site")])[0]


def test_only_train_links_are_used(plan):
    assert (plan.split, plan.variant) == ("train", Variant.MOVED)


def test_answers_are_among_the_candidates_of_single_sources(plan, tmp_path):
    found = source_examples(plan, tmp_path / "cache")
    assert found.rows.shape[1] == len(FEATURES)
    assert (found.links, int(found.answer.sum())) == (8, 8)
    assert found.rows.min() >= 0
    assert found.rows.max() == 1
    tree, recall = breed(found, range(len(FEATURES)), Breeding(generations=2, population=20))
    assert recall == 1.0
    assert formula.loads(formula.dumps(tree, FEATURES, {}), FEATURES) == tree


def test_terms_are_good_or_bad_by_how_they_move_the_answer(plan, tmp_path):
    rows, good = term_examples(plan, tmp_path / "cache")
    assert rows.shape == (len(good), len(termclassifier.FEATURES))


def test_ranks_are_those_of_the_language_model(plan, tmp_path):
    with pseudobroken.collection(plan, tmp_path / "cache") as collection:
        postings = Postings(collection)
        for terms in (["lava"], ["guid", "lava"], ["guid", "tide", "ash"], ["guid", "tide", "ash", "moon"]):
            matched = postings.match(terms)
            values = WEIGHTINGS["lm"](matched)
            for place, value in zip(matched.places, values, strict=True):
                ranks = RankedExamples(postings, int(place))
                assert ranks(terms[:-1]) >= 1
                assert ranks(terms) == 1 + (values > value + 1e-5).sum()
            assert RankedExamples(postings, 11)(["lava"]) == math.inf


def test_links_of_several_collections_are_numbered_consecutively(plan, tmp_path):
    found = source_examples(plan, tmp_path / "cache")
    both = join_examples([found, found])
    assert (both.links, len(both.rows)) == (16, 2 * len(found.rows))
    assert np.all(np.diff(both.link) >= 0)
