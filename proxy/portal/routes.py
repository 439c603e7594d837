"""Which of our own addresses a request is for, and whether we may answer it there (pure).

There are two families: `/.well-known/linkmend/...` on any host, so that an https page needs no mixed content, and
the portal http://linkmend.internal/. Search and copies show the collection, the start page and the privacy page
describe the school; a script of the visited site must read neither:

- Where the browser says how a request came about (Sec-Fetch-*; https and localhost only), we answer only a person's
  navigation of a whole window, never fetch(), XHR or a frame.
- On plain http it says nothing, and a script can imitate all other headers. On https a service worker of the site
  may read the response to a navigation. So we redirect the user to the portal: another origin, whose pages the
  browser lets neither read, and where sites have no service workers.

The archived versions of a missing page, and pages that came too late for its repair page, are for the user who
missed it, who knows the id of the miss. The script of the repair page requests them from inside the sandbox, that is
with `Origin: null`, which no page of a site sends.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

from proxy.headers.navigation import may_reach_service_worker
from proxy.portal.addresses import (
    MAX_DETOUR,
    PAC_PATHS,
    PORTAL,
    PORTAL_HOST,
    PREFIX,
    PRIVACY_PATH,
    BrowseList,
    browse_path,
    copy_path,
    late_offers_path,
    mementos_path,
    search_path,
    topic_path,
)
from proxy.portal.devices import CertificateForm
from proxy.portal.routemodel import (
    ArchivedRoute,
    BackRoute,
    BrowseRoute,
    CertificateRoute,
    ChoiceRoute,
    CopyRoute,
    DeviceCall,
    HelperCall,
    LateOffersRoute,
    MementosRoute,
    PacRoute,
    PortalRoute,
    PrivacyRoute,
    RefusedRoute,
    SearchRoute,
    ShowAnywayRoute,
    StaticRoute,
    SuggestRoute,
    TopicRoute,
    ToPortalRoute,
    TrustedRoute,
)
from proxy.portal.timeparameters import view_of
from repair.collection.listing import KINDS

_READ = ("GET", "HEAD")
_MAX_QUERY = 200
_MAX_NAME = 200
MAX_PAGE = 50
_MAX_URL = 4_000
_MAX_CHOICE = 99
_MAX_SUGGESTION = 8_000
_LOCAL_WPAD = re.compile(r"wpad\.(?:.+\.)?(?:lan|local|internal|intranet|private|corp|home|test|home\.arpa)")
_ARCHIVE_PATH = re.compile(r"/(?:timemap|timegate|memento)/")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_HOST = re.compile(r"[^\s/?#@\\]{1,255}")
_MISS_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
_STATIC_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
_Headers = Iterable[tuple[str, str]]
_Guarded = (
    SearchRoute
    | TopicRoute
    | BrowseRoute
    | CopyRoute
    | MementosRoute
    | LateOffersRoute
    | PortalRoute
    | PrivacyRoute
)
"""Pages about the collection or the school, which scripts of sites must not read."""
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    method: str
    scheme: str
    headers: _Headers
    at_portal: bool
    portal_reachable: bool


def route(
    method: str,
    url: str,
    headers: _Headers,
    *,
    portal_reachable: bool = True,
    own: str = "",
    public: str = "",
) -> HelperCall | DeviceCall | ArchivedRoute | None:
    """What a request wants from linkmend itself; None when it is not for us.

    `portal_reachable` is False where browsers do not know the proxy (transparent and reverse mode), so that
    http://linkmend.internal/ leads nowhere. Then plain http is answered in place: the lesser evil, and documented.
    `own` is the address and port at which the client reached us, for programs that read our archive without the
    proxy; `public` (`proxy.public`) is the address that the admin gave us.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    at_portal = host == PORTAL_HOST
    if (at_portal or (own and parts.netloc == own)) and _ARCHIVE_PATH.match(parts.path):
        return _archive_call(method, url, list(headers), base=PORTAL if at_portal else f"http://{own}")
    is_pac = portal_reachable and parts.path in PAC_PATHS
    if is_pac and (at_portal or _is_pac_host(parts.netloc, host, own, public)):
        return PacRoute() if method in _READ else RefusedRoute(status=405)
    if not at_portal and not parts.path.startswith(PREFIX):
        return None
    name = parts.path.removeprefix(PREFIX if parts.path.startswith(PREFIX) else "/")
    request = _Request(
        method=method,
        scheme=parts.scheme,
        headers=headers,
        at_portal=at_portal,
        portal_reachable=portal_reachable,
    )
    return _find_route(name).answer(parts.query, request)


def _is_pac_host(netloc: str, host: str, own: str, public: str) -> bool:
    """At our own address; or at `wpad`, the name that devices use to find a proxy. Not where it could be a site on
    the internet: its scripts would learn the address of the school's proxy."""
    return netloc in {own, public} - {""} or host == "wpad" or bool(_LOCAL_WPAD.fullmatch(host))


