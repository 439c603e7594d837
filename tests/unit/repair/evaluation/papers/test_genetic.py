"""Breeding formulas."""

import numpy as np

from repair.learn.examples import Examples
from repair.papers.formula import values
from repair.papers.genetic import Breeding, bred


def made_up(links=40, candidates=12):
    """The answer is best by the sum of the first two features, by neither alone; the third is noise."""
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


def test_breeding_finds_how_features_go_together():
    tree, recall = bred(made_up(), [0, 1, 2], Breeding(generations=15, population=30))
    assert recall == 1.0
    assert values(tree, made_up().rows).shape == (480,)


def test_breeding_comes_out_the_same_every_time_and_tells_of_each_generation():
    heard = []
    rules = Breeding(generations=3, population=10)
    assert bred(made_up(), [0, 1, 2], rules) == bred(made_up(), [0, 1, 2], rules, heard.append)
    assert heard == [1, 2, 3]


def test_only_the_features_given_are_used():
    tree, _ = bred(made_up(), [2], Breeding(generations=2, population=10))
    only = made_up().rows.copy()
    only[:, :2] = -7.0
    assert values(tree, only).tolist() == values(tree, made_up().rows).tolist()
