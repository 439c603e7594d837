"""The temporary folder for training on the school's own pages; only one training may run at a time."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repair.errors import EvaluationFailed

NAME = "training"


@contextmanager
def work_folder(data: Path) -> Iterator[Path]:
    """A new folder in the data folder, readable by its owner alone; it is removed at the end in any case.

    The remains of a killed training are removed first. EvaluationFailed while another training runs. All temporary
    files of the program go there too: they contain the school's pages, and nothing else would delete them.
    """
    folder = data / NAME
    with _lock(data):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        before, tempfile.tempdir = tempfile.tempdir, str(folder)
        try:
            yield folder
        finally:
            tempfile.tempdir = before
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock(data: Path) -> Iterator[None]:
    """Hold a lock that the system releases when the process ends, however it ends."""
    handle = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EvaluationFailed(f"{data}: another training run is active") from error
        yield
    finally:
        os.close(handle)
