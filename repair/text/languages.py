"""Which language an address names, and which codes mean the same language; no text is read here.

Sites with translations name the language in the address: as a directory (`/es/`, `/pt-BR/`), a host
(`fr.school.test`), a parameter (`?lang=de`) or an end of the file name (`rules.ja.html`, `rules_de.html`). Codes that
are also common words of addresses (`it`, `is`, `no`) count only where a language is likely: a leading directory, a
host, a parameter.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from repair.text import urls

_CODES = re.compile(
    r"(?:aa|ab|af|ak|am|an|ar|as|ast|ay|az|ba|be|bg|bn|bo|br|bs|ca|ceb|ckb|co|cs|cy|da|de|dv|dz|el|en|eo|es|et|eu|fa|"
    r"ff|fi|fil|fo|fr|fy|ga|gd|gl|gn|gu|ha|haw|he|hi|hr|ht|hu|hy|ia|id|ig|is|it|iu|ja|jv|ka|kk|km|kn|ko|ku|ky|la|"
    r"lb|lg|ln|lo|lt|lv|mg|mi|mk|ml|mn|mr|ms|mt|my|nb|ne|nl|nn|no|ny|oc|om|or|pa|pl|ps|pt|qu|rm|rn|ro|ru|rw|sa|sc|"
    r"sd|se|si|sk|sl|sm|sn|so|sq|sr|ss|st|su|sv|sw|ta|te|tg|th|ti|tk|tl|tn|to|tr|ts|tt|ug|uk|ur|uz|vec|vi|wo|xh|yi|"
    r"yo|yue|zh|zu)\Z"
)
# Codes that are words, countries or abbreviations in most addresses that have them.
_DOUBTFUL = re.compile(
    r"(?:aa|ab|am|an|as|ast|ay|ba|be|br|co|dz|ff|ia|id|ig|is|it|la|my|no|om|or|pa|sa|se|so|st|to|ts|wo)\Z"
)
_SAME = (
    dict.fromkeys(("yue", "wuu", "cmn", "gan", "hak", "lzh", "nan"), "zh")
    | dict.fromkeys(("arz", "ary", "apc", "acm", "arb"), "ar")
    | {"nb": "no", "nn": "no", "ext": "es", "an": "es", "iw": "he", "in": "id", "ji": "yi", "fil": "tl"}
    | {"prs": "fa", "pes": "fa", "zsm": "ms", "bs": "hr", "sh": "hr"}
    | dict.fromkeys(("zxx", "und", "mul", "mis"), "")  # none, unknown, several
)
# Countries that sites name in place of their language; none of them is the code of another language.
_COUNTRIES = dict.fromkeys(("cn", "tw", "hk"), "zh") | {
    "ua": "uk",
    "jp": "ja",
    "kr": "ko",
    "cz": "cs",
    "dk": "da",
}
_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_](?:[A-Za-z]{2}|[0-9]{3}|[A-Za-z]{4}))*\Z")
_PARAMETER = re.compile(
    r"(?i)(?:\A|&)(?:lang|language|locale|hl|l|lng)=([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,4})?)(?=&|\Z)"
)
_FILE_END = re.compile(r"(?i)(?<=[^/])[._-]([a-z]{2}(?:[-_][a-z]{2})?)(?:\.[xs]?html?|\.php|\.aspx?|\.md)?\Z")
_SCRIPT_CHARACTERS = 80
_VARIETY_CHARACTERS = 300
_LONGEST_TAG = 15
_PATH = 500
"""Characters of a path that are looked at."""
_LEADING = 3  # directories in which a doubtful code is likely to be a language


@lru_cache(maxsize=1_024)
def same_language(code: str) -> str:
    """The language of a code without region and variety: `zh-Hant` and `yue` are both `zh`; "" for none.

    >>> same_language("pt-BR")
    'pt'
    """
    base = code.lower().replace("_", "-").partition("-")[0]
    return _SAME.get(base, base)


def address_language(url: str) -> str:
    """The language that a URL names, as in `same_language`; "" when it names none.

    >>> address_language("https://help.school.test/7.4/zh-CN/text/start.html")
    'zh'
    """
    return _named_language(url)[0]


def edition_of(url: str) -> str:
    """The directory with all pages in the language of a URL; "" when it names none by a directory or a host.

    >>> edition_of("https://help.school.test/7.4/zh-CN/text/start.html")
    'https://help.school.test/7.4/zh-CN/'
    """
    return _named_language(url)[1]


def without_language(url: str) -> str:
    """A URL without what names its language, the same for parallel URLs of all editions of one site; "" when it names
    none, or is another site without it.

    >>> without_language("https://help.school.test/7.4/zh-CN/text/start.html")
    'https://help.school.test/7.4/text/start.html'
    """
    return _find_language(url)[2]


@lru_cache(maxsize=65_536)
def _named_language(url: str) -> tuple[str, str]:
    """The language, and the directory that names it."""
    return _find_language(url)[:2]


def _find_language(url: str) -> tuple[str, str, str]:
    """The language, the directory that names it, and the URL without its name."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return "", "", ""
    root = f"{parts.scheme}://{parts.authority}"
    if (found := _PARAMETER.search(parts.query[:500])) and (code := _language(found[1], doubtful=True)):
        query = f"{parts.query[: found.start()]}{parts.query[found.end() :]}".removeprefix("&")
        return code, "", f"{root}{parts.path}{'?' if query else ''}{query}"
    pieces = parts.path[:_PATH].split("/")
    query = f"?{parts.query}" if parts.query else ""
    for at, piece in enumerate(pieces[1:-1], start=1):
        # Most directories are longer than any tag: no need to look closer.
        if len(piece) <= _LONGEST_TAG and (
            code := _language(unquote(piece), doubtful=at <= _LEADING and piece.islower())
        ):
            edition = f"{root}{'/'.join(pieces[: at + 1])}/"
            return (
                code,
                edition,
                f"{root}{'/'.join(pieces[:at])}{parts.path[len(edition) - len(root) - 1 :]}{query}",
            )
    labels = parts.host.split(".")
    if len(labels) > 2 and (code := _language(labels[0], doubtful=True) or _COUNTRIES.get(labels[0], "")):
        # `fr.github.io` and `de.github.io` are different people's: nothing of theirs is parallel.
        is_whole_site = urls.site_of_host(parts.host) == parts.host
        beside = f"{parts.scheme}://{parts.authority.partition('.')[2]}{parts.path}{query}"
        return code, f"{root}/", "" if is_whole_site else beside
    if len(pieces) > 2 and (code := _COUNTRIES.get(pieces[1], "")):
        edition = f"{root}/{pieces[1]}/"
        return code, edition, f"{root}{parts.path[len(pieces[1]) + 1 :]}{query}"
    name = pieces[-1]
    if len(parts.path) > _PATH:
        return "", "", ""  # the name does not end where it was cut
    if found := _FILE_END.search(name):
        if code := _language(found[1], doubtful=False):
            return (
                code,
                "",
                f"{root}{'/'.join(pieces[:-1])}/{name[: found.start()]}{name[found.end(1) :]}{query}",
            )
        return "", "", ""
    if len(pieces) == 2 and (code := _language(unquote(name), doubtful=False)):
        return code, "", f"{root}/{query}"
    return "", "", ""


