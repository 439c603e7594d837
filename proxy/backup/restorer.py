"""Restores a backup: unpacked and checked beside the current data, then moved into its place.

A journal of the moves is written first. If the restore is interrupted, the next command that opens the folder
finishes it before anything else (`finish`), so nobody ever sees a mix of old and new. Entries are moved one by one
and never the folder itself: it may be a mount, or the link that systemd makes of a state directory.
"""

import fcntl
import os
import shutil
import tomllib
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proxy.backup.archive import BackupHeader, unpack
from proxy.backup.contents import ASIDE, RESTORING, is_ours
from proxy.errors import BackupError

SETTINGS = "settings"
"""Where a restore without --config puts settings and rules."""

_JOURNAL = "journal.json"
_RULES = "rules.d"
_BEFORE = ".before-restore"
_LOCKS = ("cache/lock", "collection/index/writer.lock")


class _Journal(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to do: move `old` entries aside, then move the unpacked ones into their place."""

    old: list[str]
    aside: str
    config: str
    rules: str = ""


def restore(
    file: Path, data: Path, *, force: bool = False, config: Path | None = None, rules: Path | None = None
) -> BackupHeader:
    """Restore a backup into a data folder; what was in it is moved aside, and only with `force`.

    With `config`, the settings file goes there and its rules into `rules`, or `rules.d` beside it; else both go
    into the folder. Nothing is written anywhere else, whatever the backup's settings say. Raises BackupError, and
    then nothing has changed.
    """
    place = rules or (config.parent / _RULES if config else None)
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        finish(data)
        with ExitStack() as locks:
            _lock_out_others(data, locks)
            old = [entry.name for entry in data.iterdir() if not is_ours(entry.name)]
            _refuse_to_overwrite(data if old else None, config, place, force)
            return _unpack_and_move(file, data, old, config, place, named=rules is not None)
    except OSError as error:
        raise BackupError(f"{data}: {error}") from error


def _unpack_and_move(
    file: Path, data: Path, old: list[str], config: Path | None, rules: Path | None, *, named: bool
) -> BackupHeader:
    stage = data / RESTORING
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "new" / "data").mkdir(parents=True, mode=0o700)
    try:
        head = unpack(file, stage / "new")
        if config is not None and rules is not None:
            _check_targets(stage / "new" / SETTINGS, config, rules, named=named)
        if config is None and (stage / "new" / SETTINGS).exists():
            (stage / "new" / SETTINGS).rename(stage / "new" / "data" / SETTINGS)
        give_to_owner(stage, data)
        os.sync()  # the unpacked files must be on the disk before the journal is
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    aside = f"{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    journal = _Journal(
        old=old,
        aside=aside,
        config=str(config.absolute()) if config else "",
        rules=str(rules.absolute()) if config and rules else "",
    )
    _write(stage / _JOURNAL, msgspec.json.encode(journal))
    finish(data)
    return head


def finish(data: Path) -> None:
    """Finish an interrupted restore; does nothing when there is none. May itself be interrupted."""
    stage = data / RESTORING
    if not (stage / _JOURNAL).exists():
        return
    handle = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two commands may find it at once
        if (stage / _JOURNAL).exists():
            _move(data, stage, msgspec.json.decode((stage / _JOURNAL).read_bytes(), type=_Journal))
    finally:
        os.close(handle)


def _move(data: Path, stage: Path, journal: _Journal) -> None:
    aside = data / journal.aside
    for name in journal.old:
        if (data / name).exists() and not (aside / name).exists():
            aside.mkdir(exist_ok=True, mode=0o700)
            (data / name).rename(aside / name)
    for entry in sorted((stage / "new" / "data").iterdir()):
        entry.rename(data / entry.name)
    if journal.config:
        config = Path(journal.config)
        rules = Path(journal.rules) if journal.rules else config.parent / _RULES
        _put_settings(stage / "new" / SETTINGS, config, rules)
    (stage / _JOURNAL).unlink()
    shutil.rmtree(stage, ignore_errors=True)


def give_to_owner(folder: Path, data: Path) -> None:
    """Give everything in a folder to the owner of the data folder; only root can, and only root needs to."""
    if os.geteuid() != 0:
        return
    owner = data.stat()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _check_targets(source: Path, config: Path, rules: Path, *, named: bool) -> None:
    """Raises BackupError where settings of the backup name another rules folder than the admin did, where it
    contains more than settings and rules, or where a link leads out of the folder.
    """
    wanted = _named_rules_folder(source / "linkmend.toml")
    if wanted and (source / _RULES).is_dir() and not named and config.parent / wanted != rules:
        raise BackupError(
            f"settings/linkmend.toml: rules.folder is {wanted[:200]!r}, not {_RULES!r} beside {config}:"
            " set the folder for the rules with --rules"
        )
    for path in source.rglob("*") if source.is_dir() else ():
        inside = path.relative_to(source)
        if inside.parts[0] not in ("linkmend.toml", _RULES):
            raise BackupError(f"settings/{inside}: unexpected file in the backup")
        if inside.parts[0] == _RULES:
            target = rules / inside.relative_to(_RULES)
            for place in (target, *target.parents):
                if place.is_symlink() and place.is_relative_to(rules):
                    raise BackupError(
                        f"settings/{inside}: {place} is a symbolic link; restore does not follow links"
                    )


def _put_settings(source: Path, config: Path, rules: Path) -> None:
    """Old files stay beside the new ones under another name, which nobody reads."""
    fresh = {
        _place(path.relative_to(source), config, rules): path for path in source.rglob("*") if path.is_file()
    }
    before = [config, *rules.rglob("*")] if (source / _RULES).is_dir() else [config]
    for old in before:
        changed = old not in fresh or old.read_bytes() != fresh[old].read_bytes() if old.is_file() else False
        if changed and not old.name.endswith(_BEFORE):
            os.replace(old, old.with_name(old.name + _BEFORE))
    for target, path in fresh.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, path.read_bytes())


def _place(inside: Path, config: Path, rules: Path) -> Path:
    return rules / inside.relative_to(_RULES) if inside.parts[0] == _RULES else config


def _named_rules_folder(settings: Path) -> str:
    """The `rules.folder` in the settings; read leniently, because they may be of an older linkmend."""
    try:
        section = tomllib.loads(settings.read_text(encoding="utf-8")).get("rules")
    except (OSError, ValueError):
        return ""
    named = section.get("folder") if isinstance(section, dict) else None
    return named if isinstance(named, str) else ""


def _write(target: Path, content: bytes) -> None:
    fresh = target.with_name(f".{target.name}.new")
    fresh.unlink(missing_ok=True)  # of an interrupted restore; a link there is not followed
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(target)


def _refuse_to_overwrite(data: Path | None, config: Path | None, rules: Path | None, force: bool) -> None:
    if force:
        return
    if data is not None:
        raise BackupError(f"{data}: not empty; --force moves its contents aside")
    for place in (config, rules) if config is not None else ():
        if place is None:
            continue
        if place.is_file() or (place.is_dir() and any(place.iterdir())):
            raise BackupError(f"{place}: already exists; --force moves it aside")


def _lock_out_others(data: Path, locks: ExitStack) -> None:
    """Lock the folder while entries are moved; the lock files are moved aside with the rest."""
    for name in _LOCKS:
        if (data / name).exists():
            file = locks.enter_context((data / name).open("rb"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BackupError(f"{data}: in use by a running linkmend; stop it first") from error
