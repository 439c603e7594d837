"""An admin's first hour in Chromium, through the proxy with its workers: from the first start to the exported list.

With FILM_FOLDER=FOLDER in the environment each step leaves a picture there, to be looked at.
"""

import os
import re
from pathlib import Path

import pytest

from tests.integration.client import PORTAL, Client
from tests.integration.processes import DEMO, eventually, linkmend

PASSWORD = "correct horse battery"
CITING = "http://library.school.test/guides/how-to-cite.html"
WATER = "http://science.school.test/earth/water-cycle.html"
NOTES = "http://library.school.test/research/taking-notes.html"
SCIENCE = "http://science.school.test/"
EXAM = (
    '[[rule]]\nname = "exam week"\ndomain = ".maths.school.test"\naction = "block"\nreason = "Exam week."\n'
)


@pytest.fixture
def school(tmp_path, start_linkmend):
    """A first start with the demo collection, two workers, offline."""
    data = tmp_path / "data"
    done = linkmend("import", DEMO, "--data", data)
    assert done.returncode == 0, done.stderr
    return start_linkmend("--offline", "--workers", "2", data=data)


def test_first_hour_of_an_admin(school, open_browser):
    page, film = open_browser(school), Film()

    page.goto(f"{PORTAL}/admin")
    film.take(page, "set the password")
    page.fill("#code", re.search(r"set-up code (\S+)", school.output)[1])
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.click("button:has-text('Set password')")
    page.wait_for_url(f"{PORTAL}/admin/setup")
    film.take(page, "the set-up")
    page.fill("#contact", "Ms Achieng, room 12")
    page.click("button:has-text('Write the settings')")
    page.wait_for_selector("text=linkmend is set up.")
    film.take(page, "what the doctor finds")
    assert 'contact = "Ms Achieng, room 12"' in school.config.read_text()
    page.goto(f"{PORTAL}/.well-known/linkmend/privacy")
    eventually(lambda: page.reload() and "Ms Achieng" in page.content(), "the settings are not in force")
    page.goto(f"{PORTAL}/admin/setup")
    page.click("a:has-text('Start')")
    page.wait_for_url(f"{PORTAL}/admin")
    film.take(page, "the desk")

    a_class_misses(school, CITING, WATER)
    page.goto(f"{PORTAL}/admin/misses")
    eventually(
        lambda: page.reload() and page.locator("table.addresses tbody tr").count() == 2,
        "the misses are not listed",
    )
    film.take(page, "what the class missed")

    page.click(f"table.addresses tbody th a:has-text('{CITING.rpartition('/')[2]}')")
    film.take(page, "one missed page")
    page.fill("#target", SCIENCE)
    page.click("form:has(#target) button")
    page.wait_for_selector(".notice:has-text('Pinned')")
    page.goto(CITING)
    assert page.locator("#alternatives > li").first.get_attribute("data-url") == SCIENCE
    film.take(page, "pinned for readers")

    page.goto(f"{PORTAL}/admin/rules/file?name=20-exam.toml")
    page.fill("#text", EXAM)
    page.click("button:has-text('Save')")
    page.wait_for_url(re.compile("/admin/rules"))
    film.take(page, "a rule")
    reader = Client(school.url)
    eventually(lambda: reader.open_page("http://maths.school.test/").status == 403, "the rule has no effect")
    eventually(  # the browser may be connected to the other worker
        lambda: page.goto("http://maths.school.test/") and "Exam week." in page.content(), "no page says so"
    )
    film.take(page, "the rule at work")

    (school.data / "rules.d" / "20-exam.toml").write_text(EXAM.replace("block", "blok"), encoding="utf-8")
    eventually(lambda: "20-exam.toml:4" in school.output, "nothing is said of the broken file")
    assert reader.open_page("http://maths.school.test/").status == 403
    assert reader.open_page(SCIENCE).status == 200
    page.goto(f"{PORTAL}/admin/rules")
    page.wait_for_selector("text=20-exam.toml")
    film.take(page, "a broken file")

    page.goto(f"{PORTAL}/admin/health")
    film.take(page, "health")
    page.goto(f"{PORTAL}/admin/misses")
    with page.expect_download() as download:
        page.click("a[download]:has-text('CSV')")
    assert CITING in download.value.path().read_text("utf-8")


class Film:
    """Numbered screenshots, if a folder is given."""

    def __init__(self):
        self._folder = os.environ.get("FILM_FOLDER", "")
        self._taken = 0

    def take(self, page, what):
        self._taken += 1
        if self._folder:
            name = f"{self._taken:02}-{what.replace(' ', '-')}.png"
            page.screenshot(path=Path(self._folder) / name, full_page=True)


def a_class_misses(running, *urls):
    """Three users open the same dead links."""
    for reader in range(1, 4):
        client = Client(running.url, source=f"127.0.0.{reader}")
        for url in urls:
            client.open_page(url, Referer=NOTES)
