"""Probes a site with an address that cannot exist (Bar-Yossef 2004; Klein 2011, chapter VIII).

The probe is the address of the page in doubt with twenty random letters after its last slash, or after its first. If
the site answers it with 404, the page in doubt is there; if it answers with the same text as the page, the page is
missing. This module is pure; `Ask` sends the requests.
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
"""Fetches a page within its own limits; None when there was no answer."""


class ProbeVerdict(StrEnum):
    """Whether the page in doubt is there, by the site's answer."""

    MISSING = "missing"
    THERE = "there"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """The verdict, and the sketch of the site's error page if the answer showed it."""

    verdict: ProbeVerdict
    error_page: Sketch = ()


def place_of(url: str) -> str:
    """Host and directory of a page: one probe is enough for all pages there. "" for the root of a site."""
    parts = urlsplit(url)
    if parts.path in ("", "/"):
        return ""
    return f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}/"


def nonsense_urls(url: str, letters: random.Random) -> tuple[str, ...]:
    """Addresses of the same site that cannot exist: random letters after the last slash, and after the first."""
    parts = urlsplit(url)
    head, _, tail = parts.path.rpartition("/")
    word = "".join(letters.choices(string.ascii_lowercase, k=LETTERS))
    site = f"{parts.scheme}://{parts.netloc}"
    last = f"{site}{head}/{word}{tail}"
    first = f"{site}/{word}{parts.path.lstrip('/')}"
    return tuple(dict.fromkeys((last, first)))


def compare(page: Sketch, answer: Page) -> ProbeAnswer:
    """The verdict on a page in doubt, by the site's answer to a probe."""
    if answer.status in (404, 410):
        return ProbeAnswer(verdict=ProbeVerdict.THERE, error_page=sketch_of(answer))
    if answer.status != 200:
        return ProbeAnswer(verdict=ProbeVerdict.UNKNOWN)
    answer_sketch = sketch_of(answer)
    if likeness(page, answer_sketch) > ALIKE:
        return ProbeAnswer(verdict=ProbeVerdict.MISSING, error_page=answer_sketch)
    return ProbeAnswer(verdict=ProbeVerdict.UNKNOWN)


async def probe(url: str, page: Sketch, ask: Ask, letters: random.Random | None = None) -> ProbeAnswer:
    """Probe the site; the second address only when the first answer decides nothing."""
    found = ProbeAnswer(verdict=ProbeVerdict.UNKNOWN)
    for address in nonsense_urls(url, letters or random.SystemRandom()):
        answer = await ask(address)
        if answer is None:
            return ProbeAnswer(verdict=ProbeVerdict.UNKNOWN)
        found = await asyncio.to_thread(compare, page, answer)  # parsing takes time
        if found.verdict is not ProbeVerdict.UNKNOWN:
            return found
    return found
