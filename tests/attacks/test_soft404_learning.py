"""What one site or user teaches linkmend about error pages must not hide the good pages of others."""

from tests.integration.origin import reply

LESSON = "<title>Volcanoes</title><main><h1>Volcanoes</h1>" + "".join(
    f"<p>Volcano number {number} has given off lava and ash for as long as anybody can remember.</p>"
    for number in range(20)
)
VAGUE = (
    "<title>Riverbend School</title><main><h1>Tea</h1><p>The caretaker has looked in every cupboard of the house, "
    "and now he has a cup of tea.</p></main>"
)


def test_a_404_with_the_text_of_a_good_page_hides_it_from_nobody(site, alice, bob, path):
    """On a host of many, Mallory sends Alice's lesson with a 404. Control: an error page is known again."""
    site.pages[f"{path}/mallory/copy.html"] = reply(LESSON, status="404 Not Found")
    site.pages[f"{path}/alice/lesson.html"] = reply(LESSON)
    site.pages[f"{path}/mallory/tea.html"] = reply(VAGUE, status="404 Not Found")
    site.pages[f"{path}/alice/tea.html"] = reply(VAGUE)
    for name in ("copy", "tea"):
        assert alice.open_page(f"{site.url}{path}/mallory/{name}.html").miss == "not_found"
    assert bob.open_page(f"{site.url}{path}/alice/lesson.html").text == LESSON
    assert bob.open_page(f"{site.url}{path}/alice/tea.html").miss == "soft_404"
