"""What kind of page this is, by what it says (pure): there, missing, parked, a login, unfinished, another error.

The learned formula tells *not found* from ordinary. For the other kinds there is little to learn from, so careful
rules ask for several marks at once. A false alarm hides a real page from a child: in doubt a page is ordinary.
"""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from repair.model import MissKind, Page
from repair.soft404.model import Weights
from repair.soft404.model import shipped as shipped_weights
from repair.soft404.parts import PageParts, reading_of
from repair.soft404.shells import Words, has_empty_place, weigh_words
from repair.soft404.signals import FEATURES, Signals, is_talkative, signals
from repair.words import tokens


class PageKind(StrEnum):
    """What a page answered 200 turns out to be; the values are printed by `linkmend soft404`."""

    ORDINARY = "ordinary"
    NOT_FOUND = "not_found"
    PARKED = "parked"
    LOGIN = "login"
    CONSTRUCTION = "construction"
    ERROR = "error"
    """Says that something else went wrong: forbidden, overloaded, blocked."""
    SHELL = "shell"
    """Its scripts make its text: nothing to judge by (`repair.soft404.shells`)."""


MISSES = {PageKind.NOT_FOUND: MissKind.SOFT_404, PageKind.PARKED: MissKind.PARKED}
"""The kinds that are answered with a repair page. A login or a building site is what the reader asked for."""

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
class Judgement:
    """`probability` that the page says it is missing; `unsure` when asking the site could tell."""

    kind: PageKind
    probability: float
    unsure: bool = False

    @property
    def miss(self) -> MissKind | None:
        return MISSES.get(self.kind)


ORDINARY = Judgement(kind=PageKind.ORDINARY, probability=0.0)


def judge(page: Page, weights: Weights | None = None) -> Judgement:
    """Judge a page by its content and address, reading no more of it than needed.

    Never raises; what cannot be read is ordinary.
    """
    reading = reading_of(page)
    if reading is None or is_talkative(reading.beginning()):
        return ORDINARY
    parts, weights = reading.parts(), weights or shipped_weights()
    found = signals(parts)
    judgement = _judged(parts, found, weights)
    if judgement.kind is not PageKind.NOT_FOUND and not judgement.unsure:
        return judgement
    match weigh_words(reading.html, parts, found):
        case Words.COUNT:
            return judgement
        case Words.SHELL:
            return Judgement(kind=PageKind.SHELL, probability=judgement.probability)
        case Words.DOUBTFUL:
            return Judgement(kind=PageKind.ORDINARY, probability=judgement.probability, unsure=True)


def is_filled_by_scripts(page: Page) -> bool:
    """Whether another page of the site may have the same text, since scripts put their own into it."""
    reading = reading_of(page)
    return reading is not None and has_empty_place(reading.html)


def judge_parts(parts: PageParts, weights: Weights) -> Judgement:
    """The same for a page that was taken apart already, by its words alone: it may be a shell."""
    return _judged(parts, signals(parts), weights)


def _judged(parts: PageParts, found: Signals, weights: Weights) -> Judgement:
    if found.discusses:
        return ORDINARY
    probability = weights.probability(found.vector, address_evidence(parts.url, found))
    kind = _rule(parts, found)
    if kind is None and probability >= weights.threshold:
        return Judgement(kind=PageKind.NOT_FOUND, probability=probability)
    if kind is None and parts.scripts and _length(parts) < _SHELL_CHARS:
        kind = PageKind.SHELL
    unsure = kind is None and probability >= weights.unsure_from
    return Judgement(kind=kind or PageKind.ORDINARY, probability=probability, unsure=unsure)


def address_evidence(url: str, found: Signals) -> float:
    """Evidence in logits: a page whose title or headings answer the last words of its address is that page."""
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


def _rule(parts: PageParts, found: Signals) -> PageKind | None:
    """A kind that is told by marks of its own; None leaves it to the formula."""
    if _is_parked(parts, found):
        return PageKind.PARKED
    if _says_missing(found):
        return None
    if _asks_for_login(parts, found):
        return PageKind.LOGIN
    if "construction" in found.announced and found.spoken < _VERY_SHORT:
        return PageKind.CONSTRUCTION
    if _errs_otherwise(found):
        return PageKind.ERROR
    return None


def _asks_for_login(parts: PageParts, found: Signals) -> bool:
    """A password is wanted and little else is said, or (captive portals) a form and words for it come first."""
    if parts.passwords:
        return found.spoken < (_SHORT if "login" in found.told else _VERY_SHORT)
    return "login" in found.announced and parts.forms > 0 and found.spoken < _VERY_SHORT


def _is_parked(parts: PageParts, found: Signals) -> bool:
    if _length(parts) > 2 * _SHORT or found.prose_words > _PARKED_PROSE:
        return False
    hosted = any(_is_parking(source) for source in parts.sources)
    marks = 2 * hosted + found.parked_texts
    return (marks >= 2 and "parked" in found.told) or (hosted and _length(parts) < _SHELL_CHARS)


def _is_parking(source: str) -> bool:
    host = source.partition("/")[0]
    return any(source.startswith(name) or host.endswith(f".{name}") for name in _PARKING)


def _says_missing(found: Signals) -> bool:
    names = ("title.says", "title.code", "heading.says", "heading.code", "line.says", "line.code_alone")
    return any(found.vector[_AT[name]] for name in names)


def _errs_otherwise(found: Signals) -> bool:
    coded = found.vector[_AT["title.other_code"]] or found.vector[_AT["heading.other_code"]]
    if coded and "error" in found.told:
        return found.spoken < _SHORT
    return "error" in found.announced and found.spoken < _VERY_SHORT


def _length(parts: PageParts) -> int:
    return sum(len(block.text) for block in parts.blocks)
