"""Addresses that lead nowhere new: calendars, session numbers, endless parameters, and what is no page.

`trap_in` looks at one address. `ShapeLimits` looks at many: addresses of one shape (the same path with other numbers,
the same parameters with other values) are followed as long as enough of them bring something.
"""

import re
from collections import Counter
from urllib.parse import urlsplit


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAX_URL = 300
_MAX_SEGMENTS = 12
_MAX_PARAMETERS = 4
_SAME_SEGMENT = 3
_SHAPE_TRIES = 20
_SHAPE_YIELD = 0.2
_NOT_PAGES = _words(
    "7z apk avi bin bmp bz2 css csv deb dmg eot exe flac gif gz ico iso jar jpeg jpg js json m4a m4v mid mkv"
    " mov mp3 mp4 mpeg mpg msi odp ods ogg ogv otf png ppt pptx ps rar rpm rss svg swf tar tgz tif tiff torrent"
    " ttf wav webm webp wmv woff woff2 xls xlsx xml xz zip"
)
_SESSION = re.compile(
    r"(?i)(?:[;?&/](?:jsessionid|phpsessid|aspsessionid\w*|cfid|cftoken|sessionid|session_id|sess|sid|zenid)=)"
    r"|/\((?:S|X)\([0-9a-z]{20,}\)\)/"
)
_CALENDAR_KEYS = _words("cal calendar date day eventdate ical month mon week year yr tribe-bar-date")
_CALENDAR = re.compile(r"(?i)/(?:calendar|kalender|calendrier|calendario|events?|agenda|schedule)/.*[0-9]{4}")
_DEED_KEYS = _words(
    "action add-to-cart comment do edit filter format login logout order orderby print printable redirect replytocom"
    " return returnto returnurl share sort sortby view"
)
_DEEDS = re.compile(
    r"(?i)/(?:log-?in|log-?out|sign-?in|sign-?up|register|cart|checkout|share|print)(?:/|\.\w+|$)"
)
_NUMBER = re.compile(r"[0-9]+")


def trap_in(url: str) -> str | None:
    """Why an address should be left alone, in a few words; None when nothing speaks against it."""
    if len(url) > _MAX_URL:
        return "a very long address"
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.lower().split("/") if segment]
    if len(segments) > _MAX_SEGMENTS or max(Counter(segments).values(), default=0) >= _SAME_SEGMENT:
        return "a path that repeats itself"
    if segments and segments[-1].rpartition(".")[2] in _NOT_PAGES and "." in segments[-1]:
        return "not a page"
    if _SESSION.search(url):
        return "a session"
    keys = _keys(parts.query)
    if len(keys) > _MAX_PARAMETERS or len(set(keys)) < len(keys):
        return "many parameters"
    if _CALENDAR_KEYS.intersection(keys) or _CALENDAR.search(parts.path):
        return "a calendar"
    if _DEED_KEYS.intersection(keys) or _DEEDS.search(parts.path):
        return "another view of a page, or a form"
    return None


def shape_of(url: str) -> str:
    """An address without its numbers and the values of its parameters."""
    parts = urlsplit(url)
    return f"{parts.netloc}{_NUMBER.sub('#', parts.path)}?{'&'.join(sorted(_keys(parts.query)))}"


def _keys(query: str) -> list[str]:
    """The names of its parameters."""
    return [field.partition("=")[0].lower() for field in query.split("&") if field]


class ShapeLimits:
    """Counts what came of addresses by shape."""

    def __init__(self) -> None:
        self._fetched: Counter[str] = Counter()
        self._good: Counter[str] = Counter()

    def note(self, url: str, *, good: bool) -> None:
        """Count one fetched page."""
        shape = shape_of(url)
        self._fetched[shape] += 1
        self._good[shape] += good

    def is_exhausted(self, url: str) -> bool:
        """Whether so many addresses of this shape brought so little that the rest is left alone."""
        shape = shape_of(url)
        tries = self._fetched[shape]
        return tries >= _SHAPE_TRIES and self._good[shape] < tries * _SHAPE_YIELD
