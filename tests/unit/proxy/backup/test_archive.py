"""proxy.backup.archive: a backup is read only when it is complete, of our format, and stays in its folder."""

import io
import tarfile

import msgspec
import pytest
import zstandard

from proxy.backup.archive import FORMAT, BackupHeader, BackupWriter, unpack
from proxy.errors import BackupError

HEAD = BackupHeader(format=FORMAT, made_at="2026-11-16T20:00:00+00:00", cache=True, ca=True)


def a_backup(tmp_path, content=b"words", name="data/a/b"):
    source, file = tmp_path / "source", tmp_path / "backup.tar.zst"
    source.write_bytes(content)
    with file.open("wb") as target, BackupWriter(target, HEAD) as writer:
        writer.add(name, source)
    return file


def members(file):
    with tarfile.open(
        fileobj=io.BytesIO(zstandard.ZstdDecompressor().stream_reader(file.read_bytes()).read())
    ) as tar:
        return [(member, tar.extractfile(member).read()) for member in tar]


def packed(tmp_path, *made):
    file, plain = tmp_path / "made.tar.zst", io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for member, content in made:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    file.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    return file


def test_backup_round_trips(tmp_path):
    into = tmp_path / "into"
    assert unpack(a_backup(tmp_path), into) == HEAD
    assert (into / "data" / "a" / "b").read_bytes() == b"words"
    assert (into / "data" / "a" / "b").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kept", [0, 1, 100, -30])
def test_a_backup_cut_short_is_refused(tmp_path, kept):
    file = a_backup(tmp_path, content=bytes(range(256)) * 1000)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(BackupError, match=r"backup\.tar\.zst: "):
        unpack(file, tmp_path / "into")


def test_a_backup_without_its_last_member_is_refused(tmp_path):
    file = packed(tmp_path, *members(a_backup(tmp_path))[:-1])
    with pytest.raises(BackupError, match="truncated"):
        unpack(file, tmp_path / "into")


def test_a_changed_byte_is_found(tmp_path):
    head, (member, _), manifest = members(a_backup(tmp_path))
    with pytest.raises(BackupError, match="'data/a/b' has changed since"):
        unpack(packed(tmp_path, head, (member, b"wordz"), manifest), tmp_path / "into")


def test_a_missing_and_an_additional_file_are_found(tmp_path):
    head, one, manifest = members(a_backup(tmp_path))
    with pytest.raises(BackupError, match="has changed since"):
        unpack(packed(tmp_path, head, manifest), tmp_path / "into")
    more = (tarfile.TarInfo("data/more"), b"x")
    with pytest.raises(BackupError, match="'data/more' has changed since"):
        unpack(packed(tmp_path, head, one, more, manifest), tmp_path / "into2")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "/etc/passwd",
            "../out",
            "data/../../out",
            "data/./x",
            "data//x",
            "data",
            "elsewhere/x",
            "data/a\\..\\b",
        ),
        *("data/.restoring/journal.json", "data/before-restore-x/y", "linkmend-backup.json"),
    ],
)
def test_name_outside_the_folder_is_refused(tmp_path, name):
    head, _, manifest = members(a_backup(tmp_path))
    with pytest.raises(BackupError, match="unexpected file in the backup"):
        unpack(packed(tmp_path, head, (tarfile.TarInfo(name), b"x"), manifest), tmp_path / "in" / "to")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_only_plain_files_are_unpacked(tmp_path, kind):
    head, _, manifest = members(a_backup(tmp_path))
    member = tarfile.TarInfo("data/link")
    member.type, member.linkname = kind, "/etc/passwd"
    with pytest.raises(BackupError, match="unexpected file in the backup"):
        unpack(packed(tmp_path, head, (member, b""), manifest), tmp_path / "into")


def test_a_name_that_comes_twice_is_refused(tmp_path):
    head, one, manifest = members(a_backup(tmp_path))
    with pytest.raises(BackupError, match="twice"):
        unpack(packed(tmp_path, head, one, one, manifest), tmp_path / "into")


@pytest.mark.parametrize("number", [FORMAT + 1, "1", None])
def test_backup_of_another_format_is_refused_before_unpacking(tmp_path, number):
    (head, _), *rest = members(a_backup(tmp_path))
    told = {**msgspec.to_builtins(HEAD), "format": number, "more": []}
    with pytest.raises(BackupError, match="backup format"):
        unpack(packed(tmp_path, (head, msgspec.json.encode(told)), *rest), tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x28\xb5\x2f\xfd garbage", zstandard.compress(b"no tar")]
)
def test_any_other_file_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BackupError, match="x: "):
        unpack(tmp_path / "x", tmp_path / "into")


def test_foreign_tar_is_refused(tmp_path):
    with pytest.raises(BackupError, match="not a linkmend backup"):
        unpack(packed(tmp_path, (tarfile.TarInfo("data/a"), b"x")), tmp_path / "into")
