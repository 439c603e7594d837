"""Which requests are navigations of a user: only their responses may be rewritten (DESIGN, principle 1).

Current browsers say so themselves (Fetch Metadata, `Sec-Fetch-Dest`). For others the Accept header decides: it must
name HTML and prefer nothing else. `Accept: */*`, which curl, image loaders and updaters send, is no navigation: add
`-H 'Accept: text/html'` to try linkmend with curl. Programs that ask for JSON get JSON.

A site's script can send any Accept. So a request without Sec-Fetch-* may come from one (`may_be_script`).

A browser may also give the response to a navigation to a service worker of the site. Seen with Chromium 156 and
Firefox 153, where each worker read the body:

    fetch(event.request) in a worker      Sec-Fetch-Dest: empty (Sec-Fetch-Mode: navigate, in Firefox same-origin)
    any other fetch in a worker           Sec-Fetch-Dest: empty
    navigation preload                    Service-Worker-Navigation-Preload: any text of the site's, also none at all
    a race with the network (Chromium)    nothing at all (`proxy.privacy.serviceworkers`)

So a response is rewritten only if all fields that the browser itself adds are known to be harmless. A field that no
script can set and that is unknown here may mean another way for a script to read the response.
"""

from collections.abc import Iterable

from proxy.headers.fields import has_any
from proxy.messages import Headers, values

_DOCUMENTS = frozenset(("document", "iframe", "frame"))
_HARMLESS = ("sec-fetch-", "sec-ch-", "sec-gpc")
"""Fields that only browsers set and that do not mean that a script reads the response."""
_NO_DOCUMENT = frozenset(("range", "upgrade"))
_PURPOSES = frozenset(("sec-purpose", "purpose", "x-moz"))
_MEDIA = frozenset(("image", "audio", "video"))
_ENDINGS = {
    "video": frozenset(("mp4", "m4v", "webm", "ogv", "mov")),
    "audio": frozenset(("mp3", "m4a", "ogg", "oga", "opus", "wav", "flac")),
}
_HTML = frozenset(("text/html", "application/xhtml+xml"))


def is_navigation(method: str, headers: Headers) -> bool:
    """Whether the user opens a page; False for prefetches, resumed downloads and requests of scripts."""
    if not _may_be_document(method, headers):
        return False
    destination = _first(headers, "sec-fetch-dest")
    if destination:
        return destination in _DOCUMENTS and _first(headers, "sec-fetch-mode") in ("", "navigate")
    if has_fetch_metadata(headers):
        return False
    # Only without Sec-Fetch-Dest: Android's web views send X-Requested-With with every request.
    if values(headers, "x-requested-with"):
        return False
    html, _, best = _preferences(headers)
    return html > 0 and html >= best


def submits_form(method: str, headers: Headers) -> bool:
    """Whether the user sends a form, and waits for the page that answers it."""
    if method != "POST" or may_reach_service_worker(headers):
        return False
    if has_fetch_metadata(headers):
        return (
            _first(headers, "sec-fetch-dest") in _DOCUMENTS
            and _first(headers, "sec-fetch-mode") == "navigate"
        )
    html, _, best = _preferences(headers)
    return html > 0 and html >= best and not values(headers, "x-requested-with")


def wants_json(headers: Headers) -> bool:
    """Whether Accept names JSON and prefers it to HTML."""
    html, json, _ = _preferences(headers)
    return json > html


def asks_for_repair(method: str, headers: Headers) -> bool:
    """Whether the response may be rewritten: to a navigation, or to a program (no browser) that wants JSON.

    Never if a service worker may read it. Never for a browser's script that wants JSON: it expects its server's
    errors.
    """
    if may_reach_service_worker(headers):
        return False
    if is_navigation(method, headers):
        return True
    if not _may_be_document(method, headers) or _from_browser(headers):
        return False
    _, json, best = _preferences(headers)
    return wants_json(headers) and json >= best


def may_be_script(headers: Headers) -> bool:
    """Whether a script in a browser may have sent this; False for programs, and if Fetch Metadata is present.

    It looks for fields that browsers add to every request and that no script can remove (tried with Chromium; the
    Fetch standard forbids scripts Accept-Encoding, and they can change Accept-Language but not remove it). Programs
    send one of them at most by default. User-Agent proves nothing: in Firefox a script may set it.
    """
    if has_fetch_metadata(headers):
        return False
    codings = ",".join(values(headers, "accept-encoding")).lower()
    return "gzip" in codings and any(name.lower() == "accept-language" for name, _ in headers)


