"""`linkmend backup` and `linkmend restore`: the data folder, settings and rules in one file, and back."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from proxy import settings as settings_module
from proxy.backup.create import BackupRequest, make_backup
from proxy.backup.restorer import SETTINGS, give_to_owner
from proxy.backup.restorer import restore as put_back
from proxy.cli.options import Config, Data, data_from, print_line, settings_from
from proxy.rules.folder import rules_folder
from repair.errors import RepairError

log = logging.getLogger(__name__)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup file, such as linkmend.tar.zst.")]


def backup(
    file: _File,
    without_cache: Annotated[
        bool, typer.Option("--without-cache", help="Leave out cached responses, except imported ones.")
    ] = False,
    without_ca: Annotated[
        bool, typer.Option("--without-ca", help="Leave out the certificate authority and its key.")
    ] = False,
    config: Config = None,
    data: Data = None,
) -> None:
    """Back up pages, logs, rules and settings to one file; safe while the proxy runs."""
    folder = data_from(data)
    wanted = BackupRequest(
        cache=not without_cache,
        ca=not without_ca,
        settings=config or settings_module.default_path(),
        rules=rules_folder(settings_from(config).rules.folder, folder),
    )
    made = make_backup(folder, file, wanted)
    print_line(f"{file}: {made.files} files, {made.size / 1e6:.1f} MB")
    if not without_ca:
        print_line(
            "The backup contains the private key of the certificate authority: keep it as safe as a password."
        )


def restore(
    file: _File,
    force: Annotated[
        bool, typer.Option("--force", help="Move the existing data and settings aside.")
    ] = False,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="DIR", help="Where to put the rules; default: rules.d beside --config."
        ),
    ] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Restore a backup after checking every file, then rebuild the index. Stop linkmend first."""
    folder = data_from(data)
    if rules is not None and config is None:
        raise typer.BadParameter("--rules needs --config")
    head = put_back(file, folder, force=force, config=config, rules=rules)
    print_line(f"{folder}: restored to {head.made_at}")
    if not head.ca:
        print_line(
            "The backup has no certificate authority. linkmend creates a new one; all devices must trust it."
        )
    if config is None and (folder / SETTINGS).is_dir():
        print_line(f"The restored settings and rules are in {folder / SETTINGS}. Move them into place.")
    _index(folder, config or folder / SETTINGS / "linkmend.toml")


def _index(folder: Path, config: Path) -> None:
    """Index the restored pages now. The proxy would do it too, but while users already search."""
    from repair.collection.collection import Collection

    settings = settings_from(config if config.exists() else None)
    try:
        with Collection.open(folder / "collection", settings.collection) as collection:
            collection.commit()
    except RepairError as error:
        log.warning("index not rebuilt; the proxy rebuilds it at the next start: %s", error)
    give_to_owner(folder / "collection", folder)
