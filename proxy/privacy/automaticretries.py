"""How often a repair page tries again by itself: where a site says when, a few times, and not all users at once."""

import random
import time
from collections.abc import Callable

from proxy.privacy.fairness import FairMemory

_LEAST_S, _MOST_S = 5.0, 600.0
_TRIES = 5
_FORGOTTEN_AFTER_S = 3_600.0
_MAX_KEPT = 2_000


class AutomaticRetries:
    """Counts the tries of each client and address, in memory only."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._tries: FairMemory[tuple[str, str], tuple[int, float]] = FairMemory(_MAX_KEPT)
        self._clock = clock
        self._chance = chance

    def wait_s(self, client: str, url: str, asked_s: float) -> int:
        """The seconds until the next try; 0 when the user should decide: it takes too long, or was tried enough.

        A class opens a page together. A fifth of the time is left to chance, so that it does not come back together.
        """
        if asked_s > _MOST_S:
            return 0
        tries, last_at = self._tries.get((client, url)) or (0, 0.0)
        if tries and self._clock() - last_at > _FORGOTTEN_AFTER_S:
            tries = 0
        if tries >= _TRIES:
            return 0
        self._tries.put((client, url), client, (tries + 1, self._clock()))
        return round(max(asked_s, _LEAST_S) * (1 + self._chance() / 5))
