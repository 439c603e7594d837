"""Searches that found nothing, noted in the miss log: which words, and by how many readers (pure)."""

from collections.abc import Sequence

from repair.model import Alternative
from repair.secrets.addresses import has_secret
from repair.text import words

_MAX_WORDS = 100
_MAX_TERMS = 8


def unanswered_words(query: str, results: Sequence[Alternative]) -> str | None:
    """The words of a search as they are noted; None when a result has them all, or they are not for the log.

    What looks like a name with a number, an address or a token is not noted, nor what is too long for a search.
    """
    plain = " ".join(query.lower().split())
    wanted = frozenset(words.terms(plain))
    if not 0 < len(wanted) <= _MAX_TERMS or len(plain) > _MAX_WORDS or _is_personal(query):
        return None
    return None if any(wanted <= _terms_of(result) for result in results) else plain


def _is_personal(text: str) -> bool:
    # Addresses are judged by their form: a mail address or a token is one wherever it stands.
    return "@" in text or any(has_secret(f"http://search.example/?q={word}") for word in text.split())


def _terms_of(result: Alternative) -> frozenset[str]:
    snippet = "".join(span.text for span in result.snippet)
    return frozenset(words.terms(f"{result.title} {snippet}"))
