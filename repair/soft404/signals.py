"""The features a page is judged by (pure): what it says, where it says it, and how much else it says.

An error page is short, says little besides that something is missing, and says it in its title, a heading or a line
of its own. A page *about* errors has the same words with much text around them. So most signals come as a pair: the
words in a place, and how much of the page is something else. (Forms, pictures, search boxes, links home and noindex
were tried as well: they separated the training sites, not missing pages from others.)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log1p

from repair.parse.traversal import TextBlock
from repair.soft404.marks import NUMBER
from repair.soft404.pageparts import PageParts
from repair.soft404.phrases import Phrases, is_usual_notice, shipped_phrases
from repair.text.words import MAX_WORD, segments, tokens

FEATURES = (
    "title.says",
    "title.hints",
    "title.code",
    "title.rest",
    "title.other_code",
    "heading.first",
    "heading.says",
    "heading.hints",
    "heading.code",
    "heading.other_code",
    "headings",
    "line.says",
    "line.hints",
    "line.code",
    "line.code_alone",
    "line.first",
    "text.says",
    "text.code",
    "told_share",
    "agree",
    "content",
    "everything",
    "untold",
    "prose",
    "talk",
    "about",
    "about*agree",
    "other_codes",
    "tables",
    "tables*agree",
    "own_links",
    "errs_otherwise",
    "marked",
)
"""The names of the signals, in the order of `vector`."""

_CODES = frozenset(
    ("404", "410", "٤٠٤", "۴۰۴", "４０４", "error404", "http404", "404error", "404s", "404page", "4o4")
)
_FIGURES = frozenset((("4", "0", "4"), ("4", "o", "4")))
_CODE_FIGURES = _CODES | {"4"}
_OTHER_CODES = frozenset(
    str(code)
    for code in (*range(100, 103), *range(200, 207), *range(300, 309), *range(400, 418), *range(500, 512))
    if code not in (404, 410)
) | {"421", "422", "429", "431", "451"}
_CODE_WORDS = _CODES | frozenset(
    tokens(
        "a an the it this is that oh no oops ooops whoops oups ups uh http status code error errors err page erreur "
        "fehler errore erro eror fel feil fejl fout chyba hiba błąd ошибка помилка грешка σφάλμα hata xəta lỗi خطأ "
        "خطای שגיאה 错误 錯誤 エラー ページ 오류 페이지 त्रुटि"
    )
)
_TELLING = frozenset(("not_found", "hint", "bare", "error"))
_BARE_WORDS = 4
"""In a line of at most so many words, "not found" or "404" is the whole message."""
_PROSE_WORDS = 8
"""A line of at least so many words is a sentence of running text; menus and notices are shorter."""
_NOTICE_WORDS = 14
"""A notice has at most so many words; longer sentences are about something."""
_MANY_HEADINGS = 4
_MUCH_PROSE = 120
"""Words of running text about other things that no error page has; the training pages have at most 102."""
_FIRST_LINES = 4
_MAX_BLOCK = 2_000
_MAX_WORDS = 500
_MAX_LINES = 150
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？।؟])\s+|(?<=[。！？।])|\n")
_ASCII_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_TITLE_PARTS = re.compile(r"\s[|\-–—·•:»«/<>]+\s|\s*[|•·]\s*|:{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingClaim:
    """A line that says that the page is missing (`says`), or only hints at it."""

    words: tuple[str, ...]
    says: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSignals:
    """The features of a page: the `vector` for the model, and what the rules need.

    `discusses` means that the page has much text about something, even about errors (documentation of HTTP): it is
    no error page. `families` are the families of all phrases found, `announced` those of title, headings and first
    lines. `content_chars` counts the characters of content. `claims` are the lines that say or hint that the page is
    missing, `title_tells` tells whether the title says so, `is_marked` whether the markup confirms it.
    """

    vector: tuple[float, ...]
    discusses: bool
    families: frozenset[str]
    announced: frozenset[str]
    content_chars: int
    prose_words: int
    parked_texts: int
    title_words: tuple[str, ...]
    heading_words: tuple[str, ...]
    words: frozenset[str]
    claims: tuple[MissingClaim, ...]
    title_tells: bool
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextSignals:
    """The features of one text: its words, the families of its phrases, whether it has a 404 or another status code.

    `mentions` means a number that may not be a status code, as in "Peugeot 404".
    """

    words: tuple[str, ...]
    families: frozenset[str]
    code: bool
    mentions: bool
    other_code: bool
    chars: int

    @property
    def says(self) -> bool:
        return "not_found" in self.families or ("bare" in self.families and len(self.words) <= _BARE_WORDS)

    @property
    def hints(self) -> bool:
        return "hint" in self.families

    @property
    def code_alone(self) -> bool:
        return self.code and len(self.words) <= _BARE_WORDS


def signals(parts: PageParts, phrases: Phrases | None = None) -> PageSignals:
    """Compute the features of a page; its address does not matter."""
    known = phrases or shipped_phrases()
    content = [block for block in parts.blocks if not block.boilerplate]
    content_chars = sum(len(block.text) for block in content)
    everything = sum(len(block.text) for block in parts.blocks)
    title = _read_text(parts.title, known)
    headings = [_read_text(heading, known) for heading in parts.headings]
    lines = list(_lines(content if content_chars else parts.blocks, known))
    agree = _agree(title, headings, lines)
    texts = (title, *headings, *lines)
    # Names in the markup only confirm what the words say; alone they mean nothing ("404.jpg" may be a car).
    is_named = bool(parts.marks - {NUMBER}) and any(map(_tells, texts))
    is_marked = is_named or (bool(parts.marks) and any(text.code or text.says for text in texts))
    vector = (
        *_of_title(title, parts.title, known),
        *_of_headings(headings),
        *_of_lines(lines, content if content_chars else parts.blocks),
        float(agree),
        *_of_amount(parts, lines, content_chars, everything, agree),
        float("error" in title.families or any("error" in line.families for line in (*headings, *lines))),
        float(is_marked),
    )
    return PageSignals(
        vector=vector,
        discusses=_discusses(headings, lines),
        families=_families(texts),
        announced=_families((title, *headings, *lines[:_FIRST_LINES])),
        content_chars=content_chars,
        prose_words=sum(len(line.words) for line in lines if len(line.words) >= _PROSE_WORDS),
        parked_texts=sum("parked" in text.families for text in (title, *lines)),
        title_words=title.words,
        heading_words=tuple(word for text in headings for word in text.words),
        words=frozenset(word for text in texts for word in text.words),
        title_tells=title.says or title.code,
        is_marked=is_marked,
        claims=tuple(
            MissingClaim(words=line.words, says=line.says or line.code_alone)
            for line in lines
            if line.says or line.code_alone or line.hints
        ),
    )


def is_notice(words: Sequence[str]) -> bool:
    """Whether the words are only a 404 code or a usual notice of a missing page."""
    row = tuple(words[: _NOTICE_WORDS + 1])
    if not _CODES.isdisjoint(row) and _CODE_WORDS.issuperset(row):
        return True
    # "Error 404, page not found": a usual notice, with words around it that go with the code.
    begins = [at for at in range(len(row)) if _CODE_WORDS.issuperset(row[:at])]
    ends = [at for at in range(len(row), 0, -1) if _CODE_WORDS.issuperset(row[at:])]
    return any(is_usual_notice(row[begin:end]) for begin in begins for end in ends)


def is_talkative(beginning: Sequence[TextBlock], phrases: Phrases | None = None) -> bool:
    """Whether the beginning of a page already `discusses` something; further lines can only add to that."""
    told: list[_TextSignals] = []
    other = 0
    for count, line in _skim(beginning, phrases or shipped_phrases()):
        if line is not None:
            told.append(line)
        if count >= _PROSE_WORDS and (line is None or not _tells(line)):
            other += count
        if other >= _MUCH_PROSE:
            return True
    return _discusses([], told)


def _families(texts: Iterable[_TextSignals]) -> frozenset[str]:
    return frozenset(family for text in texts for family in text.families)


def _read_text(text: str, phrases: Phrases) -> _TextSignals:
    words = _join_code(tuple(tokens(text)))
    families = phrases.find(words)
    held = _CODES.intersection(words)
    return _TextSignals(
        words=words,
        families=families,
        code=bool(held) and (bool(families & _TELLING) or any(map(_is_code, _TITLE_PARTS.split(text)))),
        mentions=bool(held),
        other_code=not held and bool(_OTHER_CODES.intersection(words)),
        chars=len(text),
    )


def _join_code(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with a leading "4 0 4" joined: large digits often come each in its own element."""
    if words[:3] in _FIGURES and len(words) <= _NOTICE_WORDS:
        return ("404", *words[3:])
    return words


