"""A copy of the last rules that were good, for a start after a bad edit: no power cut lifts a school's rules."""

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proxy.files import write
from proxy.rules.book import RuleBook
from proxy.rules.folder import load
from proxy.rules.model import RulesError

log = logging.getLogger(__name__)


class LastGood:
    """The copy, all in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, texts: Mapping[str, str]) -> None:
        """Keep the texts of rules and lists that made a good book; who cannot write them leaves a line in the log."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write(self._path, msgspec.json.encode(texts), mode=0o600)
        except OSError as error:
            log.warning("the last good rules cannot be kept: %s", error)

    def book(self) -> RuleBook:
        """The book of the copy; an empty one when there is none."""
        try:
            texts = msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])
            book = load(self._path / "none", instead=texts)
        except FileNotFoundError:
            return RuleBook()
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RulesError) as error:
            log.error("the last good rules cannot be read: %s", error)
            return RuleBook()
        log.warning("going on with the last rules that were good: %d", len(book.rules))
        return book
