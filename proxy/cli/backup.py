"""`linkmend backup` and `linkmend restore`: the data folder, settings and rules in one file, and back."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from proxy import settings as settings_module
from proxy.backup.making import Wanted, make_backup
from proxy.backup.restoring import SETTINGS, give_to_owner
from proxy.backup.restoring import restore as put_back
from proxy.commands.options import Config, Data, data_from, print_line, settings_from
from proxy.rules.folder import rules_folder
from repair.collection import Collection
from repair.errors import RepairError

log = logging.getLogger(__name__)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, such as linkmend.tar.zst.")]


def backup(
    file: _File,
    without_cache: Annotated[
        bool, typer.Option("--without-cache", help="Leave out cached responses; imported ones stay in.")
    ] = False,
    without_ca: Annotated[
        bool, typer.Option("--without-ca", help="Leave out the certificate authority and its key.")
    ] = False,
    config: Config = None,
    data: Data = None,
) -> None:
    """Write pages, misses, rules, settings and all else into one file; safe while the proxy runs."""
    folder = data_from(data)
    wanted = Wanted(
        cache=not without_cache,
        ca=not without_ca,
        settings=config or settings_module.default_path(),
        rules=rules_folder(settings_from(config).rules.folder, folder),
    )
    made = make_backup(folder, file, wanted)
    print_line(f"{file}: {made.files} files, {made.size / 1e6:.1f} MB")
    if not without_ca:
        print_line("The key of the certificate authority is in it: keep it as safe as a password.")


def restore(
    file: _File,
    force: Annotated[
        bool, typer.Option("--force", help="Put aside what the data folder and the settings file hold.")
    ] = False,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="DIR", help="Where its rules go, if not into rules.d beside --config."
        ),
    ] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Put a backup back, every byte checked first; linkmend must be stopped. The index is made anew at the end."""
    folder = data_from(data)
    if rules is not None and config is None:
        raise typer.BadParameter("--rules goes with --config")
    head = put_back(file, folder, force=force, config=config, rules=rules)
    print_line(f"{folder}: as it was on {head.made_at}")
    if not head.ca:
        print_line("The backup has no certificate authority: a new one is made, and devices must trust it.")
    if config is None and (folder / SETTINGS).is_dir():
        print_line(f"Settings and rules of then are in {folder / SETTINGS}: put them where they belong.")
    _index(folder, config or folder / SETTINGS / "linkmend.toml")


def _index(folder: Path, config: Path) -> None:
    """The proxy would do it too, while readers already search."""
    settings = settings_from(config if config.exists() else None)
    try:
        with Collection.open(folder / "collection", settings.collection) as collection:
            collection.commit()
    except RepairError as error:
        log.warning("the index is left to the proxy: %s", error)
    give_to_owner(folder / "collection", folder)
