"""Formulas over named features, as genetic programming finds them: parsed from text, evaluated on candidates.

The text is nested calls over names: `add(mul(anchor/tf, url/lm), div(a, b))`. It is parsed, never executed, into a
tree of three operations with a bounded depth.
"""

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from repair.errors import ModelMismatch

Matrix = npt.NDArray[np.floating[Any]]
Tree: TypeAlias = int | tuple[str, "Tree", "Tree"]
"""The number of a feature, or an operation on two trees."""

OPERATIONS = ("add", "mul", "div")
FORMAT = "linkmend-formula"
VERSION = 1
_MAX_DEPTH = 32
_TOKEN = re.compile(r"\s*(add|mul|div)\(|\s*([^\s(),]+)|\s*([(),])")


class SavedFormula(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file of a formula; `about` is for people."""

    format: str
    version: int
    formula: str
    about: dict[str, Any]


def values(tree: Tree, rows: Matrix) -> Matrix:
    """The formula's value for each row of features; division by nearly 0 gives the dividend."""
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


def text(tree: Tree, names: Sequence[str]) -> str:
    """The formula as text."""
    if isinstance(tree, int):
        return names[tree]
    return f"{tree[0]}({text(tree[1], names)}, {text(tree[2], names)})"


def parse_formula(formula: str, names: Sequence[str]) -> Tree:
    """Parse a formula; raises ModelMismatch when the text is no formula or names an unknown feature."""
    tokens = [match for match in _TOKEN.finditer(formula) if match[0].strip()]
    tree, rest = _parse_tree(tokens, {name: at for at, name in enumerate(names)}, 0, 0)
    if rest != len(tokens):
        raise ModelMismatch(f"formula: more than one: {formula[:80]!r}")
    return tree


def dumps(tree: Tree, names: Sequence[str], about: dict[str, Any]) -> bytes:
    """The bytes of the formula's file."""
    saved = SavedFormula(format=FORMAT, version=VERSION, formula=text(tree, names), about=about)
    return msgspec.json.format(msgspec.json.encode(saved), indent=1) + b"\n"


def loads(data: bytes, names: Sequence[str]) -> Tree:
    """Read a formula from its file; raises ModelMismatch when it is none or has unknown features."""
    try:
        saved = msgspec.json.decode(data, type=SavedFormula)
    except msgspec.DecodeError as error:
        raise ModelMismatch(f"not a formula: {error}") from error
    if (saved.format, saved.version) != (FORMAT, VERSION):
        raise ModelMismatch(f"expected {FORMAT} {VERSION}, found {saved.format} {saved.version}")
    return parse_formula(saved.formula, names)


def shipped_formula(name: str, names: Sequence[str]) -> Tree | None:
    """A formula from this folder; None when the file is missing or does not fit these features."""
    try:
        return loads((resources.files("repair.evaluation.papers") / name).read_bytes(), names)
    except (OSError, ModelMismatch):
        return None


def _parse_tree(
    tokens: list[re.Match[str]], numbers: dict[str, int], at: int, depth: int
) -> tuple[Tree, int]:
    if at >= len(tokens) or depth > _MAX_DEPTH:
        raise ModelMismatch("formula: ends too early, or too deep")
    operation, name = tokens[at][1], tokens[at][2]
    if name is not None:
        if name not in numbers:
            raise ModelMismatch(f"formula: unknown feature {name!r}")
        return numbers[name], at + 1
    if operation is None:
        raise ModelMismatch("formula: expected a feature or an operation")
    first, at = _parse_tree(tokens, numbers, at + 1, depth + 1)
    at = _skip_sign(tokens, at, ",")
    second, at = _parse_tree(tokens, numbers, at, depth + 1)
    return (operation, first, second), _skip_sign(tokens, at, ")")


def _skip_sign(tokens: list[re.Match[str]], at: int, sign: str) -> int:
    if at >= len(tokens) or tokens[at][3] != sign:
        raise ModelMismatch(f"formula: expected {sign!r}")
    return at + 1
