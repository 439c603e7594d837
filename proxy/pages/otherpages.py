"""The other pages that users see: reading view, notes; and the plain error for sub-resources."""

import re
from pathlib import Path

from proxy.pages.display import address, clean, link_target
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage, html_page, text_page
from repair.model import HeldPage, MissKind

_MAX_READING_CHARS = 100_000
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}")

_PLAIN_WORDS = {
    MissKind.NOT_FOUND: "not found on the site",
    MissKind.GONE: "the site removed it permanently",
    MissKind.SOFT_404: "the site sent a 'not found' page (soft 404)",
    MissKind.UNREACHABLE: "the site cannot be reached",
    MissKind.TIMEOUT: "the site did not respond in time",
    MissKind.TLS: "the secure connection to the site failed",
    MissKind.SERVER_ERROR: "the site has a server error",
    MissKind.OFFLINE: "no internet connection, and no saved copy",
    MissKind.PARKED: "the domain is parked",
}

_STATIC = {
    path.name: (kind, path.read_bytes())
    for suffix, kind in ((".css", "text/css; charset=utf-8"), (".js", "text/javascript; charset=utf-8"))
    for path in sorted((Path(__file__).parent / "static").glob(f"*{suffix}"))
}


def reading_page(page: HeldPage, texts: Catalogue, *, portal: bool = True) -> RenderedPage:
    """The text of a saved page of which no copy was kept."""
    lines = page.text[:_MAX_READING_CHARS].splitlines()
    return html_page(
        "reading.html.jinja",
        texts,
        portal=portal,
        title=clean(page.title, 300) or str(texts("copy.untitled")),
        date=texts.date(page.fetched_at),
        live=link_target(page.url) or "",
        address=address(page.url),
        language=page.language if _LANGUAGE.fullmatch(page.language) else "",
        paragraphs=[shown for line in lines if (shown := clean(line, _MAX_READING_CHARS))],
    )


def missing_copy_page(url: str, texts: Catalogue, *, portal: bool = True) -> RenderedPage:
    """The page that says there is no saved copy."""
    return _note(
        "copy.missing", "copy.missing_note", texts, status=404, url=url, searchable=True, portal=portal
    )


def refused_page(status: int, texts: Catalogue, *, portal: bool = True) -> RenderedPage:
    """The response to `proxy.portal.routemodel.RefusedRoute`."""
    if status == 404:
        return _note("helper.unknown", "helper.unknown_note", texts, status=status, portal=portal)
    return _note("helper.refused", "helper.refused_note", texts, status=status, portal=portal)


def suggested_page(texts: Catalogue, *, kept: bool, portal: bool = True) -> RenderedPage:
    """The response to somebody who said what they looked for."""
    key = "suggest.thanks" if kept else "suggest.not_kept"
    return _note(key, f"{key}_note", texts, status=200 if kept else 429, portal=portal)


def out_of_reach_page(url: str, texts: Catalogue, *, person: bool, portal: bool = True) -> RenderedPage:
    """The response to a request that `proxy.reach.policy` refuses: a page for a person, a line for a program."""
    if person:
        return _note(
            "helper.out_of_reach",
            "helper.out_of_reach_note",
            texts,
            status=403,
            url=url,
            live=False,
            portal=portal,
        )
    text = f"linkmend: this address is out of reach (proxy.reach, proxy.ports)\n403: {clean(url, 500)}\n"
    return text_page(403, text)


def unsent_form_page(
    url: str, texts: Catalogue, *, status: int, sent: bool, parent_down: bool = False, portal: bool = True
) -> RenderedPage:
    """The response to a form that could not be sent; `sent` when it may have arrived before the connection failed,
    `parent_down` when the school's proxy is to blame."""
    return html_page(
        "form.html.jinja",
        texts,
        status=status,
        framable=True,
        portal=portal,
        words="form.unsure" if sent else "form.unsent",
        happened="parent.happened" if parent_down else "",
        address=address(url),
    )


def _note(
    heading: str,
    note: str,
    texts: Catalogue,
    *,
    status: int,
    portal: bool,
    url: str = "",
    live: bool = True,
    searchable: bool = False,
) -> RenderedPage:
    return html_page(
        "note.html.jinja",
        texts,
        status=status,
        portal=portal,
        heading=heading,
        note=note,
        address=address(url) if url else None,
        live=(link_target(url) or "") if live else "",
        searchable=searchable,
    )


def redirect(url: str) -> RenderedPage:
    """See Other (303); `url` is one of ours and already percent-encoded."""
    return RenderedPage(
        status=303,
        headers=(("Location", url), ("Cache-Control", "no-store"), ("Content-Length", "0")),
        body=b"",
    )


def no_content() -> RenderedPage:
    """The empty response to a ping."""
    return RenderedPage(status=204, headers=(("Cache-Control", "no-store"),), body=b"")


def static_page(name: str) -> RenderedPage | None:
    """A file of proxy/pages/static; None when there is none of that name."""
    if name not in _STATIC:
        return None
    kind, body = _STATIC[name]
    headers = (
        ("Content-Type", kind),
        ("Cache-Control", "public, max-age=86400"),
        ("X-Content-Type-Options", "nosniff"),
    )
    return RenderedPage(status=200, headers=headers, body=body)


def plain_error(
    kind: MissKind, url: str, *, status: int, detail: str = "", parent_down: bool = False
) -> RenderedPage:
    """The short error for a script, image or download; only a program or its author reads it."""
    words = "the parent proxy cannot be reached" if parent_down else _PLAIN_WORDS[kind]
    because = f" ({clean(detail, 200)})" if detail else ""
    text = f"linkmend: {words}{because}\n{status} {kind.value}: {clean(url, 500)}\n"
    return text_page(status, text, headers=(("Linkmend-Miss", kind.value),))
