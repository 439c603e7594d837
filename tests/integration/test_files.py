"""PDF, EPUB, DOCX and ODT files through the real proxy: collected as users open them, offered when one is gone."""

import json

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.files import DOCX_TYPE, a_docx, a_pdf, an_epub, an_odt
from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, linkmend, serving

SETTINGS = "[collection]\ncommit_every_s = 0.2\n[repair]\ndeadline_s = 30.0\n"
GUIDE = a_pdf(
    "Crop rotation for small farms\nBeans after maize give nitrogen back to the soil\nand keep pests away.",
    title="Crop rotation guide",
)
# Over cache.stream_over_bytes: it is passed on as it comes, never buffered.
ATLAS = a_pdf("Atlas of rivers\nThe Okavango ends in a desert.", extra={9: f"({'x' * 1_500_000})"})
LETTER = a_docx("A letter on beekeeping", "Hives stand in the shade of acacias.", title="Beekeeping")
OLD_LINK = "<title>Lessons</title><p>Read our <a href='/2019/rotation.pdf'>crop rotation guide</a> on maize."


@pytest.fixture(scope="module")
def site():
    with Origin() as running:
        pdf = {"kind": "application/pdf", "Cache_Control": "max-age=600"}
        running.pages["/library/crop-rotation-guide.pdf"] = reply(GUIDE, **pdf)
        running.pages["/library/atlas.pdf"] = reply(ATLAS, **pdf)
        running.pages["/library/letter.docx"] = reply(LETTER, kind=DOCX_TYPE, Cache_Control="max-age=600")
        running.pages["/lessons.html"] = reply(OLD_LINK, Cache_Control="max-age=600")
        running.pages["/2019/rotation.pdf"] = reply("<title>404</title>", status="404 Not Found")
        yield running


@pytest.fixture(scope="module")
def proxy(tmp_path_factory, site):
    """A running linkmend whose user has opened all files of the site."""
    with serving(tmp_path_factory.mktemp("files") / "data", settings=SETTINGS) as running:
        client = Client(running.url)
        for path in (
            "/lessons.html",
            "/library/crop-rotation-guide.pdf",
            "/library/atlas.pdf",
            "/library/letter.docx",
        ):
            assert client.open_page(site.url + path).status == 200
        eventually(
            lambda: "letter.docx" in client.search("beekeeping acacias").text,
            "the file is not found",
            timeout_s=120,
        )
        yield running


def test_a_missing_pdf_finds_the_pdf_that_replaced_it(site, proxy):
    missing = site.url + "/2019/rotation.pdf"
    page = Client(proxy.url).open_page(missing, Referer=site.url + "/lessons.html")
    assert (page.status, page.miss) == (404, "not_found")
    first = LexborHTMLParser(page.text).css_first("#alternatives li")
    assert first.attributes["data-url"] == site.url + "/library/crop-rotation-guide.pdf"
    assert first.css_first("a").text() == "Crop rotation guide"
    assert first.css_first(".file").text() == "PDF document"
    told = Client(proxy.url).repair(missing).told["alternatives"][0]
    assert (told["url"], told["held"]) == (site.url + "/library/crop-rotation-guide.pdf", True)


def test_a_file_that_was_streamed_is_found_by_its_text(site, proxy):
    client = Client(proxy.url)
    eventually(
        lambda: "/library/atlas.pdf" in client.search("okavango desert").text, "the atlas is not found"
    )


def test_the_copy_of_a_file_is_the_file(site, proxy):
    copy = Client(proxy.url).held_copy(site.url + "/library/crop-rotation-guide.pdf")
    assert (copy.status, copy.body) == (200, GUIDE)
    assert copy.headers["Content-Type"] == "application/pdf"
    assert copy.headers["Content-Disposition"].endswith("crop-rotation-guide.pdf")


def test_imported_files_are_found_and_served_offline(tmp_path):
    folder = tmp_path / "site" / "books.test"
    folder.mkdir(parents=True)
    files = {
        "soil.pdf": a_pdf("Soil and compost\nWorms make compost from leaves.", title="Soil"),
        "seeds.epub": an_epub("<h1>Seeds</h1><p>Sorghum sprouts after the rain.</p>", title="Seeds"),
        "goats.docx": a_docx("Goats need salt and shade.", title="Goats"),
        "wells.odt": an_odt("Dig wells far from latrines.", title="Wells"),
        "notes.txt": b"Notes on wind\nWindmills pump water.",
        "broken.pdf": b"%PDF-1.7 nothing",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    data = tmp_path / "data"
    done = linkmend("import", tmp_path / "site", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    assert {key: json.loads(done.stdout)[key] for key in ("pages", "files")} == {"pages": 5, "files": 6}
    with serving(data, "--offline", settings=SETTINGS) as running:
        client = Client(running.url)
        for name, words in {
            "soil.pdf": "worms compost",
            "seeds.epub": "sorghum rain",
            "goats.docx": "goats salt",
            "wells.odt": "wells latrines",
            "notes.txt": "windmills pump",
        }.items():
            assert f"http://books.test/{name}" in client.search(words).text, name
            opened = client.open_page(f"http://books.test/{name}")
            assert (opened.status, opened.body) == (200, files[name])
        lost = client.open_page("http://books.test/2020/soil-and-compost.pdf")
        assert "http://books.test/soil.pdf" in lost.text