def _archive_call(
    method: str, url: str, headers: list[tuple[str, str]], *, base: str
) -> ArchivedRoute | RefusedRoute:
    """For programs, browser extensions and people; never for a page of a site, which would learn what users read."""
    values = {name.lower(): value.strip().lower() for name, value in headers}
    by_a_page = values.get("origin", "").startswith(("http", "null")) or (
        navigation(headers) is False and values.get("sec-fetch-site") != "none"
    )
    if method not in _READ:
        return RefusedRoute(status=405)
    return (
        RefusedRoute(status=403) if by_a_page else ArchivedRoute(target="/" + url.split("/", 3)[3], base=base)
    )


# Whether a call may be answered where it was sent.


def navigation(headers: _Headers) -> bool | None:
    """Whether a person navigates a whole window there; None when the browser does not say (Fetch Metadata)."""
    metadata = {
        name.lower(): value.strip().lower()
        for name, value in headers
        if name.lower().startswith("sec-fetch-")
    }
    if not metadata:
        return None
    return metadata.get("sec-fetch-mode") == "navigate" and metadata.get("sec-fetch-dest") == "document"


def _admit_person(call: _Guarded, request: _Request) -> HelperCall | DeviceCall:
    navigates = navigation(request.headers)
    handed_on = may_reach_service_worker(request.headers)
    if navigates is False:
        return RefusedRoute(status=403)
    to_portal = navigates is None or handed_on or request.scheme == "https"
    if to_portal and request.portal_reachable and not request.at_portal:
        return ToPortalRoute(url=f"{request.scheme}://{PORTAL_HOST}{_path(call)}")
    # Where there is no portal, a refusal is better than a page that a service worker can read.
    return RefusedRoute(status=403) if handed_on else call


def _admit_reader(call: MementosRoute | LateOffersRoute, request: _Request) -> HelperCall | DeviceCall:
    if not call.part:
        return _admit_person(call, request)
    origins = [value.strip() for name, value in request.headers if name.lower() == "origin"]
    return call if origins == ["null"] else RefusedRoute(status=403)


def _admit_anyway(
    call: ShowAnywayRoute | SuggestRoute, request: _Request
) -> ShowAnywayRoute | SuggestRoute | RefusedRoute:
    return RefusedRoute(status=403) if navigation(request.headers) is False else call


def _admit_trusted(call: TrustedRoute, request: _Request) -> TrustedRoute | ToPortalRoute:
    if request.scheme == "https":
        return call
    return ToPortalRoute(url=f"https://{PORTAL_HOST}{PREFIX}trusted")  # only https proves anything


def _admit_back(call: BackRoute, request: _Request) -> BackRoute | RefusedRoute:
    return call if request.at_portal else RefusedRoute(status=404)


def _admit(call: Any, _: _Request) -> HelperCall | DeviceCall:
    return call  # type: ignore[no-any-return]


# What the query of a call means.


def _fields(query: str) -> dict[str, str]:
    """The first value of each field. Raises ValueError for more fields than any page of ours sends."""
    return {name: values[0] for name, values in parse_qs(query, max_num_fields=20).items()}


def _unknown(query: str) -> RefusedRoute:
    _fields(query)
    return RefusedRoute(status=404)


def _search(query: str) -> SearchRoute:
    fields = _fields(query)
    language, kind = fields.get("lang", ""), fields.get("type", "")
    return SearchRoute(
        query=fields.get("q", "")[:_MAX_QUERY],
        topic=fields.get("topic", "")[:_MAX_NAME],
        language=language if _LANGUAGE.fullmatch(language) else "",
        kind=kind if kind in KINDS else "",
        page=_page(fields),
    )


def _topic(query: str) -> TopicRoute | RefusedRoute:
    # An empty sub-topic stands for the topic itself, so blank values count here.
    fields = {name: each[0] for name, each in parse_qs(query, True, max_num_fields=20).items()}
    name, subtopic = fields.get("name", ""), fields.get("sub")
    if not 0 < len(name) <= _MAX_NAME or len(subtopic or "") > _MAX_NAME:
        return RefusedRoute(status=400)
    return TopicRoute(topic=name, subtopic=subtopic, page=_page(fields))


def _browse(query: str) -> BrowseRoute | RefusedRoute:
    fields = _fields(query)
    try:
        chosen = BrowseList(fields.get("list", ""))
    except ValueError:
        return RefusedRoute(status=404)
    of = fields.get("of", "")
    if chosen is BrowseList.LANGUAGE and not _LANGUAGE.fullmatch(of):
        return RefusedRoute(status=404)
    if chosen is BrowseList.SITE and not _HOST.fullmatch(of):
        return RefusedRoute(status=404)
    return BrowseRoute(list=chosen, of=of, page=_page(fields))


def _page(fields: Mapping[str, str]) -> int:
    """The number of a page; the first for what is none."""
    text = fields.get("page", "")
    return min(max(int(text), 1), MAX_PAGE) if re.fullmatch(r"[0-9]{1,4}", text) else 1


def _copy(query: str) -> CopyRoute | RefusedRoute:
    url = _fields(query).get("url", "")
    return CopyRoute(url=url) if 0 < len(url) <= _MAX_URL else RefusedRoute(status=400)


