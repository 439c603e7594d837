"""Putting a backup back: laid out and checked beside what is there, then moved into its place.

The moving is written down first. If it is cut off, whichever command opens the folder next brings it to its end
before it looks at anything (`finish`): nobody ever meets half of the old and half of the new. Entries are moved one
by one, and the folder itself never: it may be a mount, or the link that systemd makes of a state directory.
"""

import fcntl
import os
import shutil
import tomllib
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proxy.backup.archive import Head, unpack
from proxy.backup.contents import ASIDE, RESTORING, is_ours
from proxy.errors import BackupError

SETTINGS = "settings"
"""Where settings and rules lie after a restore for which no settings file was named."""

_JOURNAL = "journal.json"
_RULES = "rules.d"
_BEFORE = ".before-restore"
_LOCKS = ("cache/lock", "collection/index/writer.lock")


class _Journal(msgspec.Struct, frozen=True, kw_only=True):
    """What is still to be done: `old` entries go aside, then all that was laid out takes their place."""

    old: list[str]
    aside: str
    config: str
    rules: str = ""


def restore(
    file: Path, data: Path, *, force: bool = False, config: Path | None = None, rules: Path | None = None
) -> Head:
    """Put a backup into a data folder; what was in it goes aside, and only with `force`.

    With `config`, the settings file goes there and its rules into `rules`, or `rules.d` beside it; else both go into
    the folder. Nothing is written anywhere else, whatever the backup's settings say. Raises BackupError, and then
    nothing has changed.
    """
    place = rules or (config.parent / _RULES if config else None)
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        finish(data)
        with ExitStack() as locks:
            _lock_out_others(data, locks)
            old = [entry.name for entry in data.iterdir() if not is_ours(entry.name)]
            _refuse_to_overwrite(data if old else None, config, place, force)
            return _restored(file, data, old, config, place, named=rules is not None)
    except OSError as error:
        raise BackupError(f"{data}: {error}") from error


def _restored(
    file: Path, data: Path, old: list[str], config: Path | None, rules: Path | None, *, named: bool
) -> Head:
    stage = data / RESTORING
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "new" / "data").mkdir(parents=True, mode=0o700)
    try:
        head = unpack(file, stage / "new")
        if config is not None and rules is not None:
            _refuse_to_stray(stage / "new" / SETTINGS, config, rules, named=named)
        if config is None and (stage / "new" / SETTINGS).exists():
            (stage / "new" / SETTINGS).rename(stage / "new" / "data" / SETTINGS)
        give_to_owner(stage, data)
        os.sync()  # what the journal promises must be on the disk before it is
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
    """Bring a restore to its end that was cut off; nothing when there is none. It may be cut off itself."""
    stage = data / RESTORING
    if not (stage / _JOURNAL).exists():
        return
    handle = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two commands may come upon it at once
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
    """All in a folder to whoever owns the data folder; only root can, and only root has to."""
    if os.geteuid() != 0:
        return
    owner = data.stat()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _refuse_to_stray(source: Path, config: Path, rules: Path, *, named: bool) -> None:
    """Raises BackupError where settings of the backup name another folder for its rules than the admin did, where it
    holds more than settings and rules, or where a link in the way leads out of the folder."""
    wanted = _named_rules_folder(source / "linkmend.toml")
    if wanted and (source / _RULES).is_dir() and not named and config.parent / wanted != rules:
        raise BackupError(
            f"settings/linkmend.toml: rules.folder is {wanted[:200]!r}, not {_RULES!r} beside {config}:"
            " say with --rules where the rules of the backup go"
        )
    for path in source.rglob("*") if source.is_dir() else ():
        inside = path.relative_to(source)
        if inside.parts[0] not in ("linkmend.toml", _RULES):
            raise BackupError(f"settings/{inside}: does not belong into a backup")
        if inside.parts[0] == _RULES:
            target = rules / inside.relative_to(_RULES)
            for place in (target, *target.parents):
                if place.is_symlink() and place.is_relative_to(rules):
                    raise BackupError(f"settings/{inside}: {place} is a link, and is not followed")


def _put_settings(source: Path, config: Path, rules: Path) -> None:
    """Files of before keep lying beside the new ones under another name, which nobody reads."""
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
    """What the settings call `rules.folder`; read leniently, since they may be of an older linkmend."""
    try:
        section = tomllib.loads(settings.read_text(encoding="utf-8")).get("rules")
    except (OSError, ValueError):
        return ""
    named = section.get("folder") if isinstance(section, dict) else None
    return named if isinstance(named, str) else ""


def _write(target: Path, content: bytes) -> None:
    fresh = target.with_name(f".{target.name}.new")
    fresh.unlink(missing_ok=True)  # of a restore that was cut off; a link that lies there is not followed
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(target)


def _refuse_to_overwrite(data: Path | None, config: Path | None, rules: Path | None, force: bool) -> None:
    if force:
        return
    if data is not None:
        raise BackupError(f"{data}: not empty; with --force what is in it goes aside")
    for place in (config, rules) if config is not None else ():
        if place is None:
            continue
        if place.is_file() or (place.is_dir() and any(place.iterdir())):
            raise BackupError(f"{place}: is there already; with --force it goes aside")


def _lock_out_others(data: Path, locks: ExitStack) -> None:
    """Held for as long as the moving takes; the files go aside with the rest."""
    for name in _LOCKS:
        if (data / name).exists():
            file = locks.enter_context((data / name).open("rb"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BackupError(f"{data}: linkmend is running on it; stop it first") from error
