"""The work of `linkmend train`: examples from collection folders or saved pages, and a model from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proxy.cli.options import print_line
from proxy.cli.progress import progress
from proxy.errors import LinkmendError
from proxy.version import version
from repair.errors import EvaluationFailed, ModelMismatch
from repair.evaluation.compare import VARIANTS, compare_models, is_better
from repair.learning import ontop, schoolfolder
from repair.learning.curriculum import TrainingLesson, check, lessons, sites
from repair.learning.examples import KINDS, ExampleSets, gather_examples
from repair.learning.examplestore import kept_examples
from repair.learning.train import learn_model, save_model
from repair.learning.workfolder import work_folder
from repair.ranking import rankmodel
from repair.ranking.rankmodel import RankModel
from repair.ranking.schoolmodel import NAME, SchoolModel, save
from repair.simulation.pseudobroken import BreakagePlan, Variant, cases

_OWN_PAGES = "own pages"


def learn_from_folders(folders: list[Path], limit: int, cache: Path, out: Path | None) -> None:
    """Learn from collection folders, and save the model as `out`, or under its usual name in the current folder."""
    named = _unique_names(folders)
    sets = _examples(named, limit, cache, gather=kept_examples)
    _save(out or Path(NAME), _learn(sets, list(named.values())))


def learn_from_held(data: Path, limit: int) -> None:
    """Learn from the saved pages what the default model lacks, and use the new model if it is better."""
    path = data / "collection" / NAME
    with _scratch(data) as work:
        folder = work / "own"
        folder.mkdir()
        with schoolfolder.open_database(path.parent) as database:
            written = schoolfolder.write(database, folder, limit=limit)
        print_line(f"{written.pages} pages, {written.train} training links, {written.test} for validation")
        sets = _examples({folder: _OWN_PAGES}, written.train, work / "cache", _is_for_school, ontop.KINDS)
        print_line("training")
        about = _about(sets, [_OWN_PAGES]) | {"date": datetime.now(UTC).date().isoformat()}
        model = save_model(ontop.learn_on_top(sets, about))
        new = rankmodel.loads(model, "the new model")
        if _is_taken(new, _in_use(path), folder, work / "cache"):
            _save(path, model)


def _is_taken(new: RankModel, old: RankModel | None, folder: Path, cache: Path) -> bool:
    if old is None:
        return True
    links = len(cases(BreakagePlan(folder=folder, variant=Variant.KEPT)))
    with progress("comparing", len(VARIANTS) * links) as tell:
        new_figures, old_figures = compare_models(folder, cache, (new, old), tell)
    print_line(f"new: {new_figures}")
    print_line(f"in use: {old_figures}")
    better = is_better(new_figures, old_figures)
    print_line(
        "the new model is better" if better else "the new model is not better; keeping the current one"
    )
    return better


def _in_use(path: Path) -> RankModel | None:
    try:
        return SchoolModel(path).current()
    except ModelMismatch as error:
        print_line(f"no current model: {error}")
        return None


def _is_for_school(lesson: TrainingLesson) -> bool:
    return lesson.plan.variant in ontop.VARIANTS and not lesson.copied and lesson.plan.part is None


def _examples(
    folders: Mapping[Path, str],
    limit: int,
    cache: Path,
    is_wanted: Callable[[TrainingLesson], bool] = lambda _: True,
    kinds: Sequence[str] = KINDS,
    gather: Callable[..., ExampleSets] = gather_examples,
) -> list[ExampleSets]:
    """The examples of the folders; a folder without examples is skipped."""
    sets = []
    site_names = sites(list(folders))
    for folder, name in folders.items():
        for lesson in filter(is_wanted, lessons(folder, limit)):
            title = f"{name} {lesson.title}"
            print_line(f"reading {title}")
            with progress(title, len(cases(lesson.plan))) as tell:
                try:
                    found = gather(lesson.plan, cache, copied=lesson.copied, kinds=kinds, tell=tell)
                except EvaluationFailed as error:
                    print_line(f"skipped: {error}")
                    continue
            sets.append(replace(found, found=replace(found.found, name=title), site=site_names[folder]))
    check(sets)
    return sets


def _learn(sets: list[ExampleSets], names: list[str]) -> bytes:
    """The model as a file: the same bytes on whatever day, so that anybody can check where they come from."""
    about = _about(sets, names)
    return save_model(learn_model(sets, about, lambda what: print_line(f"training: {what}")))


def _about(sets: list[ExampleSets], names: list[str]) -> dict[str, Any]:
    return {
        "folders": names,
        "links": {each.name: each.found.links for each in sets},
        "linkmend": version(),
    }


def _unique_names(folders: list[Path]) -> dict[Path, str]:
    """Each folder once, with a unique name: its own, preceded by as many parent names as necessary."""
    paths = dict.fromkeys(folder.resolve() for folder in folders)
    found = {}
    for path in paths:
        depth = 1
        while any(other.parts[-depth:] == path.parts[-depth:] for other in paths if other != path):
            depth += 1
        found[path] = "/".join(path.parts[-depth:])
    return found


def _save(path: Path, model: bytes) -> None:
    try:
        save(path, model)
    except OSError as error:
        raise LinkmendError(f"{path}: {error.strerror}") from error
    print_line(f"saved {path}")


@contextmanager
def _scratch(data: Path) -> Iterator[Path]:
    try:
        with work_folder(data) as work:
            yield work
    except OSError as error:
        raise LinkmendError(f"{error.filename or data}: {error.strerror}") from error
