"""A set of connections that forgets each one when it is closed."""

from weakref import ref

from mitmproxy.connection import Connection


class ConnectionSet:
    """Connections by their id, as mitmproxy compares them: a copy of a flow has a copy of its connection.

    A `WeakSet` makes a weak reference to answer each question, and each request asks some twenty.
    """

    def __init__(self) -> None:
        self._held: dict[str, ref[Connection]] = {}

    def add(self, connection: Connection) -> None:
        if connection.id not in self._held:
            held, name = self._held, connection.id
            held[name] = ref(connection, lambda _: held.pop(name, None))

    def discard(self, connection: Connection) -> None:
        self._held.pop(connection.id, None)

    def __contains__(self, connection: Connection) -> bool:
        return connection.id in self._held

    def __len__(self) -> int:
        return len(self._held)
