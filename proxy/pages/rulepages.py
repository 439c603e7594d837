"""The pages for requests that an admin's rule answers instead of the site: a block page or a redirect."""

from proxy.pages.display import address, clean
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage, html_page, text_page

_MAX_REASON = 500


def blocked_page(url: str, reason: str, texts: Catalogue, *, portal: bool = True) -> RenderedPage:
    """For a person: the school does not show this page, and why, if the admin wrote a reason."""
    return html_page(
        "block.html.jinja",
        texts,
        status=403,
        framable=True,
        portal=portal,
        address=address(url),
        reason=clean(reason, _MAX_REASON),
    )


def plain_block(url: str, reason: str) -> RenderedPage:
    """For a program: the same in one line."""
    because = f": {clean(reason, _MAX_REASON)}" if reason else ""
    return text_page(403, f"linkmend: blocked by a rule of the school{because}\n{clean(url, 500)}\n")


def rule_redirect(url: str) -> RenderedPage:
    """A temporary redirect; `url` is an http or https address, already encoded."""
    headers = (("Location", url), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"))
    return RenderedPage(status=302, headers=headers, body=b"")
