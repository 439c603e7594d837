import base64
import hashlib
import re

from selectolax.lexbor import LexborHTMLParser

from proxy.pages.language import catalogue
from proxy.pages.render import html_page


def a_note(**known):
    return html_page(
        "note.html.jinja",
        catalogue("en"),
        heading="helper.unknown",
        note="helper.unknown_note",
        address=None,
        live="",
        searchable=False,
        **known,
    )


def policy(page):
    return dict(page.headers)["Content-Security-Policy"]


def test_the_policy_names_exactly_the_style_and_script_of_the_page():
    page = a_note()
    tree = LexborHTMLParser(page.body.decode())
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        digest = hashlib.sha256(tree.css_first(tag).text().encode()).digest()
        assert f"{directive} 'sha256-{base64.b64encode(digest).decode()}'" in policy(page)


def test_page_may_be_framed_only_if_declared():
    assert "frame-ancestors 'none'" in policy(a_note())
    assert "frame-ancestors" not in policy(a_note(framable=True))


def test_without_a_portal_nothing_links_to_it():
    assert b"linkmend.internal" in a_note().body
    assert b"linkmend.internal" not in a_note(portal=False).body


def test_the_sandbox_lets_people_work_and_keeps_others_out():
    allowed = re.search(r"sandbox ([^;]*)", policy(a_note()))[1].split()
    assert {"allow-forms", "allow-popups", "allow-popups-to-escape-sandbox", "allow-downloads"} <= set(
        allowed
    )
    assert "allow-same-origin" not in allowed