def _language(tag: str, *, doubtful: bool) -> str:
    found = _TAG.match(tag)
    if found is None or not _CODES.match(code := found[1].lower()):
        return ""
    if not doubtful and tag.lower() == code and _DOUBTFUL.match(code):
        return ""
    return same_language(code)


# First and last character of the letters of each script; Japanese is told from Chinese by its syllables.
_SCRIPTS = (
    ("A", "\u024f", "latin"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "cyrillic"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0590", "\u05ff", "hebrew"),
    ("\u0600", "\u077f", "arabic"),
    ("\u0900", "\u097f", "devanagari"),
    ("\u0980", "\u09ff", "bengali"),
    ("\u0b80", "\u0bff", "tamil"),
    ("\u0e00", "\u0e7f", "thai"),
    ("\u10a0", "\u10ff", "georgian"),
    ("\u1e00", "\u1eff", "latin"),
    ("\u3040", "\u30ff", "kana"),
    ("\u3400", "\u9fff", "han"),
    ("\uac00", "\ud7af", "hangul"),
)


@lru_cache(maxsize=16_384)
def script_of(text: str) -> str:
    """The script of most letters of a text, kana as soon as there is any; "" when there are no letters."""
    if text.isascii():
        return "latin" if any(map(str.isalpha, text)) else ""
    counts: dict[str, int] = {}
    for character in text[:_SCRIPT_CHARACTERS]:
        if not character.isalpha():
            continue
        for first, last, name in _SCRIPTS:
            if first <= character <= last:
                counts[name] = counts.get(name, 0) + 1
                break
    if "kana" in counts:
        return "kana"
    return max(counts, key=lambda name: (counts[name], name)) if counts else ""


_SIMPLIFIED = re.compile(r"(?i)(?:\A|[/.=_-])(?:zh[-_](?:hans|cn|sg)|cn)(?=[/.&_-]|\Z)")
_TRADITIONAL = re.compile(r"(?i)(?:\A|[/.=_-])(?:zh[-_](?:hant|tw|hk|mo)|tw)(?=[/.&_-]|\Z)")


@lru_cache(maxsize=16_384)
def chinese_variety(text: str) -> int:
    """1 for simplified characters, -1 for traditional ones, 0 where a text has neither or as many of both.

    The older national character sets tell: each has the characters of its own writing alone, and those of both.
    """
    text = text[:_VARIETY_CHARACTERS]
    if text.isascii():
        return 0
    simplified = len(text.encode("gb2312", "ignore").decode("gb2312"))
    traditional = len(text.encode("big5", "ignore").decode("big5"))
    return (simplified > traditional) - (simplified < traditional)


@lru_cache(maxsize=16_384)
def address_variety(url: str) -> int:
    """The same for what an address says (`/zh-TW/`, `cn.school.test`)."""
    address = url.partition("://")[2][:500]
    return (_SIMPLIFIED.search(address) is not None) - (_TRADITIONAL.search(address) is not None)


_SCRIPT_OF = (
    dict.fromkeys(("ru", "uk", "be", "bg", "mk", "sr", "kk", "ky", "tg", "mn", "tt", "ba"), "cyrillic")
    | dict.fromkeys(("ar", "fa", "ur", "ps", "ug", "ckb", "sd"), "arabic")
    | dict.fromkeys(("hi", "mr", "ne", "sa"), "devanagari")
    | {"zh": "han", "ja": "kana", "ko": "hangul", "el": "greek", "he": "hebrew", "yi": "hebrew", "th": "thai"}
    | {"hy": "armenian", "ka": "georgian", "ta": "tamil", "bn": "bengali", "as": "bengali"}
)


def is_latin(language: str) -> bool:
    """Whether a language is usually written in Latin letters, as most are."""
    return language not in _SCRIPT_OF


def script_agrees(script: str, language: str) -> float:
    """1 where a script is that of a language, -1 where it is another one, 0 where that says nothing.

    Latin letters say little where the usual script is another one: names of products and functions are written so.
    """
    usual = _SCRIPT_OF.get(language, "latin")
    if not script or not language or (script == "latin" and usual != "latin"):
        return 0.0
    return 1.0 if script == usual or (script == "han" and usual == "kana") else -1.0
