"""Which requests are a person opening a page: only their answers may ever be rewritten (DESIGN, principle 1).

Browsers of today say so themselves (Fetch Metadata, `Sec-Fetch-Dest`). For others the Accept header decides: it must
name HTML and rate nothing above it. `Accept: */*`, which curl, image loaders and updaters send, names nothing and is
no navigation: a demonstration with curl adds `-H 'Accept: text/html'`. Programs that ask for JSON get it as JSON.

A script of a site can send any Accept it likes: where Sec-Fetch-* is missing, it may be one (`may_be_script`).

What a browser sends for a person it may also hand to a service worker of the site. Seen with Chromium 156 and Firefox
153, each worker reading the body:

    fetch(event.request) in a worker      Sec-Fetch-Dest: empty (Sec-Fetch-Mode: navigate, in Firefox same-origin)
    any other fetch in a worker           Sec-Fetch-Dest: empty
    navigation preload                    Service-Worker-Navigation-Preload: any text of the site's, also none at all
    a race with the network (Chromium)    nothing at all (`proxy.readers.serviceworkers`)

So an answer is rewritten only where all that the browser itself says is known to be harmless: of the fields that no
script can set, those that are not known here may mean yet another way to read it.
"""

from collections.abc import Iterable

from proxy.cache.entry import Headers, values

_DOCUMENTS = frozenset(("document", "iframe", "frame"))
_HARMLESS = ("sec-fetch-", "sec-ch-", "sec-gpc")
"""Fields of browsers, out of reach of scripts, that say nothing of who else reads the answer."""
_HTML = frozenset(("text/html", "application/xhtml+xml"))


def is_navigation(method: str, headers: Headers) -> bool:
    """Whether this is a person opening a page; prefetches, resumed downloads and scripts' requests are not."""
    if not _may_be_document(method, headers):
        return False
    destination = _first(headers, "sec-fetch-dest")
    if destination:
        return destination in _DOCUMENTS and _first(headers, "sec-fetch-mode") in ("", "navigate")
    if says_how(headers):
        return False
    # Not asked of requests with Sec-Fetch-Dest: Android's web views send X-Requested-With with everything.
    if values(headers, "x-requested-with"):
        return False
    html, _, best = _preferences(headers)
    return html > 0 and html >= best


def wants_json(headers: Headers) -> bool:
    """Whether JSON is named in Accept and preferred to HTML."""
    html, json, _ = _preferences(headers)
    return json > html


def asks_for_repair(method: str, headers: Headers) -> bool:
    """Whether an answer to this request may be rewritten: a navigation, or a program (no browser) that wants JSON.

    Never what a service worker reads.
    A browser's script that wants JSON never is one: it expects its own server's errors.
    """
    if may_be_handed_on(headers):
        return False
    if is_navigation(method, headers):
        return True
    if not _may_be_document(method, headers) or _from_browser(headers):
        return False
    _, json, best = _preferences(headers)
    return wants_json(headers) and json >= best


def may_be_script(headers: Headers) -> bool:
    """Whether a script in a browser may have sent this; False for programs, and where the browser tells.

    By what browsers add to every request and let no script take away (tried with Chromium; the Fetch standard forbids
    scripts Accept-Encoding, and Accept-Language can be changed but not left out). Programs have one of them at most,
    unless told otherwise. A User-Agent says nothing: in Firefox a script may choose it.
    """
    if says_how(headers):
        return False
    codings = ",".join(values(headers, "accept-encoding")).lower()
    return "gzip" in codings and any(name.lower() == "accept-language" for name, _ in headers)


def says_how(headers: Headers) -> bool:
    """Whether the browser says how the request came about (Fetch Metadata); programs and old browsers do not."""
    return any(name.lower().startswith("sec-fetch-") for name, _ in headers)


def may_be_handed_on(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the browser may give the answer to a service worker of the site, by what it says itself.

    The mere presence of a field counts: its text is the site's to choose.
    """
    return any(
        name[:1] in "sS"
        and (lower := name.lower()).startswith(("sec-", "service-worker"))
        and not lower.startswith(_HARMLESS)
        and lower != "sec-purpose"  # which `is_navigation` reads
        for name, _ in headers
    )


def expects_network_error(headers: Headers) -> bool:
    """Whether a browser asks for a script, a picture or a worker, and not to show the answer as a page.

    Where the site cannot be reached it must find out: to any answer, whatever its status, `fetch()` resolves, and the
    app that would now open from its own cache does not. Programs are not meant: they expect what any proxy sends.
    """
    told = says_how(headers)
    if not told and not may_be_script(headers):
        return False
    if any(name.lower() == "service-worker-navigation-preload" for name, _ in headers):
        return True
    if told:
        destination = _first(headers, "sec-fetch-dest")
        if not destination:
            return False  # browsers always name one; Node, a program, names its mode alone
        return destination not in _DOCUMENTS or _first(headers, "sec-fetch-mode") not in ("", "navigate")
    html, _, best = _preferences(headers)
    return html == 0 or html < best


def tells_of_worker(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a request shows that its site has a service worker, or is about to."""
    told = {name.lower(): value.strip().lower() for name, value in headers if name[:1] in "sS"}
    destination = told.get("sec-fetch-dest")
    return (
        "service-worker" in told
        or "service-worker-navigation-preload" in told
        or destination == "serviceworker"
        or (destination == "empty" and told.get("sec-fetch-mode") == "navigate")
    )


def _may_be_document(method: str, headers: Headers) -> bool:
    if method not in ("GET", "HEAD"):
        return False
    if values(headers, "range") or values(headers, "upgrade"):
        return False
    purposes = (*values(headers, "sec-purpose"), *values(headers, "purpose"), *values(headers, "x-moz"))
    return not any("prefetch" in purpose.lower() for purpose in purposes)


def _from_browser(headers: Headers) -> bool:
    marks = ("x-requested-with", "origin", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-dest")
    return any(values(headers, mark) for mark in marks) or _first(headers, "user-agent").startswith(
        "mozilla/"
    )


def _preferences(headers: Headers) -> tuple[float, float, float]:
    """The weights Accept gives to HTML, to JSON, and to the best of all other named types; wildcards name none."""
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
    """The q of RFC 9110 section 12.4.2; 1 when absent, 0 when it cannot be read."""
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
