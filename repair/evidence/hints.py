"""Hints: what is known beside words: moves of sites, users' choices, tags, empty anchors, pages that say the same.

One door to them for repairing and for all who meet something worth noting. Pages of a site that say nearly the same
never teach a move: mirrors, print versions and translated shells do so as well, and lead the other way as often. All
methods block and may be called from any thread; any number of processes may have the collection open.
"""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from repair import urls, words
from repair.collection import Collection
from repair.duplicates import Duplicates
from repair.experience import ChoiceStore, Favourite
from repair.model import BrokenLink
from repair.moves import Move
from repair.movestore import REPAIR, MoveFinder, MoveStore
from repair.pins import Pins, same_page_key
from repair.pointers import Kind, Pointer
from repair.settings import RepairSettings
from repair.stopanchors import LearntStopAnchors
from repair.tags import TagStore

_GUESSES = 5
_PRINTED_AT_ONCE = 40  # fingerprints made in one go: a fraction of a second
_ALIKE_POWER = 4  # how quickly trust in a near-duplicate falls with its likeness
_ALIKE_MOST = 0.95
_MAX_ANCHOR = 200


class Hints:
    """What a collection knows beside words."""

    def __init__(self, collection: Collection, settings: RepairSettings) -> None:
        database = collection.database
        self.choices = ChoiceStore(database)
        self.tags = TagStore(database)
        self._pins = Pins(database)
        self._collection = collection
        self._moves = MoveStore(database)
        self._finder = MoveFinder(self._moves, collection.holds)
        self._duplicates = Duplicates(database)
        self._learnt = LearntStopAnchors(database)
        self._learning = threading.Lock()
        self._named = frozenset(map(_plain, settings.stop_anchors))
        self._load_stop_anchors()

    def pointers(self, link: BrokenLink) -> tuple[Pointer, ...]:
        """Held pages that the lost one may have become, the most trusted first; one for each who says so.

        What users chose is not among them: anybody can click.
        """
        if not urls.is_web_url(link.url):
            return ()
        url = urls.normal(link.url)
        found = (*self._moved(url), *self._alike(url))
        return tuple(sorted(found, key=lambda pointer: (-pointer.confidence, pointer.url, pointer.kind)))

    def favourites(self, url: str) -> tuple[Favourite, ...]:
        """Pages that several networks, or other schools, chose in the place of a URL; to order equals by."""
        return self.choices.favourites(url, now=datetime.now(UTC))

    def directories(self, url: str) -> dict[str, float]:
        """Directories to which pages of a missing page's directory went, with their shares."""
        return self._finder.directories(url)

    def is_stop_anchor(self, anchor: str) -> bool:
        """Whether an anchor says nothing: by the built-in list, the admin's, or what was learnt here."""
        return words.is_stop_anchor(anchor) or _plain(anchor) in self._stop_anchors

    def note_redirect(self, old: str, new: str) -> None:
        """A site says that a page has moved for good."""
        self._moves.note(Move(old=old, new=new))

    def note_choice(
        self, url: str, chosen: str, at: datetime, *, network: str, unfit: str | None = None
    ) -> None:
        """A user in a network clicked on a page that was offered for a missing one.

        It teaches how the site has moved only where an admin has pinned the same page: clicks alone teach nothing.
        `unfit` is what they had opened before and came back from: that was not it. Going up to a directory of the
        site is no choice: it is what is left to do without one.
        """
        if chosen in urls.shortened(url):
            return
        if not self.choices.vote(url, chosen, network=network, at=at, instead_of=unfit):
            return
        url, chosen = urls.normal(url), urls.normal(chosen)
        if self.is_confirmed(url, chosen) and self._moves.moved_to(url) is None:
            self._moves.note(Move(old=url, new=chosen, origin=REPAIR))

    def is_confirmed(self, url: str, chosen: str) -> bool:
        """Whether an admin has pinned this page for this address."""
        pin = self._pins.of(url)
        return pin is not None and same_page_key(pin.target) == same_page_key(chosen)

    def forget_choice(self, url: str, chosen: str) -> int:
        """Forget that a page was chosen for an address, and a move that this taught; how many choices that were."""
        if not (urls.is_web_url(url) and urls.is_web_url(chosen)):
            return 0
        self._moves.forget_repair(urls.normal(url), urls.normal(chosen))
        return self.choices.forget_choice(url, chosen)

    def forget(self, url: str) -> None:
        """Forget what was noted about an address: choices, moves and tags."""
        if urls.is_web_url(url):
            normal = urls.normal(url)
            self.choices.forget(normal)
            self._moves.forget(normal)
            self.tags.forget(normal)

    def catch_up(self, is_hurried: Callable[[], bool] = lambda: False) -> bool:
        """Do a slice of what is behind; whether anything was to do. Cheap when nothing is, or when `is_hurried`."""
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

    def _moved(self, url: str) -> Iterator[Pointer]:
        for guess in self._finder.guesses(url)[:_GUESSES]:
            yield Pointer(url=guess.url, kind=Kind.MOVE, confidence=guess.confidence, support=guess.support)

    def _alike(self, url: str) -> Iterator[Pointer]:
        for other in self._duplicates.of_page(url):
            trusted = _ALIKE_MOST * other.dice**_ALIKE_POWER
            yield Pointer(url=other.url, kind=Kind.DUPLICATE, confidence=trusted)

    def _load_stop_anchors(self) -> None:
        with self._learning:
            self._loaded_at = self._learnt.learnt_at()
            self._stop_anchors = self._named | frozenset(self._learnt.load())


def _plain(anchor: str) -> str:
    return " ".join(words.tokens(anchor[:_MAX_ANCHOR]))
