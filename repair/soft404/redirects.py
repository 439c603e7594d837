"""Redirects as evidence: a deep link sent to the start page, to a search, or to a fixed error address (pure).

Sites that do not want to say "not found" send readers somewhere that is there. Moves between http and https, with and
without www, of a trailing slash or a language are none of that, nor is what logins and links that count clicks do.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from urllib.parse import parse_qs

from repair.urls import Parts, parse, resolve, site


class Landing(StrEnum):
    """Where a deep link ended instead."""

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


# Addresses whose whole purpose is to send the reader on.
_PASSING = _names_of(
    "login logout signin signout sign-in sign-out log-in log-out auth oauth oauth2 sso saml session sessions "
    "callback account accounts register signup sign-up join verify confirm activate reset cart checkout go out r l u "
    "redirect redir link links click track exit lang language locale set switch consent cookie cookies accept "
    "unsubscribe subscribe preview admin dashboard welcome"
)
_PASSING_FIELDS = _names_of(
    "code state token ticket next return returnurl return_to redirect redirect_uri continue url goto lang hl locale"
)


def landing(asked: str, landed: str) -> Landing | None:
    """What the redirect from `asked` to `landed` says of the page asked for; None when it says nothing."""
    try:
        was, now = parse(asked), parse(landed)
    except ValueError:
        return None
    if site(asked) != site(landed) or not _is_deep(was):
        return None
    before, after = _names(was.path), _names(now.path)
    if before == after or _passes_on(was, before):
        return None
    if after and _ERROR.fullmatch(after[-1]) and not any(_ERROR.fullmatch(name) for name in before):
        return Landing.ERROR
    if _searches(now, after) and not _searches(was, before):
        return Landing.SEARCH
    if not after and not now.query:
        return Landing.ROOT
    return None


def _names(path: str) -> tuple[str, ...]:
    """The names in a path that say something: no file ends, start pages or languages."""
    names = [_FILE_END.sub("", name) for name in path.lower().split("/") if name]
    if names and _LANGUAGE.fullmatch(names[0]):
        names = names[1:]
    if names and names[-1] in _START:
        names = names[:-1]
    return tuple(names)


def _is_deep(asked: Parts) -> bool:
    """Whether the address is one of a page: several names, a file, or a name of several words."""
    names = _names(asked.path)
    if not names:
        return False
    return (
        len(names) > 1
        or bool(_FILE_END.search(asked.path.lower()))
        or len(re.split(r"[-_ ]|%20", names[0])) > 2
    )


def _passes_on(asked: Parts, names: tuple[str, ...]) -> bool:
    return not _PASSING.isdisjoint(names) or not _PASSING_FIELDS.isdisjoint(_fields(asked.query))


def _searches(parts: Parts, names: tuple[str, ...]) -> bool:
    return not _SEARCH.isdisjoint(names) or (
        not names and not _SEARCH_FIELDS.isdisjoint(_fields(parts.query))
    )


def _fields(query: str) -> set[str]:
    try:
        return {name.lower() for name in parse_qs(query[:2000], keep_blank_values=True, max_num_fields=50)}
    except ValueError:
        return set()


class RecentRedirects:
    """Which address a client asked for before it was sent to another: in memory, bounded, for a few seconds."""

    def __init__(
        self, *, limit: int = 2_000, remember_s: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._asked: OrderedDict[tuple[str, str], tuple[str, float]] = OrderedDict()
        self._limit = limit
        self._remember_s = remember_s
        self._clock = clock

    def note(self, client: str, asked: str, location: str) -> None:
        """The client asked and was redirected; of a chain of redirects the first address counts."""
        target = resolve(asked, location)
        first = self.taken(client, asked) or asked
        # `/#/lessons/lava`: the page asked for, by the address that an application has for it.
        if target is None or location.partition("#")[2]:
            return
        self._asked[client, target] = (first, self._clock())
        while len(self._asked) > self._limit:
            self._asked.popitem(last=False)

    def awaits(self, client: str, landed: str) -> bool:
        """Whether `taken` might have something to tell."""
        return bool(self._asked) and (client, resolve(landed, landed)) in self._asked

    def taken(self, client: str, landed: str) -> str | None:
        """The address first asked for, once; None when the client was not sent here a moment ago."""
        target = resolve(landed, landed)
        found = self._asked.pop((client, target), None) if target is not None else None
        return found[0] if found is not None and self._clock() - found[1] <= self._remember_s else None
