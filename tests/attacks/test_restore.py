"""A backup made by an attacker: it is restored into the folders that the admin named, or refused entirely."""

import hashlib
import io
import json
import tarfile

import pytest
import zstandard

from proxy.backup.restorer import restore
from proxy.errors import BackupError
from tests.integration.processes import linkmend

HEAD = {"format": 1, "made_at": "2026-01-01T00:00:00+00:00", "cache": True, "ca": True}
RULE = b'[[rule]]\naction = "pass"\npattern = "http://a.test/*"\n'


def a_member(name, content=b"", **known):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for field, value in known.items():
        setattr(member, field, value)
    return member, content


def a_backup(file, *members, settings=b""):
    """A backup as linkmend writes it, with these members; its manifest is right."""
    listed = [a_member("data/mine.txt", b"mine")]
    if settings:
        listed += [a_member("settings/linkmend.toml", settings), a_member("settings/rules.d/10.toml", RULE)]
    listed += members
    manifest = {
        member.name: {"size": member.size, "sha256": hashlib.sha256(content).hexdigest()}
        for member, content in listed
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, content in (
            a_member("linkmend-backup.json", json.dumps(HEAD).encode()),
            *listed,
            a_member("manifest.json", json.dumps(manifest).encode()),
        ):
            tar.addfile(member, io.BytesIO(content))
    file.write_bytes(zstandard.ZstdCompressor().compress(packed.getvalue()))
    return file


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def put_back(tmp_path):
    """Restore with --config into `etc`; returns the output of the command, and the files outside of `data`."""

    def run(file, *more):
        done = linkmend(
            *("restore", file, "--data", tmp_path / "data", "--config", tmp_path / "etc" / "linkmend.toml"),
            *more,
        )
        there = {name for name in files_in(tmp_path) if not name.startswith("data/")}
        return done, there - {file.name}

    (tmp_path / "etc").mkdir()
    return run


def test_rules_of_a_backup_are_restored_only_beside_the_settings(tmp_path, put_back):
    elsewhere = tmp_path / "cron.d"
    for folder in (str(elsewhere), "../cron.d", "cron.d"):
        hostile = a_backup(tmp_path / "hostile", settings=f"[rules]\nfolder = '{folder}'\n".encode())
        done, there = put_back(hostile)
        assert done.returncode != 0
        assert "settings/linkmend.toml: rules.folder" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert there == set()
        assert not (tmp_path / "data" / "mine.txt").exists()
    honest = a_backup(tmp_path / "honest", settings=b"[log]\nlevel = 'info'\n")
    done, there = put_back(honest)
    assert done.returncode == 0, done.stderr
    assert there == {"etc/linkmend.toml", "etc/rules.d/10.toml", "hostile"}
    assert (tmp_path / "data" / "mine.txt").read_text() == "mine"


def test_admin_chooses_the_rules_folder(tmp_path, put_back):
    file = a_backup(tmp_path / "b", settings=f"[rules]\nfolder = '{tmp_path / 'mine.d'}'\n".encode())
    done, there = put_back(file, "--rules", str(tmp_path / "mine.d"))
    assert done.returncode == 0, done.stderr
    assert there == {"etc/linkmend.toml", "mine.d/10.toml"}


def test_a_link_in_the_rules_folder_is_not_followed(tmp_path, put_back):
    (tmp_path / "etc" / "rules.d").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "etc" / "rules.d" / "lists").symlink_to(tmp_path / "elsewhere")
    file = a_backup(
        tmp_path / "b",
        a_member("settings/rules.d/lists/evil.txt", b"evil"),
        settings=b"[log]\nlevel = 'info'\n",
    )
    done, there = put_back(file, "--force")
    assert done.returncode != 0
    assert "is a symbolic link" in done.stderr
    assert there == set()


SIZE = 2**40
HOSTILE = {
    "an absolute path": [a_member("/tmp/evil", b"x")],
    "a way up": [a_member("data/../../evil", b"x")],
    "a way up in the rules": [a_member("settings/rules.d/../../evil", b"x")],
    "another folder": [a_member("evil", b"x")],
    "a file beside the settings": [a_member("settings/evil.toml", b"x")],
    "a symbolic link": [a_member("data/evil", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    "a hard link": [a_member("data/evil", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
    "a device": [a_member("data/evil", type=tarfile.CHRTYPE)],
    "a pipe": [a_member("data/evil", type=tarfile.FIFOTYPE)],
    "a name twice": [a_member("data/twice", b"1"), a_member("data/twice", b"2")],
    "a name twice but for case": [a_member("data/Twice", b"1"), a_member("data/tWICE", b"2")],
    "a file that is a folder too": [a_member("data/a", b"1"), a_member("data/a/b", b"2")],
    "the journal of a restore": [a_member("data/.restoring/journal.json", b"{}")],
    "the journal of a restore in capitals": [a_member("data/.RESTORING/journal.json", b"{}")],
    "a backslash": [a_member("data\\..\\evil", b"x")],
    "a line break": [a_member("data/evil\nname", b"x")],
    "a very long name": [a_member("data/" + "x" * 5_000, b"x")],
    "a very deep name": [a_member("data/" + "x/" * 200 + "x", b"x")],
    "a huge header": [a_member("data/x", b"x", pax_headers={"comment": "x" * 1_000_000})],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_backup_with_a_hostile_member_is_refused_entirely(tmp_path, members):
    settings = b"[log]\nlevel = 'info'\n"
    with pytest.raises(BackupError):
        restore(
            a_backup(tmp_path / "b", *members, settings=settings),
            tmp_path / "data",
            config=tmp_path / "etc" / "linkmend.toml",
        )
    assert files_in(tmp_path) == {"b"}
    restore(a_backup(tmp_path / "b", settings=settings), tmp_path / "data")
    assert (tmp_path / "data" / "mine.txt").read_text() == "mine"


def test_backup_bomb_is_refused(tmp_path, put_back):
    file = tmp_path / "b"
    head = tarfile.TarInfo("linkmend-backup.json")
    written = json.dumps(HEAD).encode()
    head.size = len(written)
    huge = tarfile.TarInfo("data/huge")
    huge.size = SIZE
    start = head.tobuf() + written.ljust(512, b"\0") + huge.tobuf()
    file.write_bytes(zstandard.ZstdCompressor().compress(start + bytes(2**20)))
    done, there = put_back(file)
    assert done.returncode != 0
    assert "data/huge" in done.stderr
    assert there == set()
    assert not files_in(tmp_path / "data")
