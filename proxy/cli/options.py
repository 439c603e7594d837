"""What every command takes, and how it prints."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from proxy import settings as settings_module
from proxy.backup.restoring import finish
from proxy.rules.folder import folder_beside
from proxy.settings import Settings

Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file; see deploy/linkmend.toml.")
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Where pages, cache and logs are kept.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def settings_from(config: Path | None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a command; None among the overrides means that the option was not given."""
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    path = config or settings_module.default_path()
    settings = settings_module.load(path, overrides=given)
    return replace(settings, rules=replace(settings.rules, folder=folder_beside(settings.rules.folder, path)))


def data_from(data: Path | None) -> Path:
    """The data folder of a command; a restore that was cut off is brought to its end first."""
    folder = data or settings_module.default_data()
    finish(folder)
    return folder


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    print_line(msgspec.json.encode(value).decode())
