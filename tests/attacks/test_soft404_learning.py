"""What one site or user teaches linkmend about error pages must not hide the good pages of others."""

import hashlib

from repair.soft404.sitestore import ASKED_PER_SITE
from tests.integration.origin import Origin, reply
from tests.integration.test_soft404 import VAGUE_PAGE as OOPS
from tests.integration.test_soft404 import Everywhere, nonsense_asked

LESSON = "<title>Volcanoes</title><main><h1>Volcanoes</h1>" + "".join(
    f"<p>Volcano number {number} has given off lava and ash for as long as anybody can remember.</p>"
    for number in range(20)
)
VAGUE = (
    "<title>Riverbend School</title><main><h1>Tea</h1><p>The caretaker has looked in every cupboard of the house, "
    "and now he has a cup of tea.</p></main>"
)


def test_a_404_with_the_text_of_a_good_page_does_not_hide_it(site, alice, bob, path):
    """On a shared host, Mallory sends Alice's lesson with a 404. Control: an error page is recognised again."""
    site.pages[f"{path}/mallory/copy.html"] = reply(LESSON, status="404 Not Found")
    site.pages[f"{path}/alice/lesson.html"] = reply(LESSON)
    site.pages[f"{path}/mallory/tea.html"] = reply(VAGUE, status="404 Not Found")
    site.pages[f"{path}/alice/tea.html"] = reply(VAGUE)
    for name in ("copy", "tea"):
        assert alice.open_page(f"{site.url}{path}/mallory/{name}.html").miss == "not_found"
    assert bob.open_page(f"{site.url}{path}/alice/lesson.html").text == LESSON
    assert bob.open_page(f"{site.url}{path}/alice/tea.html").miss == "soft_404"


class Everchanging(Everywhere):
    """A site that misses every page, with another text each time."""

    def get(self, path, default=None):
        words = " ".join(hashlib.sha256(f"{path}{number}".encode()).hexdigest()[:9] for number in range(8))
        return super().get(path) or reply(OOPS.replace("</main>", f"<p>{words}</p></main>"))


def test_probes_of_one_site_are_limited(alice, bob):
    """Every directory has an error page of its own. Control: a site without such requests is probed."""
    with Origin() as asked, Origin(host="127.0.0.2") as other:
        for origin in (asked, other):
            origin.pages = Everchanging(None)
        for number in range(ASKED_PER_SITE + 15):
            alice.open_page(f"{asked.url}/directory{number}/page.html")
        # Two addresses for each directory: a page in it, and one beside it.
        assert ASKED_PER_SITE <= nonsense_asked(asked) <= 2 * ASKED_PER_SITE
        bob.open_page(f"{other.url}/directory/page.html")
        assert nonsense_asked(other)
