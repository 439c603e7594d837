"""What all unit tests share: folders in memory, since they make thousands of small databases and check no disk."""

import shutil
import tempfile
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 2 * 1024**3  # of a container's 64 MB too little would be left


@pytest.fixture(scope="session")
def folder_for_all(tmp_path_factory):
    """Where the tests of this process have their folders: in memory, else on disk as pytest has them."""
    if not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < _ENOUGH_BYTES:
        yield tmp_path_factory.getbasetemp()
        return
    with tempfile.TemporaryDirectory(
        dir=_MEMORY, prefix="linkmend-tests-", ignore_cleanup_errors=True
    ) as made:
        yield Path(made)


@pytest.fixture
def tmp_path(folder_for_all):
    """An empty folder of the test's own, gone with it: there is no disk to wait for, and no memory to fill."""
    made = Path(tempfile.mkdtemp(dir=folder_for_all))
    yield made
    shutil.rmtree(made, ignore_errors=True)
