"""proxy.backup: made and restored; never half, never over existing data without --force."""

import fcntl
import os
from contextlib import suppress

import pytest

from proxy.backup import restorer
from proxy.backup.create import BackupRequest, make_backup
from proxy.backup.restorer import finish, restore
from proxy.errors import BackupError


@pytest.fixture
def data(tmp_path):
    """A data folder with one file, and settings with one rule beside it."""
    folder = tmp_path / "data"
    (folder / "ca").mkdir(parents=True)
    (folder / "ca" / "key.pem").write_text("secret")
    (tmp_path / "etc" / "rules.d").mkdir(parents=True)
    (tmp_path / "etc" / "linkmend.toml").write_text("[log]\n")
    (tmp_path / "etc" / "rules.d" / "10.toml").write_text("# a rule\n")
    return folder


@pytest.fixture
def backup(data, tmp_path):
    file = tmp_path / "b.tar.zst"
    etc = tmp_path / "etc"
    make_backup(data, file, BackupRequest(settings=etc / "linkmend.toml", rules=etc / "rules.d"))
    return file


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()
    }


def test_a_backup_is_for_its_owner_alone_and_leaves_no_traces(data, backup):
    assert backup.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(backup.parent)) == ["b.tar.zst", "data", "etc"]
    assert set(os.listdir(data)) == {"ca", ".backup.lock"}


def test_what_was_backed_up_comes_back_into_an_empty_folder(backup, tmp_path):
    new = tmp_path / "new"
    restore(backup, new)
    assert content(new) == {
        "ca/key.pem": "secret",
        "settings/linkmend.toml": "[log]\n",
        "settings/rules.d/10.toml": "# a rule\n",
    }
    assert (new / "ca" / "key.pem").stat().st_mode & 0o777 == 0o600


def test_settings_and_rules_go_where_the_settings_file_is_named(backup, tmp_path):
    config = tmp_path / "there" / "my.toml"
    restore(backup, tmp_path / "new", config=config)
    assert content(tmp_path / "there") == {"my.toml": "[log]\n", "rules.d/10.toml": "# a rule\n"}
    assert content(tmp_path / "new") == {"ca/key.pem": "secret"}


def test_rules_go_into_the_folder_that_the_admin_names(data, tmp_path):
    (tmp_path / "etc" / "linkmend.toml").write_text("[rules]\nfolder = 'ours'\n[later]\n")
    (tmp_path / "etc" / "rules.d").rename(tmp_path / "etc" / "ours")
    file = tmp_path / "b"
    make_backup(
        data,
        file,
        BackupRequest(settings=tmp_path / "etc" / "linkmend.toml", rules=tmp_path / "etc" / "ours"),
    )
    config = tmp_path / "there" / "linkmend.toml"
    with pytest.raises(BackupError, match=r"settings/linkmend\.toml: rules\.folder is 'ours'.*--rules"):
        restore(file, tmp_path / "new", config=config)
    assert not config.exists()
    restore(file, tmp_path / "new", config=config, rules=config.parent / "ours")
    assert (tmp_path / "there" / "ours" / "10.toml").read_text() == "# a rule\n"


