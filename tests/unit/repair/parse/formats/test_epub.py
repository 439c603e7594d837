import pytest

from repair.parse.formats.epub import read_epub
from repair.parse.formats.extraction import Unreadable
from tests.files import a_zip, an_epub


def test_chapters_in_order_with_headings_links_and_metadata():
    found = read_epub(
        an_epub(
            "<h1>Seeds</h1><p>Sow in <a href='http://a.test/spring'>early spring</a> rain.</p>",
            "<h1>Harvest</h1><p>Reap.</p>",
            title="A farmer's book",
            language="en",
        )
    )
    assert found.text == "Seeds\nSow in early spring rain.\nHarvest\nReap.\n"
    assert (found.title, found.language, found.headings) == ("A farmer's book", "en", ("Seeds", "Harvest"))
    (link,) = found.links
    assert (link.url, link.anchor, link.before, link.after) == (
        "http://a.test/spring",
        "early spring",
        "Seeds Sow in",
        "rain.",
    )


def test_protected_chapters_are_left_out():
    protected = '<encryption><CipherReference URI="OPS/text/c0.xhtml"/></encryption>'
    found = read_epub(
        an_epub("<p>protected</p>", "<p>free</p>", others={"META-INF/encryption.xml": protected})
    )
    assert found.text == "free\n"


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04",
        a_zip({"mimetype": "application/epub+zip"}),
        a_zip({"META-INF/container.xml": "<container/>"}),
        a_zip({"META-INF/container.xml": "<rootfile full-path='../../etc/passwd'/>"}),
    ],
)
def test_what_is_no_epub_is_unreadable(data):
    with pytest.raises(Unreadable):
        read_epub(data)
