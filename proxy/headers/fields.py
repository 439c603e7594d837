"""Parses header fields of hostile or careless senders: nothing here raises, and everything takes linear time.

Only the three date forms of RFC 9110 5.6.7 are accepted, since dates decide how long a page counts as fresh.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import formatdate
from functools import lru_cache

from proxy.messages import HeaderFields, Headers, values

LARGEST_DELTA_S = 2**31
"""RFC 9111 1.2.2: the value of any larger number of seconds."""

_FRAMING = frozenset({"content-length", "transfer-encoding"})
_LONGEST_DATE = len("Wednesday, 31-Dec-99 23:59:59 GMT")
_DIGITS = re.compile(r"[0-9]+")
# Matches up to the next unquoted comma; an unclosed quoted string runs to the end. No backtracking.
_PART = re.compile(r'(?:[^",]++|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z))*+', re.DOTALL)
_DAYS = "mon|tue|wed|thu|fri|sat|sun"
_LONG_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "(?P<month>" + "|".join(_MONTHS) + ")"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        f"(?:{_DAYS}), (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",
        f"(?:{_LONG_DAYS}), (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
        f"(?:{_DAYS}) {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
)


def members(headers: Iterable[tuple[str, str]], name: str) -> list[str]:
    """The members of a list field over all its lines, trimmed, without empty ones."""
    return [member for value in values(headers, name) for member in split_list(value)]


def split_list(text: str) -> list[str]:
    """Split at the commas that are not within a quoted string."""
    parts = text.split(",") if '"' not in text else _split_quoted(text)
    return [trimmed for part in parts if (trimmed := part.strip(" \t"))]


def _split_quoted(text: str) -> list[str]:
    parts: list[str] = []
    position = 0
    while True:
        found = _PART.match(text, position)
        end = found.end() if found is not None else len(text)
        parts.append(text[position:end])
        if end >= len(text):
            return parts
        position = end + 1  # past the comma


def seconds(text: str) -> int | None:
    """A delta-seconds (RFC 9111 1.2.2), or None when it is anything else."""
    if not _DIGITS.fullmatch(text):
        return None
    significant = text.lstrip("0") or "0"
    # Python refuses to convert numbers with thousands of digits.
    return LARGEST_DELTA_S if len(significant) > 10 else min(int(significant), LARGEST_DELTA_S)


def parse_date(text: str, *, now: float) -> float | None:
    """Seconds since the epoch, or None when the text is not an HTTP date. `now` decides two-digit years."""
    trimmed = text.strip(" \t")
    if len(trimmed) > _LONGEST_DATE:
        return None
    return _parse_date(trimmed, datetime.fromtimestamp(now, UTC).year)


@lru_cache(maxsize=4096)  # every hit parses the dates of its stored response
def _parse_date(text: str, this_year: int) -> float | None:
    for form in _DATE_FORMS:
        found = form.fullmatch(text)
        if found:
            return _instant(found, this_year)
    return None


def _instant(found: re.Match[str], this_year: int) -> float | None:
    year = int(found["year"])
    if len(found["year"]) == 2:
        year += this_year // 100 * 100
        if year > this_year + 50:  # RFC 9110 5.6.7
            year -= 100
    month = _MONTHS.index(found["month"].lower()) + 1
    second = min(int(found["second"]), 59)  # accepts leap seconds
    try:
        moment = datetime(
            year, month, int(found["day"]), int(found["hour"]), int(found["minute"]), second, tzinfo=UTC
        )
    except ValueError:
        return None
    return moment.timestamp()


def date_field(headers: Headers, name: str, *, now: float) -> float | None:
    """The date in a field that may occur once; None when absent, malformed, or given twice with two values."""
    lines = {value.strip(" \t") for value in values(headers, name)}
    return parse_date(lines.pop(), now=now) if len(lines) == 1 else None


def write_date(instant: float) -> str:
    """An instant as an HTTP date."""
    return formatdate(instant, usegmt=True)


def has(headers: Headers, name: str) -> bool:
    """Whether a field is present; `name` in lower case."""
    if isinstance(headers, HeaderFields):
        return name in headers.by_name
    for key, _ in headers:  # noqa: SIM110  a generator would cost twice as much, some forty times a request
        if key.lower() == name:
            return True
    return False


def has_any(headers: Headers, names: frozenset[str]) -> bool:
    """Whether one of the (lower-case) names is present."""
    if isinstance(headers, HeaderFields):
        return not names.isdisjoint(headers.by_name)
    for key, _ in headers:  # noqa: SIM110  as above
        if key.lower() in names:
            return True
    return False


def without(headers: Headers, *names: str) -> Headers:
    """The headers without those of these (lower-case) names."""
    return tuple((key, value) for key, value in headers if key.lower() not in names)


def has_body(headers: Headers) -> bool:
    """Whether an HTTP/1 request with these headers has a body, which is not part of the cache key."""
    if isinstance(headers, HeaderFields) and _FRAMING.isdisjoint(headers.by_name):
        return False
    for key, value in headers:
        name = key.lower()
        if name == "transfer-encoding" or (name == "content-length" and value.strip(" \t") != "0"):
            return True
    return False


def content_length(headers: Headers) -> int | None:
    """The length of the body, or None when it is missing or invalid."""
    lengths = {value.strip(" \t") for value in values(headers, "content-length")}
    text = lengths.pop() if len(lengths) == 1 else ""
    return int(text) if _DIGITS.fullmatch(text) and len(text) <= 18 else None


def retry_after(headers: Headers, now: float) -> float | None:
    """The seconds that Retry-After (RFC 9110 10.2.3) asks to wait; None without a valid one.

    >>> retry_after((("Retry-After", "120"),), 0.0)
    120.0
    """
    text = next(iter(values(headers, "retry-after")), "").strip()
    delta, at = seconds(text), parse_date(text, now=now)
    return float(delta) if delta is not None else None if at is None else max(0.0, at - now)
