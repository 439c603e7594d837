"""Which of our own addresses a request is for, and whether it may be answered there (pure).

Two families: `/.well-known/linkmend/...` on any host, so that an https page needs no mixed content, and the portal
http://linkmend.internal/. Search and copies show the collection, the start page and the privacy page tell of the
school; a script of the visited site must read neither:

- Where the browser says how a request came about (Sec-Fetch-*; https and localhost only), only a person's
  navigation of a whole window is answered, never fetch(), XHR or a frame.
- On plain http it says nothing, and a script can imitate every header that is left. On https a service worker of the
  site may read the answer to a navigation. So the user is sent on to the portal: another origin, whose pages the
  browser lets neither read, and where sites have no workers.

What archives have of a missing page is for the reader it was missing to, who knows the id of the miss. The script of
the repair page asks for it from inside the sandbox, that is with `Origin: null`, which no page of a site sends.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from proxy.pages.timeview import TimeView, parameters, view_of
from proxy.portal.devices import CertificateForm
from proxy.readers.navigation import may_be_handed_on

PORTAL_HOST = "linkmend.internal"
PORTAL = f"http://{PORTAL_HOST}"
PREFIX = "/.well-known/linkmend/"
SEARCH_PATH = PREFIX + "search"
COPY_PATH = PREFIX + "copy"
CHOSE_PATH = PREFIX + "chose"
ANYWAY_PATH = PREFIX + "anyway"
MEMENTOS_PATH = PREFIX + "mementos"
PRIVACY_PATH = PREFIX + "privacy"
DETOUR_PATH = PREFIX + "detour"
PAC_PATHS = ("/proxy.pac", "/wpad.dat")

_MAX_QUERY = 200
_MAX_URL = 4_000
_MAX_CHOICE = 99
MAX_DETOUR = 10_000
_LOCAL_WPAD = re.compile(r"wpad\.(?:.+\.)?(?:lan|local|internal|intranet|private|corp|home|test|home\.arpa)")
_ARCHIVE_PATH = re.compile(r"/(?:timemap|timegate|memento)/")
_MISS_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
_STATIC_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    """The start page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The certificate authority, in the form that a device wants."""

    form: CertificateForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """Whoever gets this over https trusts the certificate: a page, or a `picture` for the test of the start page."""

    picture: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """What the proxy sees and keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pac:
    """The file that tells browsers of the proxy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search over the held pages; the query may be empty."""

    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """The held copy of a page."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chose:
    """A reader opened what was offered for a miss: 0 the copy, n the nth alternative."""

    miss_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Anyway:
    """A reader wants to see the page that was taken for missing. The id is the reader's proof: only the repair page
    that was shown to them has it."""

    miss_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mementos:
    """A reader wants to know what archives have of the page that was missing.

    With `part`, the script of our page asks for the part of it that is about archives, once there is something newer
    than version `seen`.
    """

    miss_id: str
    view: TimeView
    part: bool = False
    seen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What we are asked as a web archive (`proxy.archives`): path and query as sent; `base` is where we are asked."""

    target: str
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Static:
    """A file of proxy/pages/static."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPortal:
    """The same page at the portal, to be sent as a 303."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """Half way round (`proxy.readers.detour`): to be sent back to `url`, if we sent the reader here."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Ours, but not like this: 400 malformed, 403 not a person's navigation, 404 no such page, 405 wrong method."""

    status: int


DeviceCall = Portal | Pac
"""What depends on where the visitor reached us, or with what."""
HelperCall = (
    Certificate
    | Trusted
    | Privacy
    | Search
    | Copy
    | Chose
    | Anyway
    | Mementos
    | Static
    | ToPortal
    | Back
    | Refused
)


_Guarded = Search | Copy | Mementos | Portal | Privacy
"""What tells of the collection or of the school, and is not for the scripts of sites."""
_PLAIN: dict[str, HelperCall | DeviceCall] = {
    "": Portal(),
    "privacy": Privacy(),
    "trusted": Trusted(picture=False),
    "trusted.svg": Trusted(picture=True),
    **{form.value: Certificate(form=form) for form in CertificateForm},
}


