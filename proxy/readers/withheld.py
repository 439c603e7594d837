"""Pages that readers did not get to see because they were taken for missing.

Each is kept for its reader alone, so the way to see the page anyway can be taken by nobody else.
"""

from dataclasses import dataclass

from proxy.readers.forreader import ForReader
from repair.model import MissKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A page taken for missing: `missed` is the address that was asked for, `url` where redirects from it ended."""

    kind: MissKind
    missed: str
    url: str
    sketch: tuple[int, ...] = ()


class WithheldPages(ForReader[Withheld]):
    """The latest pages withheld, each for the client that asked for it."""
