"""Links that lead nowhere are marked before the click, in saved copies and in no page whose scripts run."""

import re
import shutil

import pytest

from tests.integration.client import Client
from tests.integration.processes import DEMO, eventually, linkmend, serving

PAGE = "http://farm.test/farm.html"
HTML = """<html><head><title>The farm</title></head><body><p>Read about
<a href="http://science.school.test/earth/volcanoes.html">volcanoes</a>,
<a href="http://old.school.test/space/moon-phases.html">why the moon changes its shape: the phases</a>,
and the <a href="http://gone.test/x99">xyzzy brochure</a>.
<script>var text = '<a href="http://gone.test/x99">';</script></body></html>"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marks")
    sites = folder / "sites"
    shutil.copytree(DEMO, sites)
    (sites / "farm.test").mkdir()
    (sites / "farm.test" / "farm.html").write_text(HTML, encoding="utf-8")
    assert linkmend("import", sites, "--data", folder / "data").returncode == 0
    with serving(folder / "data", "--offline") as running:
        yield Client(running.url)


def links(answer):
    """The mark and the address of each link of the page itself."""
    tags = re.findall(r"<a ([^>]*)>", answer.text.partition("<script>")[0])
    return [
        (*re.findall(r'data-linkmend="(\w+)"', tag), re.search(r'href="([^"]*)"', tag)[1]) for tag in tags
    ]


def test_links_are_marked_once_they_are_judged(client):
    expected = [
        ("http://science.school.test/earth/volcanoes.html",),
        ("replaced", "http://science.school.test/space/moon-phases.html"),
        ("nowhere", "http://gone.test/x99"),
    ]
    answer = eventually(
        lambda: (
            (found := client.open_page(f"http://linkmend.internal/copy?url={PAGE}"))
            and links(found) == expected
            and found
        ),
        "links are not marked",
    )
    assert answer.status == 200
    assert "var text = '<a href=\"http://gone.test/x99\">'" in answer.text


def test_a_page_out_of_the_cache_is_as_its_site_sent_it(client):
    assert client.open_page(PAGE).text == HTML