def has_fetch_metadata(headers: Headers) -> bool:
    """Whether the request has Fetch Metadata; programs and old browsers do not send it."""
    for name, _ in headers:  # noqa: SIM110  a generator would cost twice as much, with each request
        if name[:10].lower() == "sec-fetch-":
            return True
    return False


def may_reach_service_worker(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the browser may give the response to a service worker of the site, judged by its own fields.

    The presence of a field counts, since the site chooses its text.
    """
    return any(
        name[:1] in "sS"
        and (lower := name.lower()).startswith(("sec-", "service-worker"))
        and not lower.startswith(_HARMLESS)
        and lower != "sec-purpose"  # which `is_navigation` reads
        for name, _ in headers
    )


def expects_network_error(headers: Headers) -> bool:
    """Whether a browser fetches a script, a picture or the like, rather than a page to show.

    If the site is unreachable, such a request must fail: `fetch()` resolves for a response of any status, and an
    offline-capable app would not use its own cache. False for programs, which expect a proxy's error response.
    """
    has_metadata = has_fetch_metadata(headers)
    if not has_metadata and not may_be_script(headers):
        return False
    if any(name.lower() == "service-worker-navigation-preload" for name, _ in headers):
        return True
    if has_metadata:
        destination = _first(headers, "sec-fetch-dest")
        if not destination:
            return False  # browsers always name one; Node, a program, names its mode alone
        return destination not in _DOCUMENTS or _first(headers, "sec-fetch-mode") not in ("", "navigate")
    html, _, best = _preferences(headers)
    return html == 0 or html < best


def wanted_medium(url: str, headers: Headers) -> str:
    """`image`, `audio` or `video` when a browser fetches one to show it on a page; "" for everything else.

    On plain http, where browsers send no Fetch Metadata, the Accept header says so; Chromium's does not for sounds
    and videos, which it asks for in ranges.
    """
    if has_fetch_metadata(headers):
        destination = _first(headers, "sec-fetch-dest")
        return destination if destination in _MEDIA else ""
    first = _first(headers, "accept").partition("/")[0]
    if first in _MEDIA:
        return first
    if not has_any(headers, frozenset(("range",))):
        return ""
    ending = url.partition("?")[0].rpartition(".")[2].lower()
    return next((medium for medium, endings in _ENDINGS.items() if ending in endings), "")


def shows_service_worker(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a request shows that its site has, or is about to have, a service worker."""
    fields = {name.lower(): value.strip().lower() for name, value in headers if name[:1] in "sS"}
    destination = fields.get("sec-fetch-dest")
    return (
        "service-worker" in fields
        or "service-worker-navigation-preload" in fields
        or destination == "serviceworker"
        or (destination == "empty" and fields.get("sec-fetch-mode") == "navigate")
    )


def _may_be_document(method: str, headers: Headers) -> bool:
    if method not in ("GET", "HEAD"):
        return False
    if has_any(headers, _NO_DOCUMENT):
        return False
    if not has_any(headers, _PURPOSES):
        return True
    return not any("prefetch" in purpose.lower() for name in _PURPOSES for purpose in values(headers, name))


def _from_browser(headers: Headers) -> bool:
    marks = ("x-requested-with", "origin", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-dest")
    return any(values(headers, mark) for mark in marks) or _first(headers, "user-agent").startswith(
        "mozilla/"
    )


def _preferences(headers: Headers) -> tuple[float, float, float]:
    """The weights in Accept of HTML, of JSON, and of the best other type; wildcards do not count."""
    html = json = best = 0.0
    for line in values(headers, "accept"):
        for item in line[:4000].lower().split(","):
            kind, *parameters = (part.strip() for part in item.split(";"))
            weight = _weight(parameters)
            if kind in _HTML:
                html = max(html, weight)
            elif kind == "application/json":
                json = max(json, weight)
            elif not kind.endswith("/*"):
                best = max(best, weight)
    return html, json, best


def _weight(parameters: list[str]) -> float:
    """The q of RFC 9110 section 12.4.2; 1 when absent, 0 when invalid."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return 0.0
            return weight if 0.0 <= weight <= 1.0 else 0.0
    return 1.0


def _first(headers: Headers, name: str) -> str:
    found = values(headers, name)
    return found[0].strip().lower() if found else ""
