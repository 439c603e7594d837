"""Imports point one way, and a name means one thing."""

import ast
import os
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def duplicates():
    places = defaultdict(list)
    for package in ("proxy", "repair", "addons"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(str(path.relative_to(ROOT)))
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_public_class_names_are_unique():
    assert duplicates() == {}


def test_imports_keep_the_contracts_of_pyproject():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
