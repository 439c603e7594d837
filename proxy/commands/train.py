"""`linkmend train`: learns the ranking model from links that are pretended broken."""

import os
from pathlib import Path
from typing import Annotated

import typer

from proxy.commands.evaluate import Cache, cache_from
from proxy.commands.options import print_line
from proxy.commands.progress import progress
from proxy.errors import LinkmendError
from repair.simulate import Plan, Variant, cases

_MODEL = "ranking.json"


def train(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Collection folders with train links.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the model goes.")] = Path(_MODEL),
    limit: Annotated[int, typer.Option(metavar="N", min=10, help="Links of each folder and variant.")] = 1000,
    cache: Cache = None,
) -> None:
    """Learn the combined model from pseudo-broken links; takes minutes."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the proxy keeps the other cores
    try:
        from repair.learn.examples import gathered
        from repair.learn.train import learnt, saved
    except ImportError as error:
        raise LinkmendError(f"training needs scikit-learn: {error}") from error
    sets = []
    for plan in (plan for folder in folders for plan in plans(folder, limit)):
        print_line(f"reading {plan.folder.name}, {plan.variant}")
        with progress("reading", len(cases(plan))) as tell:
            sets.append(gathered(plan, cache_from(cache), tell=tell))
    model = learnt(
        sets, {"folders": [folder.name for folder in folders]}, lambda what: print_line(f"learning: {what}")
    )
    try:
        out.write_bytes(saved(model))
    except OSError as error:
        raise LinkmendError(f"{out}: {error.strerror}") from error
    print_line(f"saved {out}")


def plans(folder: Path, limit: int) -> list[Plan]:
    """What a folder can teach: every way of breaking its train links, and its real moves."""
    found = []
    if any((folder / f"train.jsonl{end}").exists() for end in ("", ".gz")):
        found += [Variant.KEPT, Variant.MOVED, Variant.RENAMED]
    if any((folder / f"really_moved_train.jsonl{end}").exists() for end in ("", ".gz")):
        found.append(Variant.REALLY_MOVED)
    if not found:
        raise LinkmendError(f"{folder}: expected train.jsonl.gz or really_moved_train.jsonl.gz")
    return [Plan(folder=folder, variant=variant, split="train", limit=limit) for variant in found]
