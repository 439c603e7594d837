"""Gradient-boosted trees as plain numbers: read from JSON, evaluated with numpy alone, all trees at once.

Each tree is five lists of the same length: for a node the feature it tests, the threshold up to which it goes
left, the positions of left and right, and the value of a leaf. A leaf leads to itself, so that all trees take the
same number of steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from repair.errors import ModelMismatch

Matrix = npt.NDArray[np.floating[Any]]
Numbers = npt.NDArray[np.intp]

_MAX_NODES = 2_000_000
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Trees concatenated; `roots` are the positions of their first nodes.

    `children` has two places for each node: where it goes on to the right, and to the left. Positions have the type
    that numpy indexes by, which saves converting them at every step.
    """

    roots: Numbers
    feature: Numbers
    threshold: Matrix
    children: Numbers
    value: Matrix
    depth: int
    base: float = 0.0

    def scores(self, rows: Matrix) -> Matrix:
        """The sum of the trees' values, for each row of features."""
        count, width = rows.shape
        flat = np.ascontiguousarray(rows, dtype=np.float32).ravel()
        offsets = (np.arange(count, dtype=np.intp) * width)[:, None]
        node = np.tile(self.roots, (count, 1))
        for _ in range(self.depth):
            tested = self.feature.take(node)
            tested += offsets
            goes_left = flat.take(tested) <= self.threshold.take(node)
            node *= 2
            node += goes_left
            node = self.children.take(node)
        summed: Matrix = self.value.take(node).sum(axis=1) + self.base
        return summed

    def of_columns(self, columns: Numbers) -> "Forest":
        """The same trees for wider rows, which have the feature `n` of these in column `columns[n]`."""
        return replace(self, feature=columns[self.feature])


def forest(trees: Sequence[Mapping[str, Sequence[float]]], base: float, width: int) -> Forest:
    """Trees as saved; raises ModelMismatch when they do not fit `width` features."""
    try:
        sizes = [len(tree["feature"]) for tree in trees]
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        joined = {
            name: np.concatenate([np.asarray(tree[name], np.float64) for tree in trees] or [np.zeros(0)])
            for name in ("feature", "threshold", "left", "right", "value")
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ModelMismatch(f"trees: {error}") from error
    shift = np.repeat(starts[:-1], sizes)
    size = int(starts[-1])
    if size > _MAX_NODES or any(len(values) != size for values in joined.values()):
        raise ModelMismatch("trees: lists of different lengths, or too many nodes")
    left, right = joined["left"] + shift, joined["right"] + shift
    ends = np.repeat(starts[1:], sizes)
    own = np.arange(size)
    for child in (left, right):
        # Forwards or to itself, so that every descent ends.
        if not np.all((child >= own) & (child < ends)) or np.any((left == own) != (right == own)):
            raise ModelMismatch("trees: a node points back, or out of its tree")
    if not np.all((joined["feature"] >= 0) & (joined["feature"] < width)):
        raise ModelMismatch(f"trees: feature index out of range (0 to {width - 1})")
    roots = starts[:-1].astype(np.intp)
    return Forest(
        roots=roots,
        feature=joined["feature"].astype(np.intp),
        threshold=joined["threshold"].astype(np.float32),
        children=np.stack((right, left), axis=1).ravel().astype(np.intp),
        value=joined["value"].astype(np.float32),
        depth=_depth(roots, left.astype(np.int64), right.astype(np.int64)),
        base=base,
    )


def _depth(roots: Numbers, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> int:
    """Steps from a root to the farthest leaf."""
    nodes = roots.astype(np.int64)
    for depth in range(_MAX_DEPTH):
        inner = nodes[left[nodes] != nodes]
        if not len(inner):
            return depth
        nodes = np.concatenate((left[inner], right[inner]))
    raise ModelMismatch("trees: too deep")
