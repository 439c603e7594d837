"""A topic that a school teaches: its words, its seeds and what gathering pages for it may cost."""

import re
from dataclasses import dataclass

from repair.errors import RepairError
from repair.text import urls

DEFAULT_PAGES = 500
"""The budget of the paper (Bashir 2018, section 5.1)."""
DEFAULT_BYTES = 200_000_000
MAX_NAME = 100
_MAX_WORDS = 500
_MAX_SEEDS = 500
_HOURS = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,3}")


class InvalidTopic(RepairError):
    """A topic or a syllabus is not what it should be; the message says where, and what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic. `hours` such as 22:00-05:00 are those in which it is crawled, "" for always; no `groups`: for all."""

    name: str
    subtopics: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    language: str = ""
    max_pages: int = DEFAULT_PAGES
    max_bytes: int = DEFAULT_BYTES
    hours: str = ""
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises InvalidTopic."""
        if not self.name.strip() or len(self.name) > MAX_NAME or not self.name.isprintable():
            raise InvalidTopic(
                f"expected a topic's name of 1 to {MAX_NAME} characters, got {self.name[:80]!r}"
            )
        if self.language and not _LANGUAGE.fullmatch(self.language):
            raise InvalidTopic(f"{self.name}: expected a language such as en, got {self.language[:20]!r}")
        if self.hours and not _HOURS.fullmatch(self.hours):
            raise InvalidTopic(f"{self.name}: expected hours such as 22:00-05:00, got {self.hours[:20]!r}")
        for seed in self.seeds:
            if not urls.is_web_url(seed):
                raise InvalidTopic(f"{self.name}: expected an http(s) address as seed, got {seed[:100]!r}")
        if self.max_pages < 1 or self.max_bytes < 1:
            raise InvalidTopic(f"{self.name}: expected a budget of at least 1 page and 1 byte")
        if len(self.subtopics) + len(self.words) > _MAX_WORDS or len(self.seeds) > _MAX_SEEDS:
            raise InvalidTopic(f"{self.name}: at most {_MAX_WORDS} words and sub-topics, {_MAX_SEEDS} seeds")

    @property
    def queries(self) -> tuple[str, ...]:
        """What one would type into a search box to find its pages: the topic, then each sub-topic."""
        return (" ".join((self.name, *self.words)), *self.subtopics)
