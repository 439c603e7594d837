"""linkmend as a web archive (pure): its saved versions as TimeMap, TimeGate and mementos of RFC 7089.

    /timemap/link/URL  /timemap/json/URL     all versions, as link-format or as MemGator writes it
    /timegate/URL                            redirects to the version closest to Accept-Datetime
    /memento/YYYYMMDDhhmmss/URL              a version as a page; with `id_` behind the digits as it was sent

Any site may have written a version, and users read it under our own address. As a page it stays in the sandbox of
`proxy.pages.copies`; as it was sent it is for programs, and a browser that opens it runs and loads nothing.

A page of a site cannot read our responses, but it can load them in a frame, and sees whether that becomes a page or
a download. So we never send what browsers can show as a download: saved or not, a frame of it looks the same.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote

from proxy.pages.copies import copy_page
from proxy.pages.language import Catalogue
from proxy.pages.render import Headers, RenderedPage
from repair.collection.versions import HeldVersions
from repair.memento.datetimes import as_http_date, as_timestamp, timestamp
from repair.model import HeldCopy
from repair.text import urls

_QUESTION = re.compile(r"/(?:timemap/(link|json)|timegate|memento/([0-9]{14})(id_)?)/(.+)\Z", re.DOTALL)
_ENCODED = re.compile(r"(?i)https?%3a")
_SCHEME = re.compile(r"(?i)(https?):/*")
_OTHER_SCHEME = re.compile(r"(?i)[a-z][a-z0-9+.\-]*:/")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}(;[\x20-\x7e]{0,200})?", re.ASCII)
_SHOWN = re.compile(r"(?i)(?:text/(?:html|plain)|application/xhtml\+xml)\s*(?:;|\Z)")
_LONG_URL = (
    1_000  # with more than four links to addresses this long, a header is longer than many programs accept
)
_SAFETY: Headers = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMapOf:
    """A request for all versions of a page; `form` is link or json."""

    url: str
    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeGateTo:
    """A request for the version of a page closest to a time."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MementoOf:
    """A request for one version of a page, as a page or (`raw`) as it was sent."""

    url: str
    at: datetime
    raw: bool


Question = TimeMapOf | TimeGateTo | MementoOf


def question(target: str) -> Question | int:
    """Parse the path and query of a request; 404 for an unknown path, 400 for a malformed one."""
    found = _QUESTION.match(target)
    if found is None:
        return 404
    form, digits, raw, address = found.groups()
    url = _original(address)
    at = timestamp(digits) if digits else None
    if url is None or (digits and at is None):
        return 400
    if form:
        return TimeMapOf(url=url, form=form)
    return MementoOf(url=url, at=at, raw=bool(raw)) if at else TimeGateTo(url=url)


def _original(text: str) -> str | None:
    """The address in a path: verbatim, percent-encoded, without scheme or with a slash lost."""
    if _ENCODED.match(text):
        text = unquote(text)
    scheme = _SCHEME.match(text)
    if scheme is None and _OTHER_SCHEME.match(text):
        return None
    text = f"{scheme[1]}://{text[scheme.end() :]}" if scheme else f"http://{text}"
    try:
        url = urls.normal(text)
    except ValueError:
        return None
    return url if urls.is_printable(url) and '"' not in url else None


def timemap(held: HeldVersions, form: str, *, base: str, shown: bool = False) -> RenderedPage:
    """All versions of a page; `base` is our address in the request, without a trailing slash.

    With `shown`, the client is a browser and gets link-format as plain text, which it would download otherwise.
    """
    if form == "json":
        return _answer(200, "application/json", json.dumps(_memgator(held, base), indent=2) + "\n")
    span = f'; from="{as_http_date(held.moments[0])}"; until="{as_http_date(held.moments[-1])}"'
    lines = (
        f'<{held.url}>; rel="original"',
        f'<{base}/timemap/link/{held.url}>; rel="self"; type="application/link-format"{span}',
        f'<{base}/timegate/{held.url}>; rel="timegate"',
        *_mementos(held, base, held.moments),
    )
    kind = "text/plain; charset=utf-8" if shown else "application/link-format"
    return _answer(200, kind, ",\n".join(lines) + "\n")


