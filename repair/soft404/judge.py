"""Classifies a page by its text (pure): ordinary, missing, parked, a login, unfinished, another error.

The trained model separates *not found* from ordinary pages. For the other kinds there are few examples, so careful
rules require several marks at once. A false alarm hides a real page from a child: in doubt a page is ordinary.
"""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from repair.model import MissKind, Page
from repair.soft404.model import Soft404Weights
from repair.soft404.model import shipped_weights as shipped_weights
from repair.soft404.pageparts import PageParts, glances, reading_of
from repair.soft404.scriptpages import WordTrust, has_empty_place, weigh_words
from repair.soft404.signals import FEATURES, PageSignals, is_talkative, signals
from repair.text.words import tokens


class PageKind(StrEnum):
    """The kind of a page that was answered 200; `linkmend soft404` prints the values."""

    ORDINARY = "ordinary"
    NOT_FOUND = "not_found"
    PARKED = "parked"
    LOGIN = "login"
    CONSTRUCTION = "construction"
    ERROR = "error"
    """Reports another error: forbidden, overloaded, blocked."""
    SHELL = "shell"
    """Scripts make its text: there is nothing to judge by (`repair.soft404.scriptpages`)."""


MISSES = {PageKind.NOT_FOUND: MissKind.SOFT_404, PageKind.PARKED: MissKind.PARKED}
"""The kinds that are answered with a repair page. A login or an unfinished page is what the user asked for."""

