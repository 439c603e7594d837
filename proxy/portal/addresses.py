"""The addresses of our own pages and of what their scripts ask for (pure)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import urlencode

from proxy.portal.timeparameters import TimeView, parameters

PORTAL_HOST = "linkmend.internal"
PORTAL = f"http://{PORTAL_HOST}"
PREFIX = "/.well-known/linkmend/"
SEARCH_PATH = PREFIX + "search"
COPY_PATH = PREFIX + "copy"
CHOSE_PATH = PREFIX + "chose"
ANYWAY_PATH = PREFIX + "anyway"
SUGGEST_PATH = PREFIX + "suggest"
MEMENTOS_PATH = PREFIX + "mementos"
LATE_OFFERS_PATH = PREFIX + "late"
PRIVACY_PATH = PREFIX + "privacy"
TOPIC_PATH = PREFIX + "topic"
BROWSE_PATH = PREFIX + "browse"
DETOUR_PATH = PREFIX + "detour"
PAC_PATHS = ("/proxy.pac", "/wpad.dat")
NO_FILTERS: Mapping[str, str] = MappingProxyType({})
MAX_DETOUR = 10_000


class BrowseList(StrEnum):
    """The lists of saved pages."""

    NEWEST = "newest"
    READ = "read"
    SITES = "sites"
    SITE = "site"
    LANGUAGE = "language"


def search_path(query: str, filters: Mapping[str, str] = NO_FILTERS, *, page: int = 1) -> str:
    """`filters` are topic, lang and type; empty ones are left out."""
    fields = {"q": query, **{name: value for name, value in filters.items() if value}}
    return f"{SEARCH_PATH}?{urlencode(_with_page(fields, page), errors='replace')}"


def topic_path(topic: str, subtopic: str | None = None, *, page: int = 1) -> str:
    fields = {"name": topic} if subtopic is None else {"name": topic, "sub": subtopic}
    return f"{TOPIC_PATH}?{urlencode(_with_page(fields, page), errors='replace')}"


def browse_path(chosen: BrowseList, of: str = "", *, page: int = 1) -> str:
    fields = {"list": chosen.value, "of": of} if of else {"list": chosen.value}
    return f"{BROWSE_PATH}?{urlencode(_with_page(fields, page), errors='replace')}"


def _with_page(fields: dict[str, str], page: int) -> dict[str, str]:
    return fields if page == 1 else {**fields, "page": str(page)}


def copy_path(url: str) -> str:
    return f"{COPY_PATH}?{urlencode({'url': url}, errors='replace')}"


def anyway_path(miss_id: str) -> str:
    return f"{ANYWAY_PATH}?{urlencode({'miss': miss_id})}"


def mementos_path(miss_id: str, view: TimeView, **changes: object) -> str:
    return f"{MEMENTOS_PATH}?{urlencode({'miss': miss_id, **parameters(view, **changes)})}"


def mementos_part_path(miss_id: str, view: TimeView, seen: int) -> str:
    """Where the script requests what is newer than version `seen`."""
    return f"{mementos_path(miss_id, view)}&{urlencode({'part': 1, 'seen': seen})}"


def late_offers_path(miss_id: str, *, part: bool = False) -> str:
    """What came later than a repair page; with `part`, for its script."""
    return f"{LATE_OFFERS_PATH}?{urlencode({'miss': miss_id, 'part': 1} if part else {'miss': miss_id})}"


def chose_path(miss_id: str, number: int) -> str:
    return f"{CHOSE_PATH}?{urlencode({'miss': miss_id, 'n': number})}"
