"""What one night does about wants, and why: which addresses are due, and how many pages each topic may get.

Looking at an address costs one request and, where it is back, brings the very page; so these come first, up to
half of the night's pages. The rest is for crawls, divided by how much was missed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from repair.growing.wants import Want, WantedMiss, weight_of

_PER_SITE = 20  # addresses of a night: nobody's site, and no reader of one site, takes it all
_LEAST_CRAWL = 5  # pages; fewer are not worth starting
_LEAST_ADDRESSES = 3  # that make words a topic of their own
_MOST_CRAWLS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedAddress:
    """What is known of an address from earlier nights."""

    tries: int
    next_try: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWant:
    """A want, the misses whose addresses are looked at tonight, how many wait for a later night, and the pages that a
    crawl may fetch (0: none)."""

    want: Want
    due: tuple[WantedMiss, ...]
    later: int
    crawl_pages: int = 0

    @property
    def why(self) -> str:
        """The reason, in words for the admin."""
        want = self.want
        missed = f"missed {want.times} times, {want.unanswered} of them in vain"
        about = "a topic of the school" if want.topic else "fits no topic"
        return f"{missed}; {about}"

    @property
    def steps(self) -> tuple[str, ...]:
        """What will be done, in words for the admin."""
        said = [
            f"fetch {miss.url} if it is back, else its archived copy, else pages linked beside it"
            f" (missed {miss.times} times by {miss.readers} readers)"
            for miss in self.due
        ]
        if self.later:
            said.append(f"{self.later} more addresses were looked for lately and wait")
        if self.crawl_pages:
            said.append(f"crawl up to {self.crawl_pages} pages about {self.want.name}")
        return tuple(said)


def plan_night(
    wants: Sequence[Want],
    *,
    holds: Callable[[str], bool],
    tried: Mapping[str, TriedAddress],
    site_of: Callable[[str], str],
    now: float,
    pages: int,
) -> tuple[PlannedWant, ...]:
    """The wants about which something is to be done, in their order; together at most so many `pages`."""
    left = max(1, pages // 2)
    per_site: dict[str, int] = {}
    planned = []
    for want in wants:
        due, later = [], 0
        for miss in want.misses:
            if not miss.url or holds(miss.url):
                continue
            site = site_of(miss.url)
            known = tried.get(miss.url)
            if (known and known.next_try > now) or left <= 0 or per_site.get(site, 0) >= _PER_SITE:
                later += 1
                continue
            due.append(miss)
            per_site[site] = per_site.get(site, 0) + 1
            left -= 1
        planned.append(PlannedWant(want=want, due=tuple(due), later=later))
    return _with_crawls(planned, pages - sum(len(each.due) for each in planned))


def _with_crawls(planned: Sequence[PlannedWant], pages: int) -> tuple[PlannedWant, ...]:
    """Divide pages among the wants that are worth a crawl; wants with nothing to do are left out."""
    crawled = [each for each in planned if _is_worth_a_crawl(each.want)][:_MOST_CRAWLS]
    while crawled and _share(crawled[-1], crawled, pages) < _LEAST_CRAWL:
        crawled.pop()
    given = {each.want.name: _share(each, crawled, pages) for each in crawled}
    return tuple(
        PlannedWant(want=each.want, due=each.due, later=each.later, crawl_pages=given.get(each.want.name, 0))
        for each in planned
        if each.due or each.later or each.want.name in given
    )


def _is_worth_a_crawl(want: Want) -> bool:
    return want.unanswered > 0 and (want.topic is not None or len(want.misses) >= _LEAST_ADDRESSES)


def _share(each: PlannedWant, among: Sequence[PlannedWant], pages: int) -> int:
    return int(pages * weight_of(each.want) / sum(weight_of(other.want) for other in among))