def _is_code(text: str) -> bool:
    """Whether the text is a 404 code and words that go with it."""
    words = set(_join_code(tuple(tokens(text))))
    return not words.isdisjoint(_CODES) and words <= _CODE_WORDS


def _lines(blocks: Sequence[TextBlock], phrases: Phrases) -> Iterator[_TextSignals]:
    """The features of each sentence of the first blocks."""
    lines = words = 0
    for block in blocks:
        for sentence in _sentences(block.text[:_MAX_BLOCK]):
            line = _read_text(sentence, phrases)
            if line.words:
                yield line
                lines += 1
                words += len(line.words)
        if words >= _MAX_WORDS or lines >= _MAX_LINES:
            break


def _skim(blocks: Sequence[TextBlock], phrases: Phrases) -> Iterator[tuple[int, _TextSignals | None]]:
    """What `_lines` says, as the number of words of each sentence; its features only if they may tell anything."""
    lines = words = 0
    for block in blocks:
        for sentence in _sentences(block.text[:_MAX_BLOCK]):
            found = segments(sentence.lower()) if sentence.isascii() else []
            if found and _CODE_FIGURES.isdisjoint(found) and not phrases.may_be_among(found):
                line, count = None, len(found)
                if len(sentence) > MAX_WORD:
                    count -= sum(map(MAX_WORD.__lt__, map(len, found)))
            else:
                line = _read_text(sentence, phrases)
                count = len(line.words)
            if count:
                yield count, line
                lines += 1
                words += count
        if words >= _MAX_WORDS or lines >= _MAX_LINES:
            break


