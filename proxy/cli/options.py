"""The options and output format that all commands share."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from proxy import settings as settings_module
from proxy.backup.contents import RESTORING
from proxy.paths import folder_beside
from proxy.settings import Settings

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


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    print_line(msgspec.json.encode(value).decode())
