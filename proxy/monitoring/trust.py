"""Which devices trust linkmend's certificate, told by their TLS handshakes of today; bounded, in memory only.

A device trusts it if any program on it does: some programs (updates, autofill) accept only certificates of their own.
Devices are known by their code for the day, so the figures start anew every day, as the codes do.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime

_MAX_DEVICES = 5_000
_MAX_HOSTS = 500


class CertificateTrust:
    """Counts handshakes that succeeded and that a client refused."""

    def __init__(self, today: Callable[[], date] = lambda: datetime.now(UTC).date()) -> None:
        self._today = today
        self._day = today()
        self._trusting: dict[str, int] = {}
        self._refusing: dict[str, int] = {}
        self._refused_hosts: dict[str, int] = {}

    def note_trust(self, device: str) -> None:
        """A program on this device accepted a certificate of ours."""
        self._start_day()
        _count(self._trusting, device, _MAX_DEVICES)

    def note_refusal(self, device: str, host: str) -> bool:
        """A program on this device refused our certificate for a host; returns whether it is the device's first."""
        self._start_day()
        _count(self._refused_hosts, host[:255], _MAX_HOSTS)
        return _count(self._refusing, device, _MAX_DEVICES) == 1

    def trusts(self, device: str) -> bool:
        """Whether a program on this device accepted our certificate today."""
        self._start_day()
        return device in self._trusting

    def counts(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Handshakes of today: accepted by device, refused by device, refused by host."""
        self._start_day()
        return dict(self._trusting), dict(self._refusing), dict(self._refused_hosts)

    def _start_day(self) -> None:
        if self._day != (day := self._today()):
            self._day = day
            for counts in (self._trusting, self._refusing, self._refused_hosts):
                counts.clear()


def _count(counts: dict[str, int], name: str, most: int) -> int:
    if name in counts or len(counts) < most:
        counts[name] = counts.get(name, 0) + 1
    return counts.get(name, 0)
