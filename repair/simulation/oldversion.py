"""A simulated older version of a saved page, as a copy or an archive might have it.

Some lines were not there yet, and now and then the title was another. Deterministic by the URL, so that
measurements are repeatable.
"""

import hashlib
import random
import re
from dataclasses import replace

from repair.model import HeldPage

_SENTENCES = re.compile(r"(?<=[.!?。])\s+|\n+")
_LEAST_KEPT, _MOST_KEPT = 0.4, 1.0
_RETITLED = 0.2


def make_older(page: HeldPage) -> HeldPage:
    """The page as it may have been: between two fifths and all of its sentences, in order.

    One in five with another title.
    """
    lots = random.Random(hashlib.blake2b(page.url.encode("utf-8", "replace")).digest())  # noqa: S311
    share = lots.uniform(_LEAST_KEPT, _MOST_KEPT)
    sentences = [sentence for sentence in _SENTENCES.split(page.text) if lots.random() < share]
    text = "\n".join(sentences) or page.text
    title = page.title
    if lots.random() < _RETITLED:
        words = title.split()
        title = " ".join(words[: max(1, len(words) // 2)]) if len(words) > 1 else text[:40]
    return replace(page, text=text, title=title)
