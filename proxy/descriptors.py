"""How many files and connections the system lets this process have open, and how they are shared out."""

import resource
from dataclasses import dataclass

_ENOUGH = 65_536
_OWN = 200  # stores, logs, listeners, and what is opened for a moment


def raise_limit() -> tuple[int, int]:
    """Raise the limit on open files as far as is allowed and of use; returns what it is now and what it was."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = _finite(soft)
    if before < min(_finite(hard), _ENOUGH):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(_finite(hard), _ENOUGH), hard))
    return open_files(), before


def open_files() -> int:
    """The limit as it stands."""
    return _finite(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _finite(limit: int) -> int:
    return _ENOUGH if limit == resource.RLIM_INFINITY else limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The most connections there may be to all clients, to one of them, and to origins."""

    clients: int
    one_client: int
    origins: int


def shares(limit: int, *, per_client: int) -> ConnectionLimits:
    """`limit` open files shared out; no client gets more than half of the connections for clients (0: just that).

    >>> shares(1400, per_client=1000)
    ConnectionLimits(clients=400, one_client=200, origins=800)
    """
    third = max(limit - _OWN, 3) // 3
    return ConnectionLimits(
        clients=third, one_client=min(per_client or third, max(third // 2, 1)), origins=2 * third
    )
