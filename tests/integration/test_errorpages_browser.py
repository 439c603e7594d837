"""What a user can do on the page for an error, in Chromium: the site's own page, waiting, going back to a form."""

import pytest

from tests.integration.origin import reply

OWN = b"<title>Ours</title><h1>Our own helpful 404</h1><p>Try our map of the site."
FORM = b"""<title>Form</title>
<form method=post action="http://dead.school.test/x"><textarea name=t></textarea><button>Send</button></form>"""


@pytest.fixture
def tab(start_linkmend, open_browser):
    return open_browser(start_linkmend("--workers", "2"), locale="en-GB")


def test_the_sites_own_page_is_shown_under_its_own_address_with_its_scripts(tab, origin):
    origin.pages["/gone"] = reply(
        OWN + b"<script>document.title = 'It runs'</script>", status="404 Not Found"
    )
    tab.goto(f"{origin.url}/gone")
    tab.get_by_role("link", name="Show the site’s own page").click()
    tab.wait_for_selector("text=helpful")
    assert (tab.url, tab.title()) == (f"{origin.url}/gone", "It runs")


def test_a_script_of_the_site_does_not_learn_the_way_to_it(tab, origin):
    origin.pages["/gone"] = reply(OWN, status="404 Not Found")
    origin.pages["/"] = reply(b"<title>Start</title><p>Welcome to all of you.")
    tab.goto(f"{origin.url}/")
    seen = tab.evaluate("fetch('/gone').then((answer) => answer.text())")
    assert "linkmend" not in seen
    assert "helpful" in seen


def test_a_busy_site_is_tried_again_by_itself(tab, origin):
    origin.pages["/busy"] = reply(b"busy", status="503 Busy", Retry_After="1")
    tab.goto(f"{origin.url}/busy")
    assert "Trying again by itself in" in tab.locator("#retry").inner_text()
    origin.pages["/busy"] = reply(b"<title>Back</title><p>Here we are again, with all our pages.")
    tab.wait_for_selector("text=Here we are again", timeout=30_000)
    assert tab.url == f"{origin.url}/busy"


def test_a_form_that_was_not_sent_leads_back_to_what_was_typed(tab, origin):
    origin.pages["/form"] = reply(FORM)
    tab.goto(f"{origin.url}/form")
    tab.fill("textarea", "my long text")
    tab.click("button")
    tab.wait_for_selector("text=Your form was not sent")
    tab.get_by_role("link", name="Go back").click()
    tab.wait_for_selector("textarea")
    assert tab.input_value("textarea") == "my long text"
