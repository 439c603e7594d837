"""Review: the interface to lists, marks and export of missed pages."""

from collections.abc import Iterator
from dataclasses import dataclass

from proxy.misses.export import Form, export
from proxy.misses.filters import MissFilter
from proxy.misses.lists import MissLists
from proxy.misses.marks import AddressMarks
from proxy.misses.store import MissStore
from repair.soft404.sitestore import SiteStore


@dataclass(frozen=True, slots=True, kw_only=True)
class MissReview:
    """Lists and marks over one miss log."""

    misses: MissStore
    lists: MissLists
    marks: AddressMarks

    @classmethod
    def over(cls, misses: MissStore, sites: SiteStore) -> "MissReview":
        """The review of a miss log; marks of wrong verdicts correct `sites`."""
        return cls(misses=misses, lists=MissLists(misses), marks=AddressMarks(misses, sites))

    def export(self, wanted: MissFilter, form: Form) -> Iterator[str]:
        """As `proxy.misses.export.export`."""
        return export(self.misses, wanted, form)
