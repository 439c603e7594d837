"""Hints: knowledge besides words: moves of sites, users' choices, tags, stop anchors, near-duplicates.

The one interface to them, for repairs and for all code that records something. Near-duplicates on one site never
teach a move: mirrors, print versions and translated shells look the same and lead the other way as often. All
methods block and may be called from any thread; any number of processes may have the collection open.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from repair.collection.collection import Collection
from repair.collection.duplicates import Duplicates
from repair.collection.elsewhere import ConfirmedElsewhere
from repair.collection.pins import Pins, same_page_key
from repair.collection.stopanchors import LearntStopAnchors
from repair.collection.tags import TagStore
from repair.evidence.choices import ChoiceStore, PreferredPage
from repair.knowntargets import KnownTarget, TargetKind
from repair.model import BrokenLink, Link
from repair.moves.claims import LinkClaims
from repair.moves.linkswaps import replaced_links
from repair.moves.movestore import REPAIR, MoveFinder, MoveStore
from repair.moves.rules import Move
from repair.moves.sitemaps import SitemapStore, addresses_within, renamed_addresses
from repair.secrets.addresses import has_secret
from repair.settings import RepairSettings
from repair.text import urls, words

_GUESSES = 5
_PRINTED_AT_ONCE = 40  # fingerprints made in one batch: a fraction of a second
_ALIKE_POWER = 4  # how quickly trust in a near-duplicate falls with its similarity
_ALIKE_MOST = 0.95
_MAX_ANCHOR = 200


class Hints:
    """What a collection knows besides words."""

    def __init__(self, collection: Collection, settings: RepairSettings) -> None:
        database = collection.database
        self.choices = ChoiceStore(database)
        self.tags = TagStore(database)
        self._pins = Pins(database)
        self._elsewhere = ConfirmedElsewhere(database)
        self._collection = collection
        self._moves = MoveStore(database)
        self._claims = LinkClaims(database)
        self._sitemaps = SitemapStore(database)
        self._finder = MoveFinder(self._moves, collection.holds)
        self._duplicates = Duplicates(database)
        self._learnt = LearntStopAnchors(database)
        self._learning = threading.Lock()
        self._named = frozenset(map(_plain, settings.stop_anchors))
        self._load_stop_anchors()

    def known_targets(self, link: BrokenLink) -> tuple[KnownTarget, ...]:
        """Saved pages that the lost one may have become, the most trusted first; one for each kind of evidence.

        Users' choices are not among them: anybody can click.
        """
        if not urls.is_web_url(link.url):
            return ()
        url = urls.normal(link.url)
        found = (*self._move_targets(url), *self._duplicate_targets(url))
        return tuple(sorted(found, key=lambda target: (-target.confidence, target.url, target.kind)))

    def favourites(self, url: str) -> tuple[PreferredPage, ...]:
        """Pages that several networks, or other schools, chose instead of a URL; they order equally ranked pages."""
        return self.choices.favourites(url, now=datetime.now(UTC))

    def directories(self, url: str) -> dict[str, float]:
        """Directories to which pages of a missing page's directory moved, with their shares."""
        return self._finder.directories(url)

    def is_stop_anchor(self, anchor: str) -> bool:
        """Whether an anchor says nothing: by the built-in list, the admin's, or what was learnt here."""
        return words.is_stop_anchor(anchor) or _plain(anchor) in self._stop_anchors

    def note_redirect(self, old: str, new: str) -> None:
        """Record a permanent redirect of a site."""
        self._moves.note(Move(old=old, new=new))

    def note_new_links(self, page: str, before: Iterable[Link], after: Iterable[Link]) -> None:
        """Record the moves that a page tells by its new links, as soon as they may be believed."""
        for move in replaced_links(before, after, self.is_stop_anchor):
            if self._claims.note(page, move):
                self._moves.note_told(move)
            else:
                self._moves.forget_told(move.old)

    def note_sitemap(self, url: str, listed: Iterable[str]) -> int:
        """Record the addresses in a sitemap, and the moves since it was last seen; returns how many."""
        addresses = addresses_within(url, listed)
        moves = renamed_addresses(self._sitemaps.replace(url, addresses), addresses) if addresses else ()
        return sum(self._moves.note_told(move) for move in moves if not has_secret(move.new))

    def note_choice(
        self, url: str, chosen: str, at: datetime, *, network: str, unfit: str | None = None
    ) -> None:
        """Record a user's click on a page offered for a missing one.

        It teaches how the site has moved only where an admin has pinned the same page: clicks alone teach nothing.
        `unfit` is a page that the user opened before and came back from. Going up to a directory of the site is no
        choice: it is what is left to do without one.
        """
        if chosen in urls.shorter_urls(url):
            return
        if not self.choices.vote(url, chosen, network=network, at=at, instead_of=unfit):
            return
        url, chosen = urls.normal(url), urls.normal(chosen)
        if self.is_confirmed(url, chosen) and self._moves.moved_to(url) is None:
            self._moves.note(Move(old=url, new=chosen, origin=REPAIR))

    def is_confirmed(self, url: str, chosen: str) -> bool:
        """Whether an admin has pinned this page for this URL."""
        pin = self._pins.of(url)
        return pin is not None and same_page_key(pin.target) == same_page_key(chosen)

    def forget_choice(self, url: str, chosen: str) -> int:
        """Forget that a page was chosen for a URL, and a move learnt from it.

        Returns how many choices were deleted.
        """
        if not (urls.is_web_url(url) and urls.is_web_url(chosen)):
            return 0
        self._moves.forget_repair(urls.normal(url), urls.normal(chosen))
        return self.choices.forget_choice(url, chosen)

    def forget(self, url: str) -> None:
        """Forget what was recorded about a URL: choices, moves and tags."""
        if urls.is_web_url(url):
            normal = urls.normal(url)
            self.choices.forget(normal)
            self._moves.forget(normal)
            self._claims.forget(normal)
            self.tags.forget(normal)
            self._elsewhere.forget(normal)

    def fingerprints(self, pages: Sequence[int]) -> dict[int, int]:
        """The fingerprints of those of some saved pages that have one, to tell near-duplicates."""
        return self._duplicates.fingerprints(pages)

    def catch_up(self, is_hurried: Callable[[], bool] = lambda: False) -> bool:
        """Do a batch of overdue work; returns whether there was any.

        Cheap when there is none, or when `is_hurried`.
        """
        if is_hurried():
            return False
        printed = self._duplicates.catch_up(_PRINTED_AT_ONCE, is_hurried=is_hurried)
        moved = self._finder.catch_up()
        outgrown = self._learnt.is_outgrown()
        if outgrown:
            self._learnt.learn()
        if self._learnt.learnt_at() != self._loaded_at:
            self._load_stop_anchors()
        return bool(printed) or moved or outgrown

    def _move_targets(self, url: str) -> Iterator[KnownTarget]:
        for guess in self._finder.guesses(url)[:_GUESSES]:
            yield KnownTarget(
                url=guess.url, kind=TargetKind.MOVE, confidence=guess.confidence, support=guess.support
            )

    def _duplicate_targets(self, url: str) -> Iterator[KnownTarget]:
        for other in self._duplicates.of_page(url):
            trusted = _ALIKE_MOST * other.dice**_ALIKE_POWER
            yield KnownTarget(url=other.url, kind=TargetKind.DUPLICATE, confidence=trusted)

    def _load_stop_anchors(self) -> None:
        with self._learning:
            self._loaded_at = self._learnt.learnt_at()
            self._stop_anchors = self._named | frozenset(self._learnt.load())


def _plain(anchor: str) -> str:
    return " ".join(words.tokens(anchor[:_MAX_ANCHOR]))