def route(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str]],
    *,
    portal_reachable: bool = True,
    own: str = "",
    public: str = "",
) -> HelperCall | DeviceCall | Archived | None:
    """What a request asks of linkmend itself; None when it is not for us.

    `portal_reachable` is False where browsers do not know the proxy (transparent and reverse mode), so that
    http://linkmend.internal/ leads nowhere. Then plain http is answered in place: the lesser evil, and documented.
    `own` is the address and port that the client reached us at, for programs that read our archive past the proxy;
    `public` (`proxy.public`) is what the admin calls us.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    at_portal = host == PORTAL_HOST
    if (at_portal or (own and parts.netloc == own)) and _ARCHIVE_PATH.match(parts.path):
        return _archived(method, url, list(headers), base=PORTAL if at_portal else f"http://{own}")
    if (
        portal_reachable
        and parts.path in PAC_PATHS
        and (at_portal or _asks_for_pac(parts.netloc, host, own, public))
    ):
        return Pac() if method in ("GET", "HEAD") else Refused(status=405)
    if not at_portal and not parts.path.startswith(PREFIX):
        return None
    name = parts.path.removeprefix(PREFIX if parts.path.startswith(PREFIX) else "/")
    wanted = _call(name, parts.query)
    if isinstance(wanted, Refused):
        return wanted
    if method not in (("POST",) if isinstance(wanted, Chose) else ("GET", "HEAD")):
        return Refused(status=405)
    if isinstance(wanted, Back) and not at_portal:
        return Refused(status=404)
    if isinstance(wanted, Trusted) and parts.scheme != "https":
        return ToPortal(url=f"https://{PORTAL_HOST}{PREFIX}trusted")  # only https proves anything
    if isinstance(wanted, Anyway) and navigation(headers) is False:
        return Refused(status=403)
    if isinstance(wanted, Mementos) and wanted.part:
        return wanted if _from_the_sandbox(headers) else Refused(status=403)
    if isinstance(wanted, Search | Copy | Mementos | Portal | Privacy):
        return _guarded(wanted, headers, scheme=parts.scheme, in_the_open=at_portal or not portal_reachable)
    return wanted


def _asks_for_pac(netloc: str, host: str, own: str, public: str) -> bool:
    """At our own address; or at `wpad`, the name that devices ask when they look for a proxy. Not where it could
    be a site on the internet: its scripts would learn the address of the school's proxy."""
    return netloc in {own, public} - {""} or host == "wpad" or bool(_LOCAL_WPAD.fullmatch(host))


def _call(name: str, query: str) -> HelperCall | DeviceCall:
    if name in _PLAIN:
        return _PLAIN[name]
    if name.startswith("static/") and _STATIC_NAME.fullmatch(name.removeprefix("static/")):
        return Static(name=name.removeprefix("static/"))
    try:
        fields = parse_qs(query, max_num_fields=20)
    except ValueError:
        return Refused(status=400)
    if name == "search":
        return Search(query=_first(fields, "q")[:_MAX_QUERY])
    if name == "copy":
        wanted = _first(fields, "url")
        return Copy(url=wanted) if 0 < len(wanted) <= _MAX_URL else Refused(status=400)
    if name == "chose":
        return _chose(_first(fields, "miss"), _first(fields, "n"))
    if name == "anyway":
        miss_id = _first(fields, "miss")
        return Anyway(miss_id=miss_id) if _MISS_ID.fullmatch(miss_id) else Refused(status=400)
    if name == "detour":
        back = _first(fields, "to")
        return Back(url=back) if 0 < len(back) <= MAX_DETOUR else Refused(status=400)
    if name == "mementos":
        return _mementos({key: values[0] for key, values in fields.items()})
    return Refused(status=404)