def test_a_folder_that_is_not_empty_is_left_alone(backup, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine").write_text("mine")
    with pytest.raises(BackupError, match="not empty; --force"):
        restore(backup, tmp_path / "new")
    assert content(tmp_path / "new") == {"mine": "mine"}


def test_a_settings_file_that_is_there_is_left_alone(backup, tmp_path):
    config = tmp_path / "etc" / "linkmend.toml"
    with pytest.raises(BackupError, match=r"linkmend\.toml: already exists"):
        restore(backup, tmp_path / "new", config=config)
    config.unlink()
    with pytest.raises(BackupError, match=r"rules\.d: already exists"):
        restore(backup, tmp_path / "new", config=config)
    assert content(tmp_path / "new") == {}


def test_with_force_the_old_data_is_moved_aside(data, backup, tmp_path):
    (data / "ca" / "key.pem").write_text("newer")
    config = tmp_path / "etc" / "linkmend.toml"
    config.write_text("[cache]\n")
    (config.parent / "rules.d" / "20.toml").write_text("# since\n")
    restore(backup, data, force=True, config=config)
    (aside,) = data.glob("before-restore-*")
    assert content(aside) == {"ca/key.pem": "newer"}
    assert (data / "ca" / "key.pem").read_text() == "secret"
    assert content(config.parent) == {
        "linkmend.toml": "[log]\n",
        "linkmend.toml.before-restore": "[cache]\n",
        "rules.d/10.toml": "# a rule\n",
        "rules.d/20.toml.before-restore": "# since\n",
    }


def test_a_bad_backup_changes_nothing(data, backup):
    (data / "ca" / "key.pem").write_text("newer")
    backup.write_bytes(backup.read_bytes()[:-20])
    with pytest.raises(BackupError):
        restore(backup, data, force=True)
    assert content(data) == {"ca/key.pem": "newer", ".backup.lock": ""}


@pytest.mark.parametrize("step", range(30))
def test_interrupted_restore_leaves_the_old_or_the_new_folder(data, backup, step, monkeypatch):
    (data / "ca" / "key.pem").write_text("newer")
    (data / "misses").mkdir()
    (data / "misses" / "log").write_text("since")
    steps = iter([False] * step + [True])

    def cut_off(original):
        def maybe(*arguments, **keywords):
            if next(steps, False):
                raise KeyboardInterrupt
            return original(*arguments, **keywords)

        return maybe

    with monkeypatch.context() as patched:
        for name in ("rename", "mkdir", "replace", "unlink"):
            patched.setattr(restorer.Path, name, cut_off(getattr(restorer.Path, name)))
        with suppress(KeyboardInterrupt):
            restore(backup, data, force=True)
    finish(data)
    found = {name: text for name, text in content(data).items() if not name.startswith((".", "before-"))}
    old = {"ca/key.pem": "newer", "misses/log": "since"}
    new = {
        "ca/key.pem": "secret",
        "settings/linkmend.toml": "[log]\n",
        "settings/rules.d/10.toml": "# a rule\n",
    }
    assert found in (old, new)
    assert found == old or content(next(data.glob("before-restore-*"))) == old


def test_a_folder_in_use_is_left_alone(data, backup):
    (data / "cache").mkdir()
    with (data / "cache" / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with pytest.raises(BackupError, match="in use by a running linkmend; stop it first"):
            restore(backup, data, force=True)


def test_second_concurrent_backup_is_refused(data, tmp_path):
    with (data / ".backup.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BackupError, match="another backup is running"):
            make_backup(data, tmp_path / "x", BackupRequest())
    assert not (tmp_path / "x").exists()


def test_a_failed_backup_leaves_the_last_good_one(data, backup, tmp_path):
    before = backup.read_bytes()
    (data / "broken.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(BackupError, match="cannot copy"):
        make_backup(data, backup, BackupRequest())
    assert backup.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["b.tar.zst", "data", "etc"]


def test_backup_in_the_data_folder_excludes_itself(data, tmp_path):
    for _ in range(2):
        made = make_backup(data, data / "own.tar.zst", BackupRequest())
    assert made.files == 1


def test_rules_in_the_data_folder_are_taken_once(data, tmp_path):
    (data / "rules.d").mkdir()
    (data / "rules.d" / "1.toml").write_text("")
    assert make_backup(data, tmp_path / "x", BackupRequest(rules=data / "rules.d")).files == 2


def test_missing_data_folder_is_reported(tmp_path):
    with pytest.raises(BackupError, match="no such data folder"):
        make_backup(tmp_path / "none", tmp_path / "x", BackupRequest())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_restored_files_belong_to_the_owner_of_the_folder(backup, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    os.chown(new, 12345, 12345)
    restore(backup, new)
    make_backup(new, tmp_path / "x", BackupRequest())
    assert {path.stat().st_uid for path in new.rglob("*")} == {12345}
