"""`linkmend train`: learns the ranking model from links that are pretended broken."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from proxy import logs
from proxy.commands.evaluate import Cache, cache_from
from proxy.commands.options import Config, Data, data_from, print_line, settings_from
from proxy.commands.progress import progress
from proxy.errors import LinkmendError
from repair import rankmodel
from repair.errors import EvaluationFailed, ModelMismatch
from repair.learn import store
from repair.learn.compare import VARIANTS, compared, is_better
from repair.learn.examples import Examples, gathered
from repair.learn.lessons import check, lessons
from repair.learn.scratch import scratch
from repair.ownmodel import NAME, OwnModel, save
from repair.rankmodel import RankModel
from repair.simulate import Plan, Variant, cases

_LIMIT = 1000
_OWN_LIMIT = 600
_OWN_PAGES = "own pages"
_LEAST_PRIORITY = 19


def train(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER...", help="Collection folders with train links.")
    ] = None,
    from_store: Annotated[
        bool, typer.Option("--from-store", help="Learn from the pages held; keep the model if it is better.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Where the model goes; else {NAME} here.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=10,
            help=f"Links of each folder; {_LIMIT}, of the pages held {_OWN_LIMIT} unless given.",
        ),
    ] = None,
    config: Config = None,
    data: Data = None,
    cache: Cache = None,
) -> None:
    """Learn the combined model from pseudo-broken links; takes minutes."""
    if from_store == bool(folders):
        raise typer.BadParameter("give either folders or --from-store")
    if from_store and (out or cache):
        raise typer.BadParameter("--from-store keeps its model and its files in the data folder")
    if from_store and limit is not None and limit < store.LEAST_LINKS:
        raise typer.BadParameter(f"--from-store needs a --limit of at least {store.LEAST_LINKS}")
    _check_libraries()
    if from_store:
        logs.set_up(settings_from(config).log)
        with _in_the_background():
            _learn_at_school(data_from(data), limit or _OWN_LIMIT)
        return
    named = _named(folders or [])
    sets = _examples(named, limit or _LIMIT, cache_from(cache))
    _save(out or Path(NAME), _learnt(sets, list(named.values())))


def _learn_at_school(data: Path, limit: int) -> None:
    """Learn from the pages held, and take the new model if it is the better one."""
    path = data / "collection" / NAME
    with _scratch(data) as work:
        folder = work / "own"
        folder.mkdir()
        with store.held(path.parent) as database:
            written = store.write(database, folder, limit=limit)
        print_line(
            f"{written.pages} pages, {written.train} links to learn from, {written.test} for validation"
        )
        sets = _examples({folder: _OWN_PAGES}, written.train, work / "cache")
        learnt = _learnt(sets, [_OWN_PAGES])
        new = rankmodel.loads(learnt, "the new model")
        if _is_taken(new, _in_use(path), folder, work / "cache"):
            _save(path, learnt)


def _is_taken(new: RankModel, old: RankModel | None, folder: Path, cache: Path) -> bool:
    if old is None:
        return True
    links = len(cases(Plan(folder=folder, variant=Variant.KEPT)))
    with progress("comparing", len(VARIANTS) * links) as tell:
        new_figures, old_figures = compared(folder, cache, (new, old), tell)
    print_line(f"new: {new_figures}")
    print_line(f"in use: {old_figures}")
    better = is_better(new_figures, old_figures)
    print_line("the new model is better" if better else "the new model is not better; the one in use stays")
    return better


def _in_use(path: Path) -> RankModel | None:
    try:
        return OwnModel(path).current()
    except ModelMismatch as error:
        print_line(f"no model in use: {error}")
        return None


def _examples(folders: Mapping[Path, str], limit: int, cache: Path) -> list[Examples]:
    """What the folders teach; a lesson without anything to learn is passed over."""
    sets = []
    for folder, name in folders.items():
        for lesson in lessons(folder, limit):
            title = f"{name} {lesson.title}"
            print_line(f"reading {title}")
            with progress(title, len(cases(lesson.plan))) as tell:
                try:
                    found = gathered(lesson.plan, cache, copied=lesson.copied, tell=tell)
                except EvaluationFailed as error:
                    print_line(f"passed over: {error}")
                    continue
            sets.append(replace(found, name=title))
    check(sets)
    return sets


def _check_libraries() -> None:
    """Better now than after minutes of reading; also the first to load them, so what threads they may use is set."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the other cores are the proxy's
    try:
        import repair.learn.train  # noqa: F401
    except ImportError as error:
        raise LinkmendError(f"learning needs the extra linkmend[learn]: {error}") from error


def _learnt(sets: list[Examples], names: list[str]) -> bytes:
    """The model's file."""
    from repair.learn.train import learnt, saved  # heavy, and absent without the extra `learn`

    about: dict[str, Any] = {
        "folders": names,
        "links": {each.name: each.links for each in sets},
        "date": datetime.now(UTC).date().isoformat(),
        "linkmend": _version(),
    }
    return saved(learnt(sets, about, lambda what: print_line(f"learning: {what}")))


def _version() -> str:
    try:
        return metadata.version("linkmend")
    except metadata.PackageNotFoundError:  # run from a checkout
        return "unknown"


def _named(folders: list[Path]) -> dict[Path, str]:
    """Each folder once, with a name that no other has: its own, with as many of those above it as that takes."""
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
        with scratch(data) as work:
            yield work
    except OSError as error:
        raise LinkmendError(f"{error.filename or data}: {error.strerror}") from error


@contextmanager
def _in_the_background() -> Iterator[None]:
    """Last in line for the processor; when asked to end, what is temporary is cleared away first."""
    os.nice(_LEAST_PRIORITY)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)
