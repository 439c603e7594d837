"""The school's own model, beside its collection: taken up as soon as it is there, without a restart.

What is wrong with its file costs nobody the ranking: the last good model stays, or the one that ships.
"""

import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from repair import rankmodel
from repair.errors import ModelMismatch
from repair.rankmodel import RankModel

NAME = "ranking.json"
"""The file's name, in the folder of the collection."""
_LOOK_EVERY_S = 60.0

log = logging.getLogger(__name__)


class OwnModel:
    """The model in use: the school's own if there is one for our features, else the default."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._seen: tuple[int, ...] | None = None
        self._own: RankModel | None = None
        self._refused = ""

    def current(self) -> RankModel:
        """The same object until there is another; raises ModelMismatch when even the default is not for us."""
        with self._lock:
            now = self._clock()
            if self._looked_at is None or now - self._looked_at >= _LOOK_EVERY_S:
                self._looked_at = now
                self._look()
            return self._own or self._default()

    def _default(self) -> RankModel:
        if self._refused:  # reading it again and again would not help
            raise ModelMismatch(self._refused)
        try:
            return rankmodel.default()
        except ModelMismatch as error:
            self._refused = str(error)
            raise

    def _look(self) -> None:
        seen = _stamp(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        if seen is None:
            self._own = None
            return
        try:
            self._own = rankmodel.load(self._path)
            log.info("ranking by the school's own model")
        except ModelMismatch as error:
            log.warning("the school's own model is not taken: %s", error)


def save(path: Path, data: bytes) -> None:
    """Put a model in the place of another in one step: whoever reads meets the old one or the new one, whole."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes with a file; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
