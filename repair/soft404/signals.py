"""The numbers a page is judged by (pure): what it says, where it says it, and how much else it says.

An error page is short, says little besides that something is missing, and says it in its title, a heading or a line
of its own. A page *about* errors has the same words with much text around them. So most signals come as a pair: the
words in a place, and how much of the page is something else. (Forms, pictures, search boxes, links home and noindex
were tried as well: they told apart the sites that were learnt from, not missing pages from others.)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log1p

from repair.soft404.marks import NUMBER
from repair.soft404.parts import PageParts
from repair.soft404.phrases import Phrases, is_usual_notice, shipped
from repair.walk import Block
from repair.words import tokens

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
"""In a line of so few words, "not found" or "404" is the whole message."""
_PROSE_WORDS = 8
"""A line of so many words or more is a sentence of running text; menus and notices are shorter."""
_NOTICE_WORDS = 14
"""A notice is not longer; longer sentences talk about something."""
_MANY_HEADINGS = 4
_MUCH_PROSE = 120
"""Words of running text about other things that no error page has; of those learnt from the wordiest has 102."""
_FIRST_LINES = 4
_MAX_BLOCK = 2_000
_MAX_WORDS = 500
_MAX_LINES = 150
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？।؟])\s+|(?<=[。！？।])|\n")
_TITLE_PARTS = re.compile(r"\s[|\-–—·•:»«/<>]+\s|\s*[|•·]\s*|:{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A line that `says` that the page is missing, or only hints it."""

    words: tuple[str, ...]
    says: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What was found: the `vector` for the model, and what rules ask for.

    `discusses` is for a page that says much about something, be it errors (documentation of HTTP): it is no error
    page. `told` are the families of phrases anywhere, `announced` those of title, headings and the first lines;
    `spoken` is how many characters of content there are; `claims` are the lines that say or
    hint that it is missing, `title_tells` is whether the title says so, `is_marked` whether the markup confirms it.
    """

    vector: tuple[float, ...]
    discusses: bool
    told: frozenset[str]
    announced: frozenset[str]
    spoken: int
    prose_words: int
    parked_texts: int
    title_words: tuple[str, ...]
    heading_words: tuple[str, ...]
    words: frozenset[str]
    claims: tuple[Claim, ...]
    title_tells: bool
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """One text: its words, the families of its phrases, whether it bears the code of a missing page or another.

    `mentions` is for a number that may be anything: "Peugeot 404" is no error.
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


def signals(parts: PageParts, phrases: Phrases | None = None) -> Signals:
    """Measure a page; the same page gives the same numbers, whatever its address."""
    known = phrases or shipped()
    content = [block for block in parts.blocks if not block.boilerplate]
    spoken = sum(len(block.text) for block in content)
    everything = sum(len(block.text) for block in parts.blocks)
    title = _told(parts.title, known)
    headings = [_told(heading, known) for heading in parts.headings]
    lines = list(_lines(content if spoken else parts.blocks, known))
    agree = _agree(title, headings, lines)
    told = (title, *headings, *lines)
    # Names in the markup confirm what the words say; alone they tell nothing ("404.jpg" may be a car).
    is_named = bool(parts.marks - {NUMBER}) and any(map(_tells, told))
    is_marked = is_named or (bool(parts.marks) and any(text.code or text.says for text in told))
    vector = (
        *_of_title(title, parts.title, known),
        *_of_headings(headings),
        *_of_lines(lines, content if spoken else parts.blocks),
        float(agree),
        *_of_amount(parts, lines, spoken, everything, agree),
        float("error" in title.families or any("error" in told.families for told in (*headings, *lines))),
        float(is_marked),
    )
    return Signals(
        vector=vector,
        discusses=_discusses(headings, lines),
        told=_families(told),
        announced=_families((title, *headings, *lines[:_FIRST_LINES])),
        spoken=spoken,
        prose_words=sum(len(line.words) for line in lines if len(line.words) >= _PROSE_WORDS),
        parked_texts=sum("parked" in text.families for text in (title, *lines)),
        title_words=title.words,
        heading_words=tuple(word for text in headings for word in text.words),
        words=frozenset(word for text in told for word in text.words),
        title_tells=title.says or title.code,
        is_marked=is_marked,
        claims=tuple(
            Claim(words=line.words, says=line.says or line.code_alone)
            for line in lines
            if line.says or line.code_alone or line.hints
        ),
    )


def is_notice(words: Sequence[str]) -> bool:
    """Whether the words are the code of a missing page, or the usual notice of one, and nothing else."""
    row = tuple(words[: _NOTICE_WORDS + 1])
    if not _CODES.isdisjoint(row) and _CODE_WORDS.issuperset(row):
        return True
    # "Error 404, page not found": the usual notice, and around it what goes with the code.
    begins = [at for at in range(len(row)) if _CODE_WORDS.issuperset(row[:at])]
    ends = [at for at in range(len(row), 0, -1) if _CODE_WORDS.issuperset(row[at:])]
    return any(is_usual_notice(row[begin:end]) for begin in begins for end in ends)


def is_talkative(beginning: Sequence[Block], phrases: Phrases | None = None) -> bool:
    """Whether a page that begins so `discusses` something, whatever follows: each further line can only add."""
    lines: list[_Told] = []
    other = 0
    for line in _lines(beginning, phrases or shipped()):
        lines.append(line)
        other += len(line.words) if _is_other_prose(line) else 0
        if other >= _MUCH_PROSE:
            return True
    return _discusses([], lines)


