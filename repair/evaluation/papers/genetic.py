"""Genetic programming as in Bashir (section 7): readable formulas over features, bred for R@1.

Ramped half-and-half to depth 6, 50 formulas, 150 generations. The best tenth survives unchanged; of the rest, 70 %
come from crossover and 30 % from mutation. Tournaments of five choose the parents. The features should be normalised
per query.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repair.evaluation.papers.formula import OPERATIONS, Matrix, Tree, values
from repair.learning.examples import Examples, groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Breeding:
    """The parameters of the paper."""

    population: int = 50
    generations: int = 150
    depth: int = 6
    elite: float = 0.1
    crossover: float = 0.7
    tournament: int = 5
    seed: int = 0


def breed(
    examples: Examples,
    terminals: Sequence[int],
    breeding: Breeding | None = None,
    tell: Callable[[int], Any] = lambda _: None,
) -> tuple[Tree, float]:
    """The best formula and its R@1 on these examples; `terminals` are columns, `tell` gets each generation."""
    rules = breeding or Breeding()
    lots = random.Random(rules.seed)  # noqa: S311  (breeding, not secrets)
    judge = _Judge(examples)
    population = [
        _grow(lots, terminals, 2 + at % (rules.depth - 1), full=at % 2 == 0) for at in range(rules.population)
    ]
    scored = judge.rank(population)
    for generation in range(rules.generations):
        population = [tree for _, tree in scored[: max(1, int(rules.elite * rules.population))]]
        while len(population) < rules.population:
            population.append(_child(lots, scored, terminals, rules))
        scored = judge.rank(population)
        tell(generation + 1)
    return scored[0][1], scored[0][0]


def _child(
    lots: random.Random, scored: Sequence[tuple[float, Tree]], terminals: Sequence[int], rules: Breeding
) -> Tree:
    parent = _winner(lots, scored, rules.tournament)
    if lots.random() < rules.crossover:
        child = _cross(lots, parent, _winner(lots, scored, rules.tournament))
    else:
        child = _replace_part(lots, parent, _grow(lots, terminals, 3, full=False))
    return child if _depth(child) <= rules.depth else parent


class _Judge:
    """Computes R@1 of formulas, each only once."""

    def __init__(self, examples: Examples) -> None:
        self._rows = examples.rows
        self._answer = examples.answer
        self._slices = groups(examples.link)
        self._known: dict[Tree, float] = {}

    def __call__(self, tree: Tree) -> float:
        if tree not in self._known:
            scored: Matrix = values(tree, self._rows)
            firsts = [each.start + int(np.argmax(scored[each])) for each in self._slices]
            self._known[tree] = float(self._answer[firsts].mean())
        return self._known[tree]

    def rank(self, population: Sequence[Tree]) -> list[tuple[float, Tree]]:
        """The formulas with their R@1, best first; equal ones keep their order."""
        return sorted(((self(tree), tree) for tree in population), key=lambda each: -each[0])


def _grow(lots: random.Random, terminals: Sequence[int], depth: int, *, full: bool) -> Tree:
    if depth <= 1 or (not full and lots.random() < 0.3):
        return lots.choice(terminals)
    operation = lots.choice(OPERATIONS)
    first, second = (_grow(lots, terminals, depth - 1, full=full) for _ in range(2))
    return operation, first, second


def _winner(lots: random.Random, scored: Sequence[tuple[float, Tree]], size: int) -> Tree:
    return max((lots.choice(scored) for _ in range(size)), key=lambda each: each[0])[1]


def _cross(lots: random.Random, first: Tree, second: Tree) -> Tree:
    return _replace_part(lots, first, lots.choice(_parts(second)))


def _replace_part(lots: random.Random, tree: Tree, part: Tree) -> Tree:
    """The tree with a random part replaced."""
    if isinstance(tree, int) or lots.random() < 0.25:
        return part
    operation, first, second = tree
    if lots.random() < 0.5:
        return operation, _replace_part(lots, first, part), second
    return operation, first, _replace_part(lots, second, part)


def _parts(tree: Tree) -> list[Tree]:
    if isinstance(tree, int):
        return [tree]
    return [tree, *_parts(tree[1]), *_parts(tree[2])]


def _depth(tree: Tree) -> int:
    return 1 if isinstance(tree, int) else 1 + max(_depth(tree[1]), _depth(tree[2]))
