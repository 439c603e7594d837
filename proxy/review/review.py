"""Review: one door to all that an admin may see and say about missed pages."""

from collections.abc import Iterator
from dataclasses import dataclass

from proxy.misses.store import MissStore
from proxy.review.export import Form, export
from proxy.review.lists import Lists
from proxy.review.marks import Marks
from proxy.review.wanted import Wanted
from repair.soft404.sites import Sites


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Lists and marks over one miss log."""

    misses: MissStore
    lists: Lists
    marks: Marks

    @classmethod
    def over(cls, misses: MissStore, sites: Sites) -> "Review":
        """The review of a miss log; wrong verdicts are taught to `sites`."""
        return cls(misses=misses, lists=Lists(misses), marks=Marks(misses, sites))

    def export(self, wanted: Wanted, form: Form) -> Iterator[str]:
        """As `proxy.review.export.export`."""
        return export(self.misses, wanted, form)