def _chose(miss_id: str, number: str) -> Chose | Refused:
    if not _MISS_ID.fullmatch(miss_id) or not re.fullmatch(r"[0-9]{1,2}", number):
        return Refused(status=400)
    return Chose(miss_id=miss_id, number=min(int(number), _MAX_CHOICE))


def _mementos(fields: dict[str, str]) -> Mementos | Refused:
    miss_id, seen = fields.get("miss", ""), fields.get("seen", "0")
    if not _MISS_ID.fullmatch(miss_id) or not re.fullmatch(r"[0-9]{1,4}", seen):
        return Refused(status=400)
    return Mementos(miss_id=miss_id, view=view_of(fields), part=fields.get("part") == "1", seen=int(seen))


def _from_the_sandbox(headers: Iterable[tuple[str, str]]) -> bool:
    return [value.strip() for name, value in headers if name.lower() == "origin"] == ["null"]


def _archived(method: str, url: str, headers: list[tuple[str, str]], *, base: str) -> Archived | Refused:
    """For programs, extensions of browsers and people; never for a page of a site, which would learn what is read."""
    told = {name.lower(): value.strip().lower() for name, value in headers}
    by_a_page = told.get("origin", "").startswith(("http", "null")) or (
        navigation(headers) is False and told.get("sec-fetch-site") != "none"
    )
    if method not in ("GET", "HEAD"):
        return Refused(status=405)
    return Refused(status=403) if by_a_page else Archived(target="/" + url.split("/", 3)[3], base=base)


def _guarded(
    wanted: _Guarded, headers: Iterable[tuple[str, str]], *, scheme: str, in_the_open: bool
) -> HelperCall | DeviceCall:
    told = navigation(headers)
    handed_on = may_be_handed_on(headers)
    if told is False:
        return Refused(status=403)
    if not in_the_open and (told is None or handed_on or scheme == "https"):
        return ToPortal(url=f"{scheme}://{PORTAL_HOST}{_path(wanted)}")
    # Where there is no portal to go to, nothing is better than what a worker reads.
    return Refused(status=403) if handed_on else wanted


def _path(wanted: _Guarded) -> str:
    match wanted:
        case Portal():
            return "/"
        case Privacy():
            return PRIVACY_PATH
        case Search(query=query):
            return search_path(query)
        case Copy(url=url):
            return copy_path(url)
        case Mementos(miss_id=miss_id, view=view):
            return mementos_path(miss_id, view)


def navigation(headers: Iterable[tuple[str, str]]) -> bool | None:
    """Whether a person navigates a whole window there; None when the browser does not say (Fetch Metadata)."""
    told = {
        name.lower(): value.strip().lower()
        for name, value in headers
        if name.lower().startswith("sec-fetch-")
    }
    if not told:
        return None
    return told.get("sec-fetch-mode") == "navigate" and told.get("sec-fetch-dest") == "document"


def search_path(query: str) -> str:
    return f"{SEARCH_PATH}?{urlencode({'q': query}, errors='replace')}"


def copy_path(url: str) -> str:
    return f"{COPY_PATH}?{urlencode({'url': url}, errors='replace')}"


def anyway_path(miss_id: str) -> str:
    return f"{ANYWAY_PATH}?{urlencode({'miss': miss_id})}"


def mementos_path(miss_id: str, view: TimeView, **changes: object) -> str:
    return f"{MEMENTOS_PATH}?{urlencode({'miss': miss_id, **parameters(view, **changes)})}"


def mementos_part_path(miss_id: str, view: TimeView, seen: int) -> str:
    """Where the script asks for what is newer than a version."""
    return f"{mementos_path(miss_id, view)}&{urlencode({'part': 1, 'seen': seen})}"


def chose_path(miss_id: str, number: int) -> str:
    return f"{CHOSE_PATH}?{urlencode({'miss': miss_id, 'n': number})}"


def _first(fields: dict[str, list[str]], name: str) -> str:
    return fields.get(name, [""])[0]