_PARKING = (
    "sedoparking.com",
    "parkingcrew.net",
    "bodis.com",
    "parklogic.com",
    "above.com",
    "dan.com",
    "afternic.com",
    "hugedomains.com",
    "domainmarket.com",
    "parking-crew.com",
    "www.google.com/adsense/domains/caf.js",
    "google.com/afs/ads",
)
"""Where the scripts and frames of parked domains come from."""
_AT = {name: number for number, name in enumerate(FEATURES)}
_SHORT = 1_200
_VERY_SHORT = 500
_PARKED_PROSE = 60
_SHELL_CHARS = 30
_LEAST_URL_WORDS = 2
_ADDRESS_ANSWERED = -4.0
_ADDRESS_UNANSWERED = 0.3
_EMPTY_WORDS = frozenset(
    tokens("index html htm php asp aspx the and for page pages error errors not found 404 410")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageJudgement:
    """`probability` that the page says it is missing; `unsure` when a probe of the site could decide."""

    kind: PageKind
    probability: float
    unsure: bool = False

    @property
    def miss(self) -> MissKind | None:
        return MISSES.get(self.kind)


ORDINARY = PageJudgement(kind=PageKind.ORDINARY, probability=0.0)


def judge(page: Page, weights: Soft404Weights | None = None) -> PageJudgement:
    """Judge a page by its content and address, parsing no more of it than needed.

    Never raises; a page that cannot be parsed is ordinary.
    """
    reading = reading_of(page)
    if reading is None or is_talkative(reading.beginning()) or is_talkative(reading.further()):
        return ORDINARY
    parts, weights = reading.parts(), weights or shipped_weights()
    found = signals(parts)
    judgement = _judge_words(parts, found, weights)
    if judgement.kind is not PageKind.NOT_FOUND and not judgement.unsure:
        return judgement
    match weigh_words(reading.html, parts, found):
        case WordTrust.COUNT:
            return judgement
        case WordTrust.SHELL:
            return PageJudgement(kind=PageKind.SHELL, probability=judgement.probability)
        case WordTrust.DOUBTFUL:
            return PageJudgement(kind=PageKind.ORDINARY, probability=judgement.probability, unsure=True)


def is_plainly_there(page: Page, *, brief: bool = False) -> bool:
    """Whether the first lines of a page show already that it is ordinary, as `judge` would say."""
    return any(map(is_talkative, glances(page, brief=brief)))


def is_filled_by_scripts(page: Page) -> bool:
    """Whether other pages of the site may have the same text, since scripts fill in their own."""
    reading = reading_of(page)
    return reading is not None and has_empty_place(reading.html)


def judge_parts(parts: PageParts, weights: Soft404Weights) -> PageJudgement:
    """Judge a parsed page by its words alone, without the check for shells."""
    return _judge_words(parts, signals(parts), weights)


def _judge_words(parts: PageParts, found: PageSignals, weights: Soft404Weights) -> PageJudgement:
    if found.discusses:
        return ORDINARY
    probability = weights.probability(found.vector, address_evidence(parts.url, found))
    kind = _kind_by_rule(parts, found)
    if kind is None and probability >= weights.threshold:
        return PageJudgement(kind=PageKind.NOT_FOUND, probability=probability)
    if kind is None and parts.scripts and _length(parts) < _SHELL_CHARS:
        kind = PageKind.SHELL
    unsure = kind is None and probability >= weights.unsure_from
    return PageJudgement(kind=kind or PageKind.ORDINARY, probability=probability, unsure=unsure)


def address_evidence(url: str, found: PageSignals) -> float:
    """Evidence in logits: title or headings that match the last words of the address show that the page is there."""
    words = {word for word in tokens(_slug(url)) if len(word) > 2 and not word.isdigit()} - _EMPTY_WORDS
    if len(words) < _LEAST_URL_WORDS:
        return 0.0
    answered = words.intersection((*found.title_words, *found.heading_words))
    if 2 * len(answered) > len(words):
        return _ADDRESS_ANSWERED
    return 0.0 if answered or words & found.words else _ADDRESS_UNANSWERED


def _slug(url: str) -> str:
    path = url.partition("?")[0].rstrip("/").rpartition("/")[2]
    return unquote(path[:300]).replace("_", " ")


def _kind_by_rule(parts: PageParts, found: PageSignals) -> PageKind | None:
    """The kind that the rules find; None leaves the page to the model."""
    if _is_parked(parts, found):
        return PageKind.PARKED
    if _says_missing(found):
        return None
    if _asks_for_login(parts, found):
        return PageKind.LOGIN
    if "construction" in found.announced and found.content_chars < _VERY_SHORT:
        return PageKind.CONSTRUCTION
    if _shows_other_error(found):
        return PageKind.ERROR
    return None


def _asks_for_login(parts: PageParts, found: PageSignals) -> bool:
    """Whether a short page has a password field, or (captive portals) a form and words for a login at the top."""
    if parts.passwords:
        return found.content_chars < (_SHORT if "login" in found.families else _VERY_SHORT)
    return "login" in found.announced and parts.forms > 0 and found.content_chars < _VERY_SHORT


def _is_parked(parts: PageParts, found: PageSignals) -> bool:
    if _length(parts) > 2 * _SHORT or found.prose_words > _PARKED_PROSE:
        return False
    hosted = any(_is_parking(source) for source in parts.sources)
    marks = 2 * hosted + found.parked_texts
    return (marks >= 2 and "parked" in found.families) or (hosted and _length(parts) < _SHELL_CHARS)


def _is_parking(source: str) -> bool:
    host = source.partition("/")[0]
    return any(source.startswith(name) or host.endswith(f".{name}") for name in _PARKING)


def _says_missing(found: PageSignals) -> bool:
    names = ("title.says", "title.code", "heading.says", "heading.code", "line.says", "line.code_alone")
    return any(found.vector[_AT[name]] for name in names)


def _shows_other_error(found: PageSignals) -> bool:
    coded = found.vector[_AT["title.other_code"]] or found.vector[_AT["heading.other_code"]]
    if coded and "error" in found.families:
        return found.content_chars < _SHORT
    return "error" in found.announced and found.content_chars < _VERY_SHORT


def _length(parts: PageParts) -> int:
    return sum(len(block.text) for block in parts.blocks)
