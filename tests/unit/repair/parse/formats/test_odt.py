import pytest

from repair.parse.formats.extraction import Unreadable
from repair.parse.formats.odt import read_odt
from tests.files import a_zip, an_odt


def test_paragraphs_headings_links_and_metadata():
    body = (
        "<text:h>Rivers</text:h><text:p>The <text:a xlink:href='http://a.test/nile'>long<text:s/>Nile</text:a>"
        "<text:tab/>flows.</text:p>"
    )
    found = read_odt(an_odt("First.", title="Water", language="fr", body=body))
    assert found.text == "First.\nRivers\nThe long Nile flows.\n"
    assert (found.title, found.language, found.headings) == ("Water", "fr", ("Rivers",))
    assert [(link.url, link.anchor) for link in found.links] == [("http://a.test/nile", "long Nile")]


def test_deletions_and_comments_are_not_read():
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        "<text:p>kept<office:annotation><text:p>comment</text:p></office:annotation></text:p>"
    )
    text = read_odt(an_odt(body=body)).text
    assert "kept" in text
    assert "deleted" not in text
    assert "comment" not in text


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04", a_zip({"mimetype": ""}), a_zip({"content.xml": b"\x8f\x00cipher"})]
)
def test_what_is_no_odt_or_encrypted_is_unreadable(data):
    with pytest.raises(Unreadable):
        read_odt(data)