def _sentences(text: str) -> list[str]:
    """The sentences of a block, in which white space is collapsed: nearly all blocks are ASCII, and many are one."""
    if not text.isascii():
        return _SENTENCE_END.split(text)
    if ". " in text or "? " in text or "! " in text or "\n" in text:
        return _ASCII_SENTENCE_END.split(text)
    return [text]


def _of_title(title: _TextSignals, text: str, phrases: Phrases) -> tuple[float, ...]:
    """The features of the title; `rest` counts the words in the part of the title that says it."""
    parts = [tokens(part) for part in _TITLE_PARTS.split(text)]
    telling = [part for part in parts if _CODES.intersection(part) or "not_found" in phrases.find(part)]
    rest = min((len(part) for part in telling), default=0)
    return (float(title.says), float(title.hints), float(title.code), log1p(rest), float(title.other_code))


def _of_headings(headings: list[_TextSignals]) -> tuple[float, ...]:
    return (
        _early(headings),
        float(any(line.says for line in headings)),
        float(any(line.hints for line in headings)),
        float(any(line.code for line in headings)),
        float(any(line.other_code for line in headings)),
        log1p(len(headings)),
    )


def _of_lines(lines: list[_TextSignals], blocks: Sequence[TextBlock]) -> tuple[float, ...]:
    """The features of lines: what they say, how early, and their share of the text."""
    telling = [line for line in lines if line.says or line.code_alone]
    total = sum(len(block.text) for block in blocks) or 1
    return (
        float(any(line.says for line in lines)),
        log1p(sum(line.hints for line in lines)),
        float(any(line.code for line in lines)),
        float(any(line.code_alone for line in lines)),
        _early(lines),
        log1p(sum(line.says for line in lines)),
        log1p(sum(line.code for line in lines)),
        min(1.0, sum(line.chars for line in telling) / total),
    )


def _early(texts: list[_TextSignals]) -> float:
    """1 when the first text says it, less the later it comes, 0 when none does."""
    first = next((at for at, line in enumerate(texts) if line.says or line.code_alone), None)
    return 0.0 if first is None else 1.0 / (1.0 + first)


def _tells(line: _TextSignals) -> bool:
    return line.says or line.hints


def _talks(line: _TextSignals) -> bool:
    """Whether the words are in a longer sentence: a notice is short."""
    return (line.says or line.mentions) and len(line.words) > _NOTICE_WORDS


def _is_other_prose(line: _TextSignals) -> bool:
    return len(line.words) >= _PROSE_WORDS and not _tells(line)


def _discusses(headings: list[_TextSignals], lines: list[_TextSignals]) -> bool:
    about = sum("about" in line.families for line in lines)
    talk = sum(map(_talks, lines))
    other = sum(len(line.words) for line in lines if _is_other_prose(line))
    often = sum(line.says or line.mentions for line in headings) > _MANY_HEADINGS
    return about >= 2 or talk >= 3 or (about >= 1 and talk >= 2) or often or other >= _MUCH_PROSE


def _agree(title: _TextSignals, headings: list[_TextSignals], lines: list[_TextSignals]) -> int:
    """In how many places (title, headings, lines) the page says by words or code that it is missing."""
    places = ((title,), headings, lines)
    return sum(any(line.says or line.code for line in place) for place in places)


def _of_amount(
    parts: PageParts, lines: list[_TextSignals], content_chars: int, everything: int, agree: int
) -> tuple[float, ...]:
    """The features of amount: how much text there is, and how much of it is running text about other things."""
    telling = sum(line.chars for line in lines if line.says or line.hints or line.code)
    untold = log1p(max(0, (content_chars or everything) - telling))
    about = log1p(sum("about" in line.families for line in lines))
    other = log1p(sum(len(line.words) for line in lines if _is_other_prose(line)))
    return (
        log1p(content_chars),
        log1p(everything),
        untold,
        other,
        log1p(sum(map(_talks, lines))),
        about,
        about * agree,
        log1p(sum(line.other_code for line in lines)),
        log1p(parts.tables),
        log1p(parts.tables) * agree,
        log1p(parts.own_links),
    )
