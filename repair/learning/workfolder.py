"""Where learning from the school's own pages works: a folder for the time of one learning, one learning at a time."""

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
def scratch(data: Path) -> Iterator[Path]:
    """A new folder in the data folder, for its owner alone; it goes at the end, whatever happened.

    What a killed learning left is removed. EvaluationFailed while another one is under way. Temporary files of the
    whole program go there as well: they hold the school's pages, and nobody else would clear them away.
    """
    folder = data / NAME
    with _alone(data):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        before, tempfile.tempdir = tempfile.tempdir, str(folder)
        try:
            yield folder
        finally:
            tempfile.tempdir = before
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone(data: Path) -> Iterator[None]:
    """A lock that ends with the process, however it ends."""
    handle = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EvaluationFailed(f"{data}: another learning is under way") from error
        yield
    finally:
        os.close(handle)
