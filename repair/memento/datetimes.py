"""Parses times as archives write them: HTTP dates, fourteen digits, ISO 8601. Other text gives None, no error."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

_LONGEST = 64
_DIGITS = re.compile(r"[0-9]{4,14}\Z")
_EARLIEST = "00000101000000"  # completes a shortened timestamp


def http_date(text: str) -> datetime | None:
    """`Tue, 20 Jun 2006 18:02:59 GMT`, also in quotes; a date without a zone is taken as UTC."""
    if len(text) > _LONGEST:
        return None
    try:
        found = parsedate_to_datetime(text.strip().strip('"'))
        return _utc(found)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def timestamp(text: str) -> datetime | None:
    """`20060620180259`, or a prefix of it with at least the year.

    >>> timestamp("200606")
    datetime.datetime(2006, 6, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if not _DIGITS.match(text):
        return None
    try:
        return datetime.strptime(text + _EARLIEST[len(text) :], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def iso_date(text: str) -> datetime | None:
    """`2006-06-20T18:02:59Z`, or only the day; without a zone it is UTC."""
    try:
        return _utc(datetime.fromisoformat(text.strip())) if len(text) <= _LONGEST else None
    except (ValueError, OverflowError):
        return None


def any_date(text: str) -> datetime | None:
    """A time in any of these forms."""
    text = text[: _LONGEST + 1].strip()
    if not text:
        return None
    return timestamp(text) or iso_date(text) or http_date(text)


def as_timestamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%d%H%M%S").zfill(14)


def as_http_date(at: datetime) -> str:
    return format_datetime(at.astimezone(UTC), usegmt=True)


def _utc(found: datetime) -> datetime:
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
