"""Text to terms, the same way for pages, anchors, URLs and queries, whatever their language.

A query has no known language, so a term may depend on nothing but the word itself: each word is folded (NFKC, case,
Latin and Greek accents, vowel points) and stemmed by the Snowball stemmer of its *script*: English for Latin,
Russian for Cyrillic, Arabic, Hindi for Devanagari, and so on. For Spanish or Swahili words the English stemmer is
crude, but it is equally crude on both sides, and no wrong guess of a language can separate a query from its page.
The language, where it is known, only adds stop words: dropping a word on one side never makes another word miss.

Scripts written without spaces (and Korean, for its particles) become overlapping pairs of characters.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain

import Stemmer

from repair.bounded import MemoDict
from repair.text.stopwords import ENGLISH, STOP_ANCHORS

MAX_TEXT = 400_000
"""Characters of one text that are read."""
MAX_WORD = 64
"""Longer runs of letters are not words (encoded data, hashes)."""
_REMEMBERED = 65_536
_FEW = 32
"""Up to this many words are searched one by one; for more, all words of the text are visited."""
_FEW_FOREIGN = 200
"""Up to this many letters beyond ASCII their words are looked at one by one; else all words of the text are."""


_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3"  # Lao, Myanmar, Khmer
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
)
_JOINERS = "\u00ad\u200c\u200d\u2060\u0640"  # soft hyphen, zero-width joiners, Arabic tatweel
_RARE_HAN = "\U00020000-\U0003ffff"
_IS_UNSPACED = re.compile(f"[{_UNSPACED}{_RARE_HAN}]")


def _word_characters() -> str:
    """Letters, digits and combining marks of the scripts with spaces: Python's \\w leaves marks out, and Indic
    words would fall apart. Only the basic plane: a character class that reaches beyond it is ten times slower.
    As ranges: ten thousand single characters would take a tenth of a second to compile."""
    basic_plane = map(chr, range(0x30, 0x10000))
    found = [each for each in basic_plane if each.isalnum() or unicodedata.category(each)[0] == "M"]
    runs: list[list[str]] = []
    for each in found:
        if _IS_UNSPACED.match(each) or "\ufe00" <= each <= "\ufe0f":
            continue
        if runs and ord(each) == ord(runs[-1][-1]) + 1:
            runs[-1][1:] = [each]
        else:
            runs.append([each])
    return "".join("-".join(run) for run in runs)


_WORD_CHARACTERS = _word_characters()
_WORD = _WORD_CHARACTERS + _JOINERS
_ENDINGS = "s|t|d|m|ll|re|ve"
_TAIL = rf"(?:['\u2019](?:{_ENDINGS})\b)?"  # "school's" is a word about schools
_SEGMENT = re.compile(
    rf"([{_WORD}]++|[{_UNSPACED}]++|[{_RARE_HAN}]++|(?:(?=\w)[\U00010000-\U0001ffff])++){_TAIL}"
)
_ASCII_SEGMENT = re.compile(rf"([A-Za-z0-9]++){_TAIL}")
_ASCII_RUN = re.compile("[A-Za-z0-9]+")
_ASCII_TAIL = re.compile(rf"'(?<=[A-Za-z0-9]')(?:{_ENDINGS})\b")
_DOUBLE_TAIL = re.compile(rf"'(?:{_ENDINGS})'")
_TYPOGRAPHY = "\u2014\u2013\u201c\u201d\u2018\u2026\u2022\u00a0\u00ab\u00bb\u00b7"
"""Dashes, quotes and the like, which many texts have as their only characters beyond ASCII."""
_IN_WORD = re.compile(f"[{_WORD}]")
_FOREIGN = re.compile(rf"[{_WORD_CHARACTERS.partition('a-z')[2]}{_JOINERS}{_UNSPACED}\U00010000-\U0003ffff]")
# Where these stand, words do not end where letters do; and the one letter whose lower case is two.
_UNUSUAL = re.compile(f"[{_JOINERS}{_UNSPACED}\u0130\U00010000-\U0003ffff]")
_JOINER = re.compile(f"[{_JOINERS}]")  # after "school's" it begins a word, elsewhere it is within one
# A segment that is one wherever non-letters surround it: no end of "school's", no unspaced script.
_LONE = re.compile(rf"(?!(?:{_ENDINGS})\Z)[{_WORD}]++")
_NOT_WORD = re.compile(rf"[^\w{_WORD}]+")
_DROPPED = dict.fromkeys(map(ord, _JOINERS))
_PLAIN_LETTER = str.maketrans(
    {"ø": "o", "đ": "d", "ł": "l", "ı": "i", "ħ": "h", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)

_STEMMERS = (
    # first and last character of the script after folding, Snowball's name
    ("a", "z", "english"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0531", "\u0587", "armenian"),
    ("\u0620", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_stemming = threading.Lock()  # a Snowball stemmer is not safe in two threads at once


def segments(text: str) -> list[str]:
    """The words of a text as they are written; runs of scripts without spaces stay whole."""
    text = text[:MAX_TEXT]
    if not text.isascii():
        text = _with_plain_typography(text)
        if not text.isascii():
            return _SEGMENT.findall(text)
    if "'" in text:
        if _DOUBLE_TAIL.search(text):
            return _ASCII_SEGMENT.findall(text)
        text = _ASCII_TAIL.sub(" ", text)
    return _ASCII_RUN.findall(text)


def _with_plain_typography(text: str) -> str:
    """The text with the same words, and often without a character beyond ASCII: then they are found twice as fast."""
    text = text.replace("\u2019", "'")
    for sign in _TYPOGRAPHY:
        text = text.replace(sign, " ")
    return text


def tokens(text: str) -> list[str]:
    """Words in lower case and in order, numbers and identifiers kept, unspaced scripts as pairs of characters.

    >>> tokens("The school's H2O experiment, 3.11")
    ['the', 'school', 'h2o', 'experiment', '3', '11']
    """
    return list(chain.from_iterable(map(_TOKENS.__getitem__, segments(text))))


def terms(text: str, language: str = "") -> list[str]:
    """Stemmed tokens without stop words, in order. A text of nothing but stop words ("The Who") keeps them."""
    found = segments(text)
    telling = list(chain.from_iterable(map(_telling(language).__getitem__, found)))
    return telling or [term for segment in found for _, term in _analyse_segment(segment)]


class _Telling(MemoDict[str, tuple[str, ...]]):
    """The terms of segments without stop words, each worked out when first met: most of indexing is looking up."""

    def __init__(self, stop: frozenset[str]) -> None:
        super().__init__(_REMEMBERED)
        self._stop = stop

    def __missing__(self, segment: str) -> tuple[str, ...]:
        if len(segment) > MAX_WORD:
            return self._without_stop_words(_analyse_segment(segment))
        return self.keep(segment, self._without_stop_words(_analyse(segment)))

    def _without_stop_words(self, pairs: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        return tuple(term for token, term in pairs if token not in self._stop)


class _Tokens(MemoDict[str, tuple[str, ...]]):
    """The tokens of segments, each worked out when first met."""

    def __missing__(self, segment: str) -> tuple[str, ...]:
        found = tuple(token for token, _ in _analyse_segment(segment))
        return self.keep(segment, found) if len(segment) <= MAX_WORD else found


_TOKENS = _Tokens(16_384)


@lru_cache(maxsize=8)
def _telling(language: str | None) -> _Telling:
    """By the stop words of a language; of None there are none."""
    return _Telling(frozenset() if language is None else _stop_words(language))


def located_terms(text: str, wanted: AbstractSet[str] | None = None) -> Iterator[tuple[int, int, str]]:
    """Every term of a text, stop words included, with its start and end in the text.

    A caller that needs only a few terms passes them as `wanted`, which skips most of the others.
    """
    text = text[:MAX_TEXT]
    places = _segment_starts(text) if wanted is None else _starts_of(text, _segments_with(wanted, text))
    for start, segment in places:
        end = start + len(segment)
        pairs = _analyse_segment(segment)
        if len(pairs) == end - start - 1 and _IS_UNSPACED.match(segment):
            for offset, (_, term) in enumerate(pairs):
                yield start + offset, start + offset + 2, term
        else:
            for _, term in pairs:
                yield start, end, term


def _segments_with(wanted: AbstractSet[str], text: str) -> set[str]:
    """The segments of a text that contain a wanted term."""
    if text.isascii():
        found, segment = set[str](), _ASCII_SEGMENT
    else:
        foreign = None if _UNUSUAL.search(text) else _segments_beyond_ascii(text)
        if foreign is None:
            return _having(wanted, set(segments(text)))
        found, segment = foreign, _SEGMENT
    lowered = text.lower()
    found.update(
        each[1]
        for term in wanted
        if term.isascii()
        for at in _word_starts(lowered, _beginning(term))
        if (each := segment.match(text, at))
    )
    return _having(wanted, found)


def _having(wanted: AbstractSet[str], found: set[str]) -> set[str]:
    """Those of some segments that have a wanted term."""
    telling = _telling(None)
    return {segment for segment in found if not wanted.isdisjoint(telling[segment])}


def _segments_beyond_ascii(text: str) -> set[str] | None:
    """The segments with letters beyond ASCII; None when there are many."""
    found: set[str] = set()
    looked_at = end = 0
    for letter in _FOREIGN.finditer(text):
        at = letter.start()
        if at < end:
            continue
        looked_at += 1
        if looked_at > _FEW_FOREIGN:
            return None
        start = at
        while start > end and _IN_WORD.match(text, start - 1):
            start -= 1
        segment = _SEGMENT.match(text, start)
        if segment is not None:
            found.add(segment[1])
            end = segment.end()
    return found


def _beginning(term: str) -> str:
    """How every word with this English stem begins: happi, happy; die, dying. 168,000 words of real pages do."""
    if len(term) < 3:
        return term
    return term[:1] if len(term) == 3 and term.endswith("ie") else term[:-1]


def _word_starts(lowered: str, beginning: str) -> Iterator[int]:
    """Where words begin so, in a text in lower case without letters beyond ASCII."""
    start = lowered.find(beginning)
    while start >= 0:
        if not (start and lowered[start - 1].isalnum()):
            yield start
        start = lowered.find(beginning, start + 1)


def _segment_starts(text: str) -> Iterator[tuple[int, str]]:
    """The start of each segment, in order."""
    for found in (_ASCII_SEGMENT if text.isascii() else _SEGMENT).finditer(text):
        yield found.start(1), found[1]


def _starts_of(text: str, wanted: set[str]) -> Iterable[tuple[int, str]]:
    """The starts of some of its segments. They are few: each is searched, which is faster than visiting all."""
    if len(wanted) > _FEW or not all(map(_LONE.fullmatch, wanted)) or _JOINER.search(text):
        return ((start, segment) for start, segment in _segment_starts(text) if segment in wanted)
    return sorted((start, segment) for segment in wanted for start in _starts_of_one(text, segment))


def _starts_of_one(text: str, segment: str) -> Iterator[int]:
    start = text.find(segment)
    while start >= 0:
        end = start + len(segment)
        if not (start and _IN_WORD.match(text, start - 1)) and not _IN_WORD.match(text, end):
            yield start
        start = text.find(segment, end)


def is_stop_anchor(anchor: str, extra: Iterable[str] = ()) -> bool:
    """Whether an anchor text says nothing of its target: "click here", "more", "»", "[1]", a bare number, nothing.

    `extra` are further such texts, in any case and punctuation.
    """
    words = " ".join(tokens(anchor[:200]))
    return not words.replace(" ", "").strip("0123456789") or words in _stop_anchors(tuple(extra))


@lru_cache(maxsize=8)
def _stop_anchors(extra: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(tokens(text)) for text in (*STOP_ANCHORS.split("|"), *extra))


def language_of(text: str) -> str:
    """The language as a two-letter code, guessed from up to a thousand characters; "" when the text is too short."""
    sample = " ".join(text[:2000].split())[:1000]
    letters = len("".join(segments(sample)))
    if letters < 24 and not (letters >= 6 and _IS_UNSPACED.search(sample)):
        return ""
    with _identifying:
        import py3langid  # numpy and a model, 0.3 s: only when first needed

        code = py3langid.classify(sample)[0]
    return code if isinstance(code, str) else ""


_identifying = threading.Lock()


def _analyse_segment(segment: str) -> tuple[tuple[str, str], ...]:
    """The tokens of one segment with their terms: one, or several for unspaced scripts and odd characters.

    Long runs are unspaced text, too large to cache, or no words.
    """
    if len(segment) <= MAX_WORD:
        return _remembered(segment)
    return _analyse(segment) if _IS_UNSPACED.match(segment) else ()


def _analyse(segment: str) -> tuple[tuple[str, str], ...]:
    if segment.isascii():  # letters and digits only, or it would be no segment
        token = segment.lower()
        return ((token, _stem(token)),)
    folded = _fold(segment)
    if not _IS_UNSPACED.match(folded):
        return tuple((token, _stem(token)) for token in _NOT_WORD.sub(" ", folded).split())
    pairs = [folded[at : at + 2] for at in range(max(1, len(folded) - 1))]
    return tuple((pair, pair) for pair in pairs)


_remembered = lru_cache(maxsize=_REMEMBERED)(_analyse)


def _fold(word: str) -> str:
    """The word in NFKC, case-folded, without the accents and vowel points that writers often leave out.

    Marks of other scripts stay: without them, Indic vowels and the Cyrillic short i would be lost.
    """
    folded = unicodedata.normalize("NFKC", word.translate(_DROPPED)).casefold()
    kept: list[str] = []
    base = ""
    for character in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(character):
            base = character
        elif base < "\u0400" or "\u0590" <= character <= "\u0670":
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_PLAIN_LETTER)


def _stem(token: str) -> str:
    if len(token) < 3 or (not token.isalpha() and any(map(str.isdigit, token))):
        return token
    for first, last, name in _STEMMERS:
        if first <= token[0] <= last:
            with _stemming:
                return _stemmer(name).stemWord(token) or token
    return token


@lru_cache(maxsize=16)
def _stemmer(name: str) -> "Stemmer.Stemmer":
    return Stemmer.Stemmer(name)


@lru_cache(maxsize=64)
def _stop_words(language: str) -> frozenset[str]:
    code = language.partition("-")[0].lower()
    if code in ("", "en"):
        return ENGLISH
    import stopwordsiso  # 2 MB for all languages: only where there are others

    if not stopwordsiso.has_lang(code):
        return ENGLISH
    listed = (tokens(word) for word in stopwordsiso.stopwords(code))
    return frozenset(found[0] for found in listed if len(found) == 1)
