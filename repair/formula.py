"""Formulas over features, as genetic programming finds them: readable text in, values of candidates out.

The text is nested calls over names of features: `add(mul(anchor.body, slug.lm), div(a, b))`. Nothing is executed:
it is parsed into a tree of three operations, with bounds on its size.
"""

import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from repair.errors import ModelMismatch
from repair.features import FEATURES

Matrix = npt.NDArray[np.floating[Any]]
Tree: TypeAlias = "int | tuple[str, Tree, Tree]"
"""The number of a feature, or an operation on two trees."""

OPERATIONS = ("add", "mul", "div")
_MAX_DEPTH = 32
_TOKEN = re.compile(r"\s*(add|mul|div)\(|\s*([^\s(),]+)|\s*([(),])")


def values(tree: Tree, rows: Matrix) -> Matrix:
    """What a formula gives for each row of features; dividing by nearly nothing gives the dividend."""
    if isinstance(tree, int):
        return rows[:, tree]
    operation, first, second = tree
    left, right = values(first, rows), values(second, rows)
    if operation == "add":
        return left + right
    if operation == "mul":
        return left * right
    safe: Matrix = np.where(np.abs(right) > 1e-3, left / np.where(np.abs(right) > 1e-3, right, 1.0), left)
    return safe


def text(tree: Tree) -> str:
    """The formula as people read it."""
    if isinstance(tree, int):
        return FEATURES[tree]
    return f"{tree[0]}({text(tree[1])}, {text(tree[2])})"


def parsed(formula: str) -> Tree:
    """The formula out of its text; raises ModelMismatch for anything else."""
    tokens = [match for match in _TOKEN.finditer(formula) if match[0].strip()]
    tree, rest = _tree(tokens, 0, 0)
    if rest != len(tokens):
        raise ModelMismatch(f"formula: more than one: {formula[:80]!r}")
    return tree


def _tree(tokens: list[re.Match[str]], at: int, depth: int) -> tuple[Tree, int]:
    if at >= len(tokens) or depth > _MAX_DEPTH:
        raise ModelMismatch("formula: ends too early, or too deep")
    operation, name = tokens[at][1], tokens[at][2]
    if name is not None:
        if name not in FEATURES:
            raise ModelMismatch(f"formula: unknown feature {name!r}")
        return FEATURES.index(name), at + 1
    if operation is None:
        raise ModelMismatch("formula: expected a feature or an operation")
    first, at = _tree(tokens, at + 1, depth + 1)
    at = _expected(tokens, at, ",")
    second, at = _tree(tokens, at, depth + 1)
    return (operation, first, second), _expected(tokens, at, ")")


def _expected(tokens: list[re.Match[str]], at: int, sign: str) -> int:
    if at >= len(tokens) or tokens[at][3] != sign:
        raise ModelMismatch(f"formula: expected {sign!r}")
    return at + 1
