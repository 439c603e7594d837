"""proxy.store.reserve: room is set aside while there is plenty, and never more than a part of it."""

import os

import pytest

from proxy.store import reserve
from proxy.store.reserve import NAME, DiskReserve, free_bytes

MEGABYTE = 1024 * 1024


def test_space_is_reserved_once_in_a_private_file(tmp_path):
    kept = DiskReserve(tmp_path, size=3 * MEGABYTE)
    kept.hold()
    kept.hold()
    assert (tmp_path / NAME).stat().st_size == 3 * MEGABYTE
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_with_room_to_spare_nothing_is_let_go(tmp_path):
    kept = DiskReserve(tmp_path, size=2 * MEGABYTE)
    kept.hold()
    kept.release()
    assert (tmp_path / NAME).exists()


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """A disk of a size that a test says, as far as it is asked how full it is."""

    class Disk:
        size = 0

        def free(self, folder):
            used = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
            return max(0, self.size - used)

    disk = Disk()
    monkeypatch.setattr(reserve, "free_bytes", disk.free)
    return disk


def test_on_a_full_disk_it_is_let_go_and_taken_again(tmp_path, disk):
    kept = DiskReserve(tmp_path, size=2 * MEGABYTE)
    disk.size = 100 * MEGABYTE
    kept.hold()
    disk.size = 2 * MEGABYTE
    kept.release()
    assert (tmp_path / NAME).stat().st_size == 0
    DiskReserve(tmp_path, size=2 * MEGABYTE).hold()  # another process knows what was let go
    assert (tmp_path / NAME).stat().st_size == 2 * MEGABYTE


def test_of_little_room_only_a_part_is_set_aside(tmp_path, disk):
    disk.size = 8 * MEGABYTE
    DiskReserve(tmp_path, size=20 * MEGABYTE).hold()
    assert (tmp_path / NAME).stat().st_size == 2 * MEGABYTE


def test_without_a_reserve_the_oldest_bodies_are_removed(tmp_path, disk):
    folder = tmp_path / "cache" / "responses" / "1" / "ab"
    folder.mkdir(parents=True)
    for age, name in enumerate(("new", "old", "older")):
        (folder / f"{name}.body").write_bytes(bytes(MEGABYTE))
        os.utime(folder / f"{name}.body", (1000 - age, 1000 - age))
    disk.size = 3 * MEGABYTE
    DiskReserve(tmp_path, size=2 * MEGABYTE).release()
    assert [path.name for path in folder.iterdir()] == ["new.body"]


def test_a_folder_that_is_not_there_yet_has_the_room_of_the_one_it_will_be_in(tmp_path):
    assert free_bytes(tmp_path / "not" / "yet") > 0
