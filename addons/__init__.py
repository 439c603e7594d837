"""Our mitmproxy addons, in the one order in which mitmproxy calls them.

`ORDER` is that order, with what each addon does and why it stands where it stands. `proxy/app/worker.py` builds the
addons and has `default_addons` sort them; the table in docs/developers.md is made of it (`python -m addons`).

mitmproxy calls every hook in the same order. That is harmless for hooks that only look: a response that one addon
sets does not keep later addons from being called.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from proxy.errors import StartError


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonPlace:
    """The place of one addon in the order."""

    module: str
    """Its module in this package."""
    name: str
    """Its class."""
    does: str
    why_there: str


def _place(where: str, does: str, why_there: str) -> AddonPlace:
    module, _, name = where.partition(":")
    return AddonPlace(module=module, name=name, does=does, why_there=why_there)


ORDER = (
    _place(
        "access:AccessControl",
        "refuses clients outside `proxy.clients`, and too many connections",
        "before a byte is read",
    ),
    _place(
        "slowclients:SlowClients",
        "closes connections of clients that take too long over a request, an upload or a pause",
        "knows a client before its bytes may be passed on unread",
    ),
    _place(
        "bypass:Bypass",
        "passes tunnels on unread, by a rule or the pass-through list",
        "before TLS is looked at",
    ),
    _place(
        "tunnels:Tunnels",
        "keeps nothing of tunnels and web sockets, and blocks those that a rule blocks",
        "rules for a host hold here too",
    ),
    _place(
        "identity:Identify",
        "works out which site a request is for (`proxy/reach/identity.py`) and writes its Host",
        "before every addon that asks what a request is for",
    ),
    _place(
        "nextproxy:LoopCheck",
        "answers 508 to a request that has come back to us",
        "before anything is stored or sent on",
    ),
    _place(
        "connections:PersonalConnections",
        "notes connections that authenticate one user, and drops hop-by-hop fields",
        "before every addon that stores, harvests or answers",
    ),
    _place(
        "portalredirect:PortalRedirectMark",
        "takes the portal's mark out of the address of a user who comes back from it",
        "the rules see the address as it is",
    ),
    _place(
        "rules:Rules",
        "gives each request the verdict of the rules; blocks and redirects",
        "before an upload is on its way",
    ),
    _place(
        "portalredirect:PortalReturn",
        "answers users who come back from the portal, without asking the site again",
        "a rule may block them",
    ),
    _place("uploads:Uploads", "streams large uploads", "they are never held in memory"),
    _place(
        "admin:AdminGateway",
        "forwards `http://linkmend.internal/admin` to the admin UI",
        "before the portal takes its paths",
    ),
    _place(
        "portal:Portal",
        "answers `/.well-known/linkmend/...` and `http://linkmend.internal/`",
        "no other addon takes such a request for a site's",
    ),
    _place(
        "ssrfguard:SsrfGuard",
        "refuses addresses that nobody may reach through us",
        "before the cache: this holds for stored pages too",
    ),
    _place("cache:Cache", "answers from the store, stores what comes", "nothing below needs to see a hit"),
    _place(
        "upstream:Upstream",
        "points the request at the parent, and reads Squid's marks",
        "only what the cache did not answer goes out; it marks failures in `responseheaders`, before the cache"
        " looks for a stale copy in `response`",
    ),
    _place(
        "nextproxy:NextProxy",
        "tells the next proxy our loop mark, and what it must not store",
        "after Upstream, which decides what goes there",
    ),
    _place(
        "deadlines:Deadlines",
        "gives up on origins that take too long",
        "the clock runs for what is really sent",
    ),
    _place(
        "failures:Failures",
        "makes an answer of an origin's failure; requests of a page's script get a network error instead",
        "its `error` hook comes after the cache's, which may have a stale copy",
    ),
    _place(
        "rules:RulesForStored",
        "applies rules about the content type to what the cache answered",
        "its `response` hook comes after the cache's",
    ),
    _place("soft404:Soft404", "detects error pages with status 200", "before they are kept or shown"),
    _place("fastpath:FastPath", "answers plain hits below the HTTP layers", "notes what Soft404 found"),
    _place(
        "harvest:Harvest", "offers the page to the collection", "sees the site's page, before it is rewritten"
    ),
    _place("repair:Repair", "replaces a miss by a repair page", "all addons above have seen the original"),
    _place(
        "deadmedia:DeadMedia",
        "notes pictures, sounds and videos that are gone, and the page that shows them",
        "changes nothing; knows which page the user has open",
    ),
    _place(
        "autoredirect:AutoRedirectNote",
        "puts a note on the page to which a rule redirected a user",
        "after the page was stored and harvested",
    ),
    _place("metrics:RequestMetrics", "counts what became of the request", "changes nothing"),
    _place(
        "inflight:InFlight", "counts requests in flight", "last: a shutdown waits until all others are done"
    ),
)


def default_addons(built: Iterable[object]) -> list[Any]:
    """The addons in order. Raises StartError when one has no place, or a place has no addon."""
    by_name = {type(addon).__name__: addon for addon in built}
    places = [place.name for place in ORDER]
    if by_name.keys() != set(places):
        raise StartError(f"addons and their order differ: {sorted(by_name.keys() ^ set(places))}")
    return [by_name[name] for name in places]
