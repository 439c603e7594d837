"""What every command takes, and how it prints."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from proxy import settings as settings_module
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
    return settings_module.load(config or settings_module.default_path(), overrides=given)


def data_from(data: Path | None) -> Path:
    return data or settings_module.default_data()


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")


def print_json(value: Any) -> None:
    print_line(msgspec.json.encode(value).decode())
