"""Genetic programming of formulas."""

import numpy as np

from repair.evaluation.papers.formula import values
from repair.evaluation.papers.genetic import Breeding, breed
from repair.learning.examples import Examples


def made_up(links=40, candidates=12):
    """The answer has the highest sum of the first two features, but of neither alone; the third is noise."""
    lots = np.random.default_rng(0)
    rows = lots.random((links * candidates, 3)).astype(np.float32)
    answer = np.arange(len(rows)) % candidates == 0
    rows[answer, 0] = lots.random(links)
    rows[:, 1] = np.where(answer, 1.2 - rows[:, 0], (1 - rows[:, 0]) * rows[:, 1])
    return Examples(
        name="made up",
        rows=rows,
        answer=answer,
        similarity=answer.astype(np.float32),
        link=np.repeat(np.arange(links), candidates),
    )


def test_breeding_finds_a_combination_of_features():
    tree, recall = breed(made_up(), [0, 1, 2], Breeding(generations=15, population=30))
    assert recall == 1.0
    assert values(tree, made_up().rows).shape == (480,)


def test_breeding_is_deterministic_and_reports_each_generation():
    heard = []
    rules = Breeding(generations=3, population=10)
    assert breed(made_up(), [0, 1, 2], rules) == breed(made_up(), [0, 1, 2], rules, heard.append)
    assert heard == [1, 2, 3]


def test_only_the_features_given_are_used():
    tree, _ = breed(made_up(), [2], Breeding(generations=2, population=10))
    only = made_up().rows.copy()
    only[:, :2] = -7.0
    assert values(tree, only).tolist() == values(tree, made_up().rows).tolist()
