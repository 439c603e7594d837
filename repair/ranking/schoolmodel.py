"""The school's own model, beside its collection: used as soon as it is there, without a restart.

An error in its file never costs the ranking: the last good model stays in use, or the default.
"""

import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from repair.errors import ModelMismatch
from repair.files import stamp_of
from repair.ranking import rankmodel
from repair.ranking.rankmodel import RankModel

NAME = "ranking.json"
"""The file's name, in the folder of the collection."""
_RELOAD_EVERY_S = 60.0

log = logging.getLogger(__name__)


class SchoolModel:
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
        """The same object until the model changes; raises ModelMismatch when not even the default fits."""
        with self._lock:
            now = self._clock()
            if self._looked_at is None or now - self._looked_at >= _RELOAD_EVERY_S:
                self._looked_at = now
                self._reload()
            return self._own or self._default()

    def _default(self) -> RankModel:
        if self._refused:  # reading it again and again would not help
            raise ModelMismatch(self._refused)
        try:
            return rankmodel.default()
        except ModelMismatch as error:
            self._refused = str(error)
            raise

    def _reload(self) -> None:
        seen = stamp_of(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        if seen is None:
            self._own = None
            return
        try:
            self._own = rankmodel.load(self._path)
            log.info("ranking: using the school's own model")
        except ModelMismatch as error:
            log.warning("ranking: school's own model not usable: %s", error)


def save(path: Path, data: bytes) -> None:
    """Replace a model in one step: readers get the old one or the new one, whole."""
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
