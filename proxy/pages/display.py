"""Makes outside text and addresses safe to show: nothing hidden, nothing endless, nothing that runs.

Strangers write titles, snippets and URLs. The templates escape them; this module handles what escaping leaves:
control and bidirectional characters, stacks of combining marks, schemes that are not the web, look-alike hosts.
"""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from repair.model import Span

MAX_TARGET = 2_000
"""Longer URLs are not offered: most browsers and servers give up about there."""

# Zero-width joiners shape words in Hindi, Persian and others; all other format characters only hide things.
_KEPT_FORMAT = frozenset("\u200c\u200d")
_MAX_MARKS = 4
# All but letters that carry no marks, and punctuation.
_MARKED = re.compile(
    "[^\x00-\u02ff\u0370-\u0482\u048a-\u058f\u1e00-\u20cf\u2100-\u2bff\u3000-\u3029\u3030-\u3098\u309b-\u9fff\uac00-\ud7a3]"
)
_MAX_LABEL = 63  # RFC 1035 2.3.4
_FORBIDDEN_IN_TARGET = re.compile(
    r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
# Scripts that are commonly mixed, so a label with both is not suspicious.
_MIXED_SCRIPTS = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA", "LATIN"}),
    frozenset({"CJK", "HANGUL", "LATIN"}),
)
# Scripts in which whole words look like Latin ones.
_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayAddress:
    """A readable URL. `ascii_host` is the real name, given only where `host` could be mistaken for another."""

    host: str
    path: str = ""
    ascii_host: str = ""


def clean(text: str, limit: int) -> str:
    """The text on one line without invisible characters, cut with an ellipsis after `limit` characters."""
    shown = _visible(text[: limit * 4]).strip()
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def clean_spans(spans: tuple[Span, ...], limit: int) -> tuple[Span, ...]:
    """A snippet of at most about `limit` characters, cleaned like `clean`, its marks kept."""
    kept: list[Span] = []
    left = limit
    for span in spans[:60]:
        text = _visible(span.text[: left * 4])
        if len(text) > left:
            text = text[:left].rstrip() + "…"
        if text:
            kept.append(Span(text=text, marked=span.marked))
        left -= len(text)
        if left <= 0:
            break
    return tuple(kept)


def _visible(text: str) -> str:
    # The usual case in most languages, nothing to clean: neither invisible characters nor marks on letters.
    if text.isprintable() and not _MARKED.search(text):
        return re.sub(" {2,}", " ", text)
    kept: list[str] = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category[0] == "M" else 0
        if char.isspace():
            kept.append(" ")
        elif category in ("Cc", "Cs", "Co") or (category == "Cf" and char not in _KEPT_FORMAT):
            continue
        elif marks <= _MAX_MARKS:
            kept.append(char)
    return re.sub(" {2,}", " ", "".join(kept))


def link_target(url: str) -> str | None:
    """The URL itself when it is safe to link to: http or https, a host, no credentials, no hidden characters."""
    if len(url) > MAX_TARGET or _FORBIDDEN_IN_TARGET.search(url):
        return None
    parts = _parse(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return url


def _parse(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed only on access, and raises then
    except ValueError:
        return None
    return parts


def address(url: str, limit: int = 90) -> DisplayAddress:
    """A readable form of the URL: the host in its own script, the path decoded where that is readable text."""
    parts = _parse(url[: MAX_TARGET * 2])
    if parts is None or not parts.hostname:
        return DisplayAddress(host=shorten(clean(url, MAX_TARGET), limit))
    labels = parts.hostname.split(".")
    readable = [_readable_label(label) for label in labels]
    host = ".".join(readable) + (f":{parts.port}" if parts.port else "")
    doubtful = any(_could_mislead(label) for label in readable)
    true_name = ".".join(_ascii_label(label) for label in labels) if doubtful else ""
    path = parts.path if parts.path != "/" else ""
    path += f"?{parts.query}" if parts.query else ""
    return DisplayAddress(
        host=shorten(clean(host, 300), limit),
        path=shorten(clean(_decode_path(path), MAX_TARGET), limit),
        ascii_host=shorten(clean(true_name, 300), limit),
    )


def shorten(text: str, limit: int) -> str:
    """The text with its middle left out: the beginning and the end of an address matter most."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def _decode_path(path: str) -> str:
    readable = unquote(path, errors="replace")
    return path if "\ufffd" in readable else readable


def _readable_label(label: str) -> str:
    if not label.startswith("xn--") or len(label) > _MAX_LABEL:
        return label
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label
    return decoded if decoded.isprintable() else label


def _ascii_label(label: str) -> str:
    if label.isascii() or len(label) > _MAX_LABEL:
        return label
    return "xn--" + label.lower().encode("punycode", "replace").decode("ascii", "replace")


def _could_mislead(label: str) -> bool:
    """Whether a label mixes scripts, or is all in one that has Latin look-alikes."""
    scripts = {unicodedata.name(char, "UNKNOWN").split()[0] for char in label if char.isalpha()}
    if scripts & _LIKE_LATIN:
        return True
    return len(scripts) > 1 and not any(scripts <= together for together in _MIXED_SCRIPTS)
