"""Redirects as evidence: a deep link redirected to the start page, to a search, or to a fixed error address (pure).

Sites that avoid "not found" redirect users to a page that exists. Redirects between http and https, with and without
www, that add a slash or a language do not count, nor do those of logins and click counters.
"""

import re
import time
from collections.abc import Callable
from enum import StrEnum
from urllib.parse import parse_qs

from repair.bounded import BoundedDict
from repair.text.urls import UrlParts, parse, resolve, site


class RedirectLanding(StrEnum):
    """Where a redirected deep link ended."""

    ROOT = "root"
    SEARCH = "search"
    ERROR = "error"


_FILE_END = re.compile(r"\.(?:html?|xhtml|php\d?|aspx?|jsp|cgi|cfm)\Z")
_START = frozenset(
    ("index", "home", "default", "main", "start", "welcome", "startseite", "accueil", "inicio")
)
_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_][a-z]{2})?")
_SEARCH = frozenset(
    ("search", "suche", "buscar", "busca", "recherche", "rechercher", "ricerca", "zoeken", "szukaj", "poisk")
)
_SEARCH_FIELDS = frozenset(("q", "s", "query", "search", "keyword", "keywords"))
_ERROR = re.compile(
    r"(?:page[-_]?)?(?:404|410|not[-_]?found|missing|notfound)(?:[-_]?(?:error|page))?|error[-_]?(?:404|page)?|errors"
    r"|(?:fehler|erreur|errore|erro)[-_]?404?|page[-_]?introuvable|pagina[-_]no[-_]encontrada|seite[-_]nicht[-_]gefunden"
)


def _names_of(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Addresses whose purpose is to redirect.
_REDIRECTING = _names_of(
    "login logout signin signout sign-in sign-out log-in log-out auth oauth oauth2 sso saml session sessions "
    "callback account accounts register signup sign-up join verify confirm activate reset cart checkout go out r l u "
    "redirect redir link links click track exit lang language locale set switch consent cookie cookies accept "
    "unsubscribe subscribe preview admin dashboard welcome"
)
_REDIRECTING_FIELDS = _names_of(
    "code state token ticket next return returnurl return_to redirect redirect_uri continue url goto lang hl locale"
)


def landing(requested: str, landed: str) -> RedirectLanding | None:
    """What kind of page a redirect from `requested` led to; None when it does not suggest a missing page."""
    try:
        was, now = parse(requested), parse(landed)
    except ValueError:
        return None
    if site(requested) != site(landed) or not _is_deep(was):
        return None
    before, after = _names(was.path), _names(now.path)
    if before == after or _only_redirects(was, before):
        return None
    if after and _ERROR.fullmatch(after[-1]) and not any(_ERROR.fullmatch(name) for name in before):
        return RedirectLanding.ERROR
    if _searches(now, after) and not _searches(was, before):
        return RedirectLanding.SEARCH
    if not after and not now.query:
        return RedirectLanding.ROOT
    return None


def _names(path: str) -> tuple[str, ...]:
    """The meaningful names in a path, without file extensions, start pages and languages."""
    names = [_FILE_END.sub("", name) for name in path.lower().split("/") if name]
    if names and _LANGUAGE.fullmatch(names[0]):
        names = names[1:]
    if names and names[-1] in _START:
        names = names[:-1]
    return tuple(names)


def _is_deep(requested: UrlParts) -> bool:
    """Whether the address is that of a single page: several names, a file, or a name of several words."""
    names = _names(requested.path)
    if not names:
        return False
    return (
        len(names) > 1
        or bool(_FILE_END.search(requested.path.lower()))
        or len(re.split(r"[-_ ]|%20", names[0])) > 2
    )


def _only_redirects(requested: UrlParts, names: tuple[str, ...]) -> bool:
    return not _REDIRECTING.isdisjoint(names) or not _REDIRECTING_FIELDS.isdisjoint(_fields(requested.query))


def _searches(parts: UrlParts, names: tuple[str, ...]) -> bool:
    return not _SEARCH.isdisjoint(names) or (
        not names and not _SEARCH_FIELDS.isdisjoint(_fields(parts.query))
    )


def _fields(query: str) -> set[str]:
    try:
        return {name.lower() for name in parse_qs(query[:2000], keep_blank_values=True, max_num_fields=50)}
    except ValueError:
        return set()


class RecentRedirects:
    """Which address a client requested before it was redirected: in memory, bounded, for a few seconds."""

    def __init__(
        self, *, limit: int = 2_000, remember_s: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._asked = BoundedDict[tuple[str, str], tuple[str, float]](limit)
        self._remember_s = remember_s
        self._clock = clock

    def note(self, client: str, requested: str, location: str) -> None:
        """Record a redirect of a client; of a chain of redirects the first address counts."""
        target = resolve(requested, location)
        first = self.pop_origin(client, requested) or requested
        # `/#/lessons/lava` is the requested page, by the address that an application has for it.
        if target is None or location.partition("#")[2]:
            return
        self._asked[client, target] = (first, self._clock())

    def has_origin(self, client: str, landed: str) -> bool:
        """Whether `pop_origin` may find something."""
        return bool(self._asked) and (client, resolve(landed, landed)) in self._asked

    def pop_origin(self, client: str, landed: str) -> str | None:
        """The address first requested, given once; None when the client was not redirected here a moment ago."""
        target = resolve(landed, landed)
        found = self._asked.pop((client, target), None) if target is not None else None
        return found[0] if found is not None and self._clock() - found[1] <= self._remember_s else None
