"""Trains the papers' models on train links: `python -m repair.evaluation.papers.learn FOLDER... [--cache DIR]`.

Writes three files beside this module: `terms.json`, the term classifier; `sources.json`, a formula over the single
sources, as in the paper; `features.json`, a formula over our own features. It never reads test links. It takes some
minutes and needs scikit-learn.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from repair.evaluation.papers import formula, singlesources, termclassifier
from repair.evaluation.papers.baselines import FORMULA, OWN_FORMULA
from repair.evaluation.papers.examples import LINKS, join_examples, plans, source_examples, term_examples
from repair.evaluation.papers.genetic import Breeding, breed
from repair.learning.examples import Examples, gather_examples
from repair.ranking.features import FEATURES as OWN
from repair.simulation.pseudobroken import BreakagePlan

_TERM_LINKS = 50  # for the term classifier, which runs a query for every term of a page
_BEST = tuple(at for at, name in enumerate(OWN) if name.endswith("/best"))


def _learn_terms(chosen: Sequence[BreakagePlan], cache: Path, out: Path) -> None:
    parts = []
    for plan in chosen:
        _tell(f"terms: reading {plan.folder.name}, {plan.variant}")
        parts.append(term_examples(replace(plan, limit=_TERM_LINKS), cache))
    rows = np.concatenate([found for found, _ in parts])
    good = np.array([each for _, found in parts for each in found])
    if good.all() or not good.any():
        _tell(f"terms: nothing to tell apart; {out.name} stays as it is")
        return
    third = np.arange(len(rows)) % 3 == 0
    tried = termclassifier.fit(rows[~third], good[~third]).probabilities(rows[third]) > 0.5
    right = [float((tried == good[third])[good[third] == kind].mean()) for kind in (True, False)]
    _tell(
        f"terms: {len(rows)} terms, {good.mean():.2f} good; told apart: good {right[0]:.2f}, bad {right[1]:.2f}"
    )
    out.write_text(termclassifier.dumps(termclassifier.fit(rows, good)) + "\n", encoding="utf-8")


def _learn_formula(
    sets: Sequence[Examples], terminals: Sequence[int], names: Sequence[str], rules: Breeding, out: Path
) -> None:
    examples = join_examples(sets)
    tree, recall = breed(
        examples,
        terminals,
        rules,
        tell=lambda n: _tell(f"{out.stem}: generation {n}") if n % 25 == 0 else None,
    )
    _tell(f"{out.stem}: R@1 {recall:.3f} on {examples.links} train links: {formula.text(tree, names)}")
    out.write_bytes(formula.dumps(tree, names, {"links": examples.name, "R@1": round(recall, 4)}))


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all three models."""
    parser = argparse.ArgumentParser(prog="python -m repair.evaluation.papers.learn", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "linkmend" / "evaluate")
    parser.add_argument("--links", type=int, default=LINKS, help="links of each folder")
    parser.add_argument("--generations", type=int, default=Breeding().generations, help="of formulas")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    given = parser.parse_args(arguments)
    chosen, rules = plans(given.folders, given.links), Breeding(generations=given.generations)
    _learn_terms(chosen, given.cache, given.out / "terms.json")
    _learn_formula(
        [source_examples(plan, given.cache) for plan in chosen],
        range(len(singlesources.FEATURES)),
        singlesources.FEATURES,
        rules,
        given.out / FORMULA,
    )
    _learn_formula(
        [gather_examples(plan, given.cache).found for plan in chosen],
        _BEST,
        OWN,
        rules,
        given.out / OWN_FORMULA,
    )


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