def _back(query: str) -> BackRoute | RefusedRoute:
    url = _fields(query).get("to", "")
    return BackRoute(url=url) if 0 < len(url) <= MAX_DETOUR else RefusedRoute(status=400)


def _anyway(query: str) -> ShowAnywayRoute | RefusedRoute:
    miss_id = _fields(query).get("miss", "")
    return ShowAnywayRoute(miss_id=miss_id) if _MISS_ID.fullmatch(miss_id) else RefusedRoute(status=400)


def _chose(query: str) -> ChoiceRoute | RefusedRoute:
    fields = _fields(query)
    miss_id, number = fields.get("miss", ""), fields.get("n", "")
    if not _MISS_ID.fullmatch(miss_id) or not re.fullmatch(r"[0-9]{1,2}", number):
        return RefusedRoute(status=400)
    return ChoiceRoute(miss_id=miss_id, number=min(int(number), _MAX_CHOICE))


def suggestion_of(body: bytes) -> tuple[str, str] | None:
    """The id of the miss and the words of a form; None for what no page of ours sends."""
    if len(body) > _MAX_SUGGESTION:
        return None
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=5)
    except (ValueError, UnicodeDecodeError):
        return None
    miss_id, words = fields.get("miss", [""])[0], fields.get("words", [""])[0]
    return (miss_id, words) if _MISS_ID.fullmatch(miss_id) and words.strip() else None


def _mementos(query: str) -> MementosRoute | RefusedRoute:
    fields = _fields(query)
    miss_id, seen = fields.get("miss", ""), fields.get("seen", "0")
    if not _MISS_ID.fullmatch(miss_id) or not re.fullmatch(r"[0-9]{1,4}", seen):
        return RefusedRoute(status=400)
    return MementosRoute(
        miss_id=miss_id, view=view_of(fields), part=fields.get("part") == "1", seen=int(seen)
    )


def _late_offers(query: str) -> LateOffersRoute | RefusedRoute:
    fields = _fields(query)
    miss_id = fields.get("miss", "")
    if not _MISS_ID.fullmatch(miss_id):
        return RefusedRoute(status=400)
    return LateOffersRoute(miss_id=miss_id, part=fields.get("part") == "1")


@dataclass(frozen=True, slots=True)
class _Route(Generic[C]):
    parse: Callable[[str], C | RefusedRoute]
    admit: Callable[[C, _Request], HelperCall | DeviceCall] = _admit
    methods: tuple[str, ...] = _READ

    def answer(self, query: str, request: _Request) -> HelperCall | DeviceCall:
        try:
            call = self.parse(query)
        except ValueError:
            return RefusedRoute(status=400)
        if isinstance(call, RefusedRoute):
            return call
        return self.admit(call, request) if request.method in self.methods else RefusedRoute(status=405)


def _always(call: C, admit: Callable[[C, _Request], HelperCall | DeviceCall] = _admit) -> _Route[C]:
    """A route without fields; its query is not looked at."""
    return _Route(lambda _: call, admit)


_ROUTES: dict[str, _Route[Any]] = {
    "": _always(PortalRoute(), _admit_person),
    "privacy": _always(PrivacyRoute(), _admit_person),
    "trusted": _always(TrustedRoute(picture=False), _admit_trusted),
    "trusted.svg": _always(TrustedRoute(picture=True), _admit_trusted),
    **{form.value: _always(CertificateRoute(form=form)) for form in CertificateForm},
    "search": _Route(_search, _admit_person),
    "topic": _Route(_topic, _admit_person),
    "browse": _Route(_browse, _admit_person),
    "copy": _Route(_copy, _admit_person),
    "chose": _Route(_chose, methods=("POST",)),
    "suggest": _Route(lambda _: SuggestRoute(), _admit_anyway, methods=("POST",)),
    "anyway": _Route(_anyway, _admit_anyway),
    "detour": _Route(_back, _admit_back),
    "mementos": _Route(_mementos, _admit_reader),
    "late": _Route(_late_offers, _admit_reader),
}
_UNKNOWN: _Route[Any] = _Route(_unknown)


def _find_route(name: str) -> _Route[Any]:
    static = name.removeprefix("static/")
    if static != name and _STATIC_NAME.fullmatch(static):
        return _always(StaticRoute(name=static))
    return _ROUTES.get(name, _UNKNOWN)


def _path(call: _Guarded) -> str:
    match call:
        case PortalRoute():
            return "/"
        case PrivacyRoute():
            return PRIVACY_PATH
        case SearchRoute():
            filters = {"topic": call.topic, "lang": call.language, "type": call.kind}
            return search_path(call.query, filters, page=call.page)
        case TopicRoute():
            return topic_path(call.topic, call.subtopic, page=call.page)
        case BrowseRoute():
            return browse_path(call.list, call.of, page=call.page)
        case CopyRoute(url=url):
            return copy_path(url)
        case MementosRoute(miss_id=miss_id, view=view):
            return mementos_path(miss_id, view)
        case LateOffersRoute(miss_id=miss_id):
            return late_offers_path(miss_id)
