"""Examples kept on disk: computing features is most of a training, and what learns from them changes more often.

A file's name changes with all that its examples come from: folder, plan, and the code that finds and describes
candidates. Nothing is deleted; a kept folder may be deleted at any time.
"""

import ast
import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from repair.learning.examples import KINDS, Examples, ExampleSets, gather_examples
from repair.simulation.pseudobroken import BreakagePlan, collection_key

_ROOT = Path(__file__).resolve().parents[2]
_FIRST = "repair.learning.examples"
# They judge by what was learnt: no feature depends on these.
_LATER = frozenset(_ROOT / "repair" / "ranking" / name for name in ("rankmodel.py", "trees.py"))
_COLUMNS = ("rows", "answer", "similarity", "link")


def kept_examples(
    plan: BreakagePlan,
    cache: Path,
    *,
    copied: bool = False,
    kinds: Sequence[str] = KINDS,
    tell: Callable[[int], Any] = lambda _: None,
) -> ExampleSets:
    """The examples that `gather_examples` gives, from the disk if they are there."""
    path = _place(plan, cache, copied=copied, kinds=kinds)
    found = _read(path)
    if found is None:
        found = gather_examples(plan, cache, copied=copied, kinds=kinds, tell=tell)
        _write(path, found)
    return found


def _place(plan: BreakagePlan, cache: Path, *, copied: bool, kinds: Sequence[str]) -> Path:
    words = (collection_key(plan), plan.variant, plan.limit, copied, *kinds, _code_digest())
    digest = hashlib.blake2b("\n".join(map(str, words)).encode(), digest_size=10).hexdigest()
    return cache / "examples" / f"{plan.folder.name}-{plan.variant}-{digest}.npz"


@lru_cache(maxsize=1)
def _code_digest() -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(_used_modules() - _LATER):
        digest.update(f"{path.relative_to(_ROOT)}\n".encode() + hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def _used_modules() -> set[Path]:
    """The files of our own code that examples come from: a change elsewhere is no reason to compute them again."""
    found: set[Path] = set()
    waiting = [_FIRST]
    while waiting:
        stem = _ROOT.joinpath(*waiting.pop().split("."))
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path not in found and path.is_file():
                found.add(path)
                waiting += _imports(path)
    return found


def _imports(path: Path) -> Iterator[str]:
    """What a module imports of our own; names that are no modules are among them."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("repair"):
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _read(path: Path) -> ExampleSets | None:
    try:
        with np.load(path, allow_pickle=False) as found:
            of_kinds = [
                Examples(
                    name=str(found[f"{kind}.name"]), **{name: found[f"{kind}.{name}"] for name in _COLUMNS}
                )
                for kind in KINDS
            ]
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    as_is, without_page, without_subject = of_kinds
    return ExampleSets(found=as_is, gone=without_page, unrelated=without_subject)


def _write(path: Path, sets: ExampleSets) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    columns = {
        f"{kind}.{name}": getattr(getattr(sets, kind), name) for kind in KINDS for name in ("name", *_COLUMNS)
    }
    with unfinished.open("wb") as stream:
        np.savez_compressed(stream, **columns)
    unfinished.replace(path)
