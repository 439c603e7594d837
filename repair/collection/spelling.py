"""Did you mean ...? Words that no saved page has, replaced by the most similar word that some page has.

The index finds pages with a similar term (edit distance 1 or 2); the word itself, as it is written, is read from
their titles and texts. Blocks, for some milliseconds a word.
"""

from collections.abc import Iterable
from difflib import SequenceMatcher

from repair.collection.collection import Collection
from repair.text import words

_MAX_WORDS = 8
_LEAST_LETTERS = 4  # shorter words have too many neighbours
_SIMILAR_PAGES = 20
_READ_CHARACTERS = 20_000
_LEAST_LIKENESS = 0.7


def suggest(collection: Collection, text: str) -> str:
    """The text with its unknown words replaced by known ones; "" when there is nothing to suggest."""
    known = {"": ""}
    for segment in dict.fromkeys(words.segments(text)[:_MAX_WORDS]):
        if len(segment) >= _LEAST_LETTERS and not _is_known(collection, segment):
            known[segment] = _most_similar(collection, segment)
    replaced = text
    for wrong, right in known.items():
        if right:
            replaced = replaced.replace(wrong, right)
    return replaced if replaced != text else ""


def _is_known(collection: Collection, word: str) -> bool:
    terms = words.terms(word)
    return not terms or any(
        collection.document_frequency(term, field) for term in terms for field in ("title", "body", "anchors")
    )


def _most_similar(collection: Collection, word: str) -> str:
    terms = words.terms(word)
    if len(terms) != 1:  # a script without spaces: its pairs of characters have no spelling
        return ""
    near = collection.similar(terms[0], limit=_SIMILAR_PAGES)
    texts = (
        f"{page.title} \n{page.text[:_READ_CHARACTERS]}"
        for summary in collection.page_summaries(near).values()
        if (page := collection.get(summary.url)) is not None
    )
    best, most = "", (_LEAST_LIKENESS, 0)
    for token in _distinct(token for text in texts for token in words.tokens(text)):
        if abs(len(token) - len(word)) > 2:
            continue
        likeness = SequenceMatcher(None, token, word.lower(), autojunk=False).ratio()
        rank = (likeness, collection.document_frequency(words.terms(token)[0], "body"))
        if rank > most and token != word.lower():
            best, most = token, rank
    return best


def _distinct(tokens: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(tokens)
