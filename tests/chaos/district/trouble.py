"""What goes wrong in a district, one after the other, from a seed; every trouble ends again."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from tests.chaos.district.engines import CACHES, NODES, Database, Squids, hang
from tests.chaos.district.line import Line
from tests.integration.opensearch.cluster import Cluster


class Trouble(threading.Thread):
    """Makes each kind of trouble in turn, in an order and for times that the seed gives."""

    def __init__(
        self,
        cluster: Cluster,
        database: Database,
        squids: Squids,
        lines: list[Line],
        luck: random.Random,
        *,
        longest_cut_s: float,
        longest_pause_s: float,
    ) -> None:
        """`longest_pause_s` is how long nothing new breaks at most: nodes need some seconds to be of use again."""
        super().__init__(daemon=True)
        self.made: Counter[str] = Counter()
        self.error: BaseException | None = None
        self._cluster, self._database, self._squids, self._lines = cluster, database, squids, lines
        self._luck, self._longest_cut_s, self._longest_pause_s = luck, longest_cut_s, longest_pause_s
        self._stopping = threading.Event()

    def run(self) -> None:
        """Make trouble until told to stop."""
        kinds: list[tuple[str, Callable[[], bool | None]]] = [
            ("a line is cut", self._cut_one),
            ("OpenSearch node killed", self._kill_node),
            ("Squid killed", self._kill_squid),
            ("PostgreSQL primary killed", self._kill_primary),
            ("all lines are cut", self._cut_all),
            ("PostgreSQL hangs", self._hang_primary),
            ("OpenSearch node hangs", self._hang_node),
        ]
        try:
            while not self._stopping.is_set():
                self._luck.shuffle(kinds)
                for name, make in kinds:
                    if self._stopping.wait(self._luck.uniform(0.5, self._longest_pause_s)):
                        return
                    if make() is not False:
                        self.made[name] += 1
        except BaseException as error:  # noqa: BLE001  (the trial tells of it)
            self.error = error

    def stop(self) -> None:
        """Make no more; what is under way ends first."""
        self._stopping.set()
        self.join(600)
        self._database.wait_for_standby()

    def _cut_one(self) -> None:
        self._cut([self._luck.choice(self._lines)])

    def _cut_all(self) -> None:
        self._cut(self._lines)

    def _cut(self, lines: list[Line]) -> None:
        for line in lines:
            line.cut()
        self._stopping.wait(self._luck.uniform(2.0, self._longest_cut_s))
        for line in lines:
            line.mend()

    def _kill_node(self) -> None:
        node = self._luck.randrange(NODES)
        self._cluster.kill(node)
        time.sleep(self._luck.uniform(0.0, 3.0))
        self._cluster.restart(node)

    def _kill_squid(self) -> None:
        cache = self._luck.randrange(CACHES)
        self._squids.kill(cache)
        time.sleep(self._luck.uniform(0.5, 3.0))
        self._squids.restart(cache)

    def _kill_primary(self) -> bool:
        """Not while there is no standby to take its place; it is copied meanwhile."""
        if not self._database.has_standby():
            return False
        self._database.fail_over()
        time.sleep(self._luck.uniform(0.5, 3.0))
        self._database.rebuild()
        return True

    def _hang_primary(self) -> None:
        hang(self._database.servers[self._database.primary].process, self._luck.uniform(1.0, 4.0))

    def _hang_node(self) -> None:
        hang(self._cluster.jvms[self._luck.randrange(NODES)], self._luck.uniform(1.0, 4.0))
