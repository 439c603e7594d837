"""Tables of the papers that are not about one link and one query: `python -m repair.evaluation.papers.tables FOLDER`.

Prints how often queries from copies find the lost page (`sequences`), and the MRR of the entry-page task
(`entrypages`), which needs links that lead to start pages.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from repair.evaluation.papers.entrypages import measure_entry_pages
from repair.evaluation.papers.sequences import AT, found_at, measure_sequences
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import build_testbed


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m repair.evaluation.papers.tables", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "linkmend" / "evaluate")
    parser.add_argument("--limit", type=int, help="links for the first table")
    given = parser.parse_args(arguments)
    plan = BreakagePlan(folder=given.folder, variant=Variant.MOVED, limit=given.limit)
    with build_testbed(plan, given.cache, None, copied=True) as bench:
        ranks = measure_sequences(bench)
    _print_row("query", *(f"S@{depth}" for depth in AT))
    for name, shares in found_at(ranks).items():
        _print_row(name, *(f"{share:.3f}" for share in shares))
    with build_testbed(BreakagePlan(folder=given.folder, variant=Variant.KEPT), given.cache, None) as bench:
        cases, figures = measure_entry_pages(bench)
    _print_row(f"{cases} links to entry pages", "MRR")
    for name, mrr in figures.items():
        _print_row(name, f"{mrr:.3f}")


def _print_row(name: str, *cells: str) -> None:
    sys.stdout.write("\t".join((name, *cells)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
