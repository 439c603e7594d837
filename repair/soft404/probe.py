"""Asking a site what it says to an address that cannot be there (Bar-Yossef 2004; Klein 2011, chapter VIII).

The address of the page in doubt gets twenty random letters after its last slash, and after its first. A site that
answers such nonsense with 404 is honest, and the page in doubt is there; one that answers with the same text as
the page has no such page. Everything here is decided on values; `Ask` is the seam to the network.
"""

import asyncio
import random
import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from repair.model import Page
from repair.soft404.sketch import ALIKE, Sketch, likeness, sketch_of

LETTERS = 20

Ask = Callable[[str], Awaitable[Page | None]]
"""Fetches a page within limits of its own; None when there was no answer."""


class Verdict(StrEnum):
    """What the site's answer says of the page in doubt."""

    MISSING = "missing"
    THERE = "there"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The verdict, and the sketch of the site's error page when it gave itself away."""

    verdict: Verdict
    error_page: Sketch = ()


def place_of(url: str) -> str:
    """Host and directory of a page: asked once, it answers for all pages there. "" for the root of a site."""
    parts = urlsplit(url)
    if parts.path in ("", "/"):
        return ""
    return f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}/"


def nonsense(url: str, letters: random.Random) -> tuple[str, ...]:
    """Addresses of the same site that cannot be there: nonsense after the last slash, and after the first."""
    parts = urlsplit(url)
    head, _, tail = parts.path.rpartition("/")
    word = "".join(letters.choices(string.ascii_lowercase, k=LETTERS))
    site = f"{parts.scheme}://{parts.netloc}"
    last = f"{site}{head}/{word}{tail}"
    first = f"{site}/{word}{parts.path.lstrip('/')}"
    return tuple(dict.fromkeys((last, first)))


def compare(page: Sketch, answer: Page) -> Answer:
    """What the site's answer to nonsense says of a page in doubt."""
    if answer.status in (404, 410):
        return Answer(verdict=Verdict.THERE, error_page=sketch_of(answer))
    if answer.status != 200:
        return Answer(verdict=Verdict.UNKNOWN)
    said = sketch_of(answer)
    if likeness(page, said) > ALIKE:
        return Answer(verdict=Verdict.MISSING, error_page=said)
    return Answer(verdict=Verdict.UNKNOWN)


async def probe(url: str, page: Sketch, ask: Ask, letters: random.Random | None = None) -> Answer:
    """Ask the site; the second address only when the first one's answer leaves the question open."""
    found = Answer(verdict=Verdict.UNKNOWN)
    for address in nonsense(url, letters or random.SystemRandom()):
        answer = await ask(address)
        if answer is None:
            return Answer(verdict=Verdict.UNKNOWN)
        found = await asyncio.to_thread(compare, page, answer)  # which parses it
        if found.verdict is not Verdict.UNKNOWN:
            return found
    return found
