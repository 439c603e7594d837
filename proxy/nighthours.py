"""The hours in which deferred pages are fetched, such as `22:00-05:00` (pure)."""

import re
from dataclasses import dataclass
from datetime import time
from typing import Self

_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightHours:
    """From `begin` up to, but without, `end`, in local time; both the same is the whole day."""

    begin: time
    end: time

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for anything but HH:MM-HH:MM."""
        found = _HOURS.fullmatch(text)
        if found is None:
            raise ValueError(f"expected hours such as 22:00-05:00, got {text!r}")
        hours = [int(number) for number in found.groups()]
        return cls(begin=time(hours[0], hours[1]), end=time(hours[2], hours[3]))

    def holds(self, at: time) -> bool:
        """Whether a local time is within the hours."""
        if self.begin < self.end:
            return self.begin <= at < self.end
        return at >= self.begin or at < self.end