def _families(texts: Iterable[_Told]) -> frozenset[str]:
    return frozenset(family for text in texts for family in text.families)


def _told(text: str, phrases: Phrases) -> _Told:
    words = _joined(tuple(tokens(text)))
    families = phrases.found(words)
    held = _CODES.intersection(words)
    return _Told(
        words=words,
        families=families,
        code=bool(held) and (bool(families & _TELLING) or any(map(_is_code, _TITLE_PARTS.split(text)))),
        mentions=bool(held),
        other_code=not held and bool(_OTHER_CODES.intersection(words)),
        chars=len(text),
    )


def _joined(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words, a code that they begin with as one: "4 0 4" is how large figures come, each in an element."""
    if words[:3] in _FIGURES and len(words) <= _NOTICE_WORDS:
        return ("404", *words[3:])
    return words


def _is_code(text: str) -> bool:
    """Whether the text is the code of a missing page and little else."""
    words = set(_joined(tuple(tokens(text))))
    return not words.isdisjoint(_CODES) and words <= _CODE_WORDS


def _lines(blocks: Sequence[Block], phrases: Phrases) -> Iterator[_Told]:
    """The sentences of the first blocks, each by itself."""
    lines = words = 0
    for block in blocks:
        for sentence in _SENTENCE_END.split(block.text[:_MAX_BLOCK]):
            told = _told(sentence, phrases)
            if told.words:
                yield told
                lines += 1
                words += len(told.words)
        if words >= _MAX_WORDS or lines >= _MAX_LINES:
            break


def _of_title(title: _Told, text: str, phrases: Phrases) -> tuple[float, ...]:
    """`rest`: how many words of the part of the title that tells are about something else."""
    parts = [tokens(part) for part in _TITLE_PARTS.split(text)]
    telling = [part for part in parts if _CODES.intersection(part) or "not_found" in phrases.found(part)]
    rest = min((len(part) for part in telling), default=0)
    return (float(title.says), float(title.hints), float(title.code), log1p(rest), float(title.other_code))


def _of_headings(headings: list[_Told]) -> tuple[float, ...]:
    return (
        _early(headings),
        float(any(told.says for told in headings)),
        float(any(told.hints for told in headings)),
        float(any(told.code for told in headings)),
        float(any(told.other_code for told in headings)),
        log1p(len(headings)),
    )


def _of_lines(lines: list[_Told], blocks: Sequence[Block]) -> tuple[float, ...]:
    """What single lines say, how early, and what share of the text they make up together."""
    telling = [told for told in lines if told.says or told.code_alone]
    total = sum(len(block.text) for block in blocks) or 1
    return (
        float(any(told.says for told in lines)),
        log1p(sum(told.hints for told in lines)),
        float(any(told.code for told in lines)),
        float(any(told.code_alone for told in lines)),
        _early(lines),
        log1p(sum(told.says for told in lines)),
        log1p(sum(told.code for told in lines)),
        min(1.0, sum(told.chars for told in telling) / total),
    )


def _early(texts: list[_Told]) -> float:
    """1 when the first of the texts tells, less the later it comes, 0 when none does."""
    first = next((at for at, told in enumerate(texts) if told.says or told.code_alone), None)
    return 0.0 if first is None else 1.0 / (1.0 + first)


def _tells(told: _Told) -> bool:
    return told.says or told.hints


def _talks(told: _Told) -> bool:
    """Whether the words stand in a longer sentence: a notice says it shortly."""
    return (told.says or told.mentions) and len(told.words) > _NOTICE_WORDS


def _is_other_prose(told: _Told) -> bool:
    return len(told.words) >= _PROSE_WORDS and not _tells(told)


def _discusses(headings: list[_Told], lines: list[_Told]) -> bool:
    about = sum("about" in told.families for told in lines)
    talk = sum(map(_talks, lines))
    other = sum(len(told.words) for told in lines if _is_other_prose(told))
    often = sum(told.says or told.mentions for told in headings) > _MANY_HEADINGS
    return about >= 2 or talk >= 3 or (about >= 1 and talk >= 2) or often or other >= _MUCH_PROSE


def _agree(title: _Told, headings: list[_Told], lines: list[_Told]) -> int:
    """In how many places (title, headings, lines) the page says that it is missing, by words or by code."""
    places = ((title,), headings, lines)
    return sum(any(told.says or told.code for told in place) for place in places)


def _of_amount(
    parts: PageParts, lines: list[_Told], spoken: int, everything: int, agree: int
) -> tuple[float, ...]:
    """How much is said, and how much of it is running text that says something else."""
    telling = sum(told.chars for told in lines if told.says or told.hints or told.code)
    untold = log1p(max(0, (spoken or everything) - telling))
    about = log1p(sum("about" in told.families for told in lines))
    other = log1p(sum(len(told.words) for told in lines if _is_other_prose(told)))
    return (
        log1p(spoken),
        log1p(everything),
        untold,
        other,
        log1p(sum(map(_talks, lines))),
        about,
        about * agree,
        log1p(sum(told.other_code for told in lines)),
        log1p(parts.tables),
        log1p(parts.tables) * agree,
        log1p(parts.own_links),
    )