def _memgator(held: HeldVersions, base: str) -> dict[str, object]:
    listed = [
        {"datetime": f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", "uri": _place(held.url, at, base)}
        for at in held.moments
    ]
    maps = {f"{form}_format": f"{base}/timemap/{form}/{held.url}" for form in ("link", "json")}
    return {
        "original_uri": held.url,
        "self": maps["json_format"],
        "mementos": {"list": listed, "first": listed[0], "last": listed[-1]},
        "timemap_uri": maps,
        "timegate_uri": f"{base}/timegate/{held.url}",
    }


def timegate(held: HeldVersions, wanted: datetime | None, *, base: str) -> RenderedPage:
    """A redirect to the version closest to a time, or to the newest."""
    at = closest(held, wanted) if wanted else held.moments[-1]
    return _redirect(_place(held.url, at, base), links(held, at, base), ("Vary", "accept-datetime"))


def redirect_to_closest(held: HeldVersions, request: MementoOf, *, base: str) -> RenderedPage:
    """A redirect to the version closest to one that we do not have, or no longer have."""
    at = closest(held, request.at)
    return _redirect(_place(held.url, at, base, raw=request.raw), links(held, at, base))


def memento(copy: HeldCopy, held: HeldVersions, *, raw: bool, base: str, texts: Catalogue) -> RenderedPage:
    """One version of a page."""
    about: Headers = (
        ("Memento-Datetime", as_http_date(copy.fetched_at)),
        ("Link", links(held, copy.fetched_at, base)),
    )
    if not raw:
        page = copy_page(copy, texts)
        return RenderedPage(status=page.status, headers=(*page.headers, *about), body=page.body)
    kind = copy.content_type if _MEDIA_TYPE.fullmatch(copy.content_type) else "application/octet-stream"
    aside: Headers = () if _SHOWN.match(kind) else (("Content-Disposition", "attachment"),)
    return RenderedPage(
        status=200, headers=(("Content-Type", kind), *_SAFETY, *about, *aside), body=copy.body
    )


def refusal(status: int) -> RenderedPage:
    """A few words for the person who reads their program's output."""
    words = {
        400: "invalid address or date",
        403: "access denied (see collection.share in the settings)",
        404: "no saved version of this page",
    }
    # The response varies by date also for a page without versions (RFC 7089 section 4.5.6).
    return _answer(
        status, "text/plain; charset=utf-8", f"linkmend: {words[status]}\n", ("Vary", "accept-datetime")
    )


def closest(held: HeldVersions, wanted: datetime) -> datetime:
    """Of two versions equally far away, the earlier."""
    return min(held.moments, key=lambda at: abs(at - wanted))


def links(held: HeldVersions, at: datetime, base: str) -> str:
    """The Link header of a version and of the redirect to it."""
    place = held.moments.index(at)
    around = {0, len(held.moments) - 1, place, max(0, place - 1), min(place + 1, len(held.moments) - 1)}
    near = tuple(held.moments[number] for number in sorted(around))
    return ", ".join(
        (
            f'<{held.url}>; rel="original"',
            f'<{base}/timemap/link/{held.url}>; rel="timemap"; type="application/link-format"',
            f'<{base}/timegate/{held.url}>; rel="timegate"',
            *_mementos(held, base, near if len(held.url) <= _LONG_URL else (at,), at),
        )
    )


def _mementos(
    held: HeldVersions, base: str, listed: tuple[datetime, ...], current: datetime | None = None
) -> Iterator[str]:
    place = held.moments.index(current) if current else None
    for at in listed:
        number = held.moments.index(at)
        rels = (
            "first" if number == 0 else "",
            "last" if number == len(held.moments) - 1 else "",
            "prev" if place is not None and number == place - 1 else "",
            "next" if place is not None and number == place + 1 else "",
            "memento",
        )
        rel = " ".join(filter(None, rels))
        yield f'<{_place(held.url, at, base)}>; rel="{rel}"; datetime="{as_http_date(at)}"'


def _place(url: str, at: datetime, base: str, *, raw: bool = False) -> str:
    return f"{base}/memento/{as_timestamp(at)}{'id_' if raw else ''}/{url}"


def _redirect(where: str, link: str, *also: tuple[str, str]) -> RenderedPage:
    return _answer(302, "text/plain; charset=utf-8", "", ("Location", where), ("Link", link), *also)


def _answer(status: int, kind: str, text: str, *also: tuple[str, str]) -> RenderedPage:
    return RenderedPage(
        status=status, headers=(("Content-Type", kind), *_SAFETY, *also), body=text.encode("ascii")
    )
