"""Fair shares of bounded resources: no client can use up another network's share, with any number of addresses.

Clients are given as codes, and the codes of one network begin alike (`proxy/privacy/clients.py`).
"""

from collections import Counter
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime
from typing import Generic, TypeVar

from proxy.privacy.clients import network_code

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class FairMemory(Generic[K, T]):
    """A memory of at most `limit` things, each belonging to one client.

    When it is full, it evicts from the network with the most things: the oldest thing of the client with the most.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: dict[K, tuple[str, T]] = {}
        self._keys: dict[str, dict[str, dict[K, None]]] = {}
        """Keys by network and client, the oldest first."""
        self._sizes: Counter[str] = Counter()
        """Number of things per network."""

    def __len__(self) -> int:
        return len(self._things)

    def get(self, key: K) -> T | None:
        found = self._things.get(key)
        return found[1] if found is not None else None

    def put(self, key: K, client: str, thing: T) -> None:
        """Remember a thing as the newest of its client."""
        network = network_code(client)
        known = self._things.get(key)
        if known is not None and known[0] == client:
            self._things[key] = (client, thing)
            self._renew(key, client, self._keys[network])
            return
        self.forget(key)
        self._things[key] = (client, thing)
        self._keys.setdefault(network, {}).setdefault(client, {})[key] = None
        self._sizes[network] += 1
        if len(self._things) > self._limit:
            clients = self._keys[max(self._sizes, key=self._sizes.__getitem__)]
            most = max(clients, key=lambda each: len(clients[each]))
            self.forget(next(iter(clients[most])))

    def _renew(self, key: K, client: str, clients: dict[str, dict[K, None]]) -> None:
        """Make a key the newest of its client, as if it was forgotten and put again."""
        keys = clients[client]
        del keys[key]
        keys[key] = None
        if len(keys) == 1:
            clients[client] = clients.pop(client)

    def forget(self, key: K) -> None:
        client, _ = self._things.pop(key, (None, None))
        if client is None:
            return
        network = network_code(client)
        clients = self._keys[network]
        del clients[client][key]
        if not clients[client]:
            del clients[client]
        self._sizes[network] -= 1
        if not clients:
            del self._keys[network], self._sizes[network]


class DailyShare:
    """A daily limit per network (UTC)."""

    def __init__(self, most: int, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._most = most
        self._clock = clock
        self._day: date | None = None
        self._taken: Counter[str] = Counter()

    def take(self, client: str, amount: int = 1) -> bool:
        """Take `amount` from the share of a client's network; False when it is not enough."""
        if self.is_spent(client, amount):
            return False
        self._taken[network_code(client)] += amount
        return True

    def is_spent(self, client: str, amount: int = 1) -> bool:
        """Whether less than `amount` is left of the share of a client's network."""
        today = self._clock().astimezone(UTC).date()
        if today != self._day:
            self._day = today
            self._taken.clear()
        return self._taken[network_code(client)] + amount > self._most
