"""The options and output format that all commands share."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from proxy import settings as settings_module
from proxy.backup.contents import RESTORING
from proxy.errors import LinkmendError
from proxy.paths import folder_beside
from proxy.settings import Settings

if TYPE_CHECKING:
    from repair.collection.collection import Collection

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings file; deploy/linkmend.toml lists all settings."),
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data folder: pages, cache and logs.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def settings_from(config: Path | None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a command; None among the overrides means that the option was not given."""
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    path = config or settings_module.default_path()
    settings = settings_module.load(path, overrides=given)
    return replace(settings, rules=replace(settings.rules, folder=folder_beside(settings.rules.folder, path)))


def data_from(data: Path | None) -> Path:
    """The data folder of a command; finishes an interrupted restore first."""
    folder = data or settings_module.default_data()
    if (folder / RESTORING).exists():
        from proxy.backup.restorer import finish

        finish(folder)
    return folder


@contextmanager
def open_collection(settings: Settings, data: Path | None) -> Iterator["Collection"]:
    """The saved pages. Raises LinkmendError where there are none yet: the folder is probably misspelt."""
    from repair.collection.collection import Collection  # slow to import

    folder = data_from(data)
    if not (folder / "collection").is_dir():
        raise LinkmendError(f"{folder}: no saved pages found; set the proxy's data folder with --data")
    with Collection.open(folder / "collection", settings.collection) as collection:
        yield collection


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    print_line(msgspec.json.encode(value).decode())
