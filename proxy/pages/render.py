"""Templates to responses: the headers and the content security policy of all our pages for people.

Our pages show what is in the collection, under the address of the site that failed. A script of that site then has
the same origin as our page and could read it through a frame or `window.open`. So every page is sandboxed without
`allow-same-origin`: its origin is opaque and no other page can read it. A browser sends no Referer from such a
page, so clicks on it are cross-site navigations without one. We send no Cross-Origin-Opener-Policy: it adds nothing
to the sandbox, and the HTML standard refuses a page that has both.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from proxy.pages.language import Catalogue
from proxy.portal.addresses import PORTAL, PORTAL_HOST, SEARCH_PATH

Headers = tuple[tuple[str, str], ...]

_HERE = Path(__file__).parent
TEMPLATES = _HERE / "templates"
"""Jinja templates of all pages; those in desk/ are translated by templatetexts.py."""
NOTHING_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""For responses that are not pages: they load and run nothing."""
_SANDBOX = "sandbox allow-forms allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads"

_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    # they do not change while we run, and checking each time costs as much as rendering some of them
    auto_reload=False,
)


def breakable(path: str) -> Markup:
    """A path that may break after a slash, rather than in the middle of a word."""
    return Markup("/<wbr>").join(path.split("/"))


_templates.filters["breakable"] = breakable


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A response ready to be sent; the sender adds Content-Length."""

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
    """Render a template. `portal` says whether the client can reach http://linkmend.internal/, `images` is an
    origin that its pictures may come from.
    """
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
    """A fragment for the script of our pages, which requests it from inside the sandbox: its origin is `null`."""
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
    """Plain text, for a program or its author."""
    kind: Headers = (("Content-Type", "text/plain; charset=utf-8"),)
    return RenderedPage(
        status=status,
        headers=(*kind, *page_headers("en", policy=NOTHING_POLICY), *headers),
        body=text.encode("utf-8", "replace"),
    )


def page_headers(language: str, *, policy: str) -> Headers:
    """The headers of all our pages for people, besides the content type."""
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
        # Browsers apply form-action to redirects too, and a search is redirected to the portal.
        f"form-action 'self' {PORTAL} https://{PORTAL_HOST}",
        "base-uri 'none'",
        _SANDBOX,
    ]
    return "; ".join(parts if framable else [*parts, "frame-ancestors 'none'"])


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _static(name: str) -> Markup:
    # Our own file, not untrusted: it goes into the page unescaped, and its hash into the policy.
    return Markup((_HERE / "static" / name).read_text(encoding="utf-8").strip())  # noqa: S704


_STYLE = _static("page.css")
_SCRIPT = _static("page.js")
