"""Templates to answers: the headers and the policy that every page of ours for people goes out with.

A page of ours shows what the collection holds, and it is shown under the address of the site that failed. A script of
that site is then of the same origin as our page and could read it through a frame or `window.open`. So every
page is sandboxed without `allow-same-origin`: its origin is opaque and no other page can look in. A browser sends
no Referer from such a page, so clicks on it are cross-site navigations without one. Cross-Origin-Opener-Policy is
left out: it adds nothing to the sandbox, and the HTML standard refuses a page that has both.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from proxy.pages.language import Catalogue
from proxy.portal.helper import PORTAL, PORTAL_HOST, SEARCH_PATH

Headers = tuple[tuple[str, str], ...]

_HERE = Path(__file__).parent
NOTHING_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""For what is no page: it loads and runs nothing."""
_SANDBOX = "sandbox allow-forms allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads"

_templates = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # they do not change while we run, and to look each time costs as much as some of them
)


def breakable(path: str) -> Markup:
    """A path that may go on to the next line after a slash, rather than in the middle of a word."""
    return Markup("/<wbr>").join(path.split("/"))


_templates.filters["breakable"] = breakable


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """An answer ready to be sent; Content-Length is left to whoever sends it."""

    status: int
    headers: Headers
    body: bytes


def html_page(
    template: str,
    texts: Catalogue,
    *,
    status: int = 200,
    headers: Headers = (),
    framable: bool = False,
    portal: bool = True,
    images: str = "",
    **values: object,
) -> RenderedPage:
    """A template filled in. `portal` says whether http://linkmend.internal/ can be reached from where it is read,
    `images` an origin that its pictures may come from."""
    body = _templates.get_template(template).render(
        t=texts,
        status=status,
        style=_STYLE,
        script=_SCRIPT,
        portal=PORTAL + "/" if portal else "",
        search_action=SEARCH_PATH,
        **values,
    )
    safety = page_headers(texts.code, policy=_policy(framable, images))
    return RenderedPage(
        status=status,
        headers=(("Content-Type", "text/html; charset=utf-8"), *safety, *headers),
        body=body.encode("utf-8", "replace"),
    )


def html_part(template: str, texts: Catalogue, **values: object) -> RenderedPage:
    """A piece of a page for the script of our pages, which asks from inside the sandbox: its origin is `null`."""
    body = _templates.get_template(template).render(t=texts, search_action=SEARCH_PATH, **values)
    return RenderedPage(
        status=200,
        headers=(
            ("Content-Type", "text/html; charset=utf-8"),
            *page_headers(texts.code, policy=NOTHING_POLICY),
            ("Access-Control-Allow-Origin", "null"),
        ),
        body=body.encode("utf-8", "replace"),
    )


def text_page(status: int, text: str, *, headers: Headers = ()) -> RenderedPage:
    """Plain words, for a program or its author."""
    kind: Headers = (("Content-Type", "text/plain; charset=utf-8"),)
    return RenderedPage(
        status=status,
        headers=(*kind, *page_headers("en", policy=NOTHING_POLICY), *headers),
        body=text.encode("utf-8", "replace"),
    )


def page_headers(language: str, *, policy: str) -> Headers:
    """What all our answers to people carry, besides their type."""
    return (
        ("Content-Language", language),
        ("Cache-Control", "no-store"),
        ("Vary", "Accept, Accept-Language"),
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
    )


@lru_cache(maxsize=64)
def _policy(framable: bool, images: str) -> str:
    parts = [
        "default-src 'none'",
        f"style-src '{_hash(_STYLE)}'",
        f"script-src '{_hash(_SCRIPT)}'",
        f"img-src data: {images}".strip(),
        "connect-src 'self'",
        # Browsers apply form-action to redirects too, and a search is sent to the portal.
        f"form-action 'self' {PORTAL} https://{PORTAL_HOST}",
        "base-uri 'none'",
        _SANDBOX,
    ]
    return "; ".join(parts if framable else [*parts, "frame-ancestors 'none'"])


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _static(name: str) -> Markup:
    # Ours, not from outside: goes into the page unescaped, and its hash into the policy.
    return Markup((_HERE / "static" / name).read_text(encoding="utf-8").strip())  # noqa: S704


_STYLE = _static("page.css")
_SCRIPT = _static("page.js")
