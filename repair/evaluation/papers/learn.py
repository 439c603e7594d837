"""Learns the papers' models anew from train links: `python -m repair.papers.learn FOLDER... [--cache DIR]`.

Three files are written beside this module: `terms.json`, the term classifier; `sources.json`, a formula over the
single sources, as in the paper; `features.json`, a formula over our own features. Test links are never looked at.
Takes some minutes and scikit-learn.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from repair.features import FEATURES as OWN
from repair.learn.examples import Examples, gathered
from repair.papers import formula, singles, termclassifier
from repair.papers.genetic import Breeding, bred
from repair.papers.lessons import LINKS, plans, source_examples, term_examples, together
from repair.papers.rivals import FORMULA, OWN_FORMULA
from repair.simulate import Plan

_TERM_LINKS = 50  # for the term classifier, which asks once for every term of a page
_BEST = tuple(at for at, name in enumerate(OWN) if name.endswith("/best"))


def _learn_terms(chosen: Sequence[Plan], cache: Path, out: Path) -> None:
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


def _breed(
    sets: Sequence[Examples], terminals: Sequence[int], names: Sequence[str], rules: Breeding, out: Path
) -> None:
    examples = together(sets)
    tree, recall = bred(
        examples,
        terminals,
        rules,
        tell=lambda n: _tell(f"{out.stem}: generation {n}") if n % 25 == 0 else None,
    )
    _tell(f"{out.stem}: R@1 {recall:.3f} on {examples.links} train links: {formula.text(tree, names)}")
    out.write_bytes(formula.dumps(tree, names, {"links": examples.name, "R@1": round(recall, 4)}))


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn all three."""
    parser = argparse.ArgumentParser(prog="python -m repair.papers.learn", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "linkmend" / "evaluate")
    parser.add_argument("--links", type=int, default=LINKS, help="links of each folder")
    parser.add_argument("--generations", type=int, default=Breeding().generations, help="of formulas")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    given = parser.parse_args(arguments)
    chosen, rules = plans(given.folders, given.links), Breeding(generations=given.generations)
    _learn_terms(chosen, given.cache, given.out / "terms.json")
    _breed(
        [source_examples(plan, given.cache) for plan in chosen],
        range(len(singles.FEATURES)),
        singles.FEATURES,
        rules,
        given.out / FORMULA,
    )
    _breed([gathered(plan, given.cache) for plan in chosen], _BEST, OWN, rules, given.out / OWN_FORMULA)


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
