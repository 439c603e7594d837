import pytest

from repair.parse.formats.docx import read_docx
from repair.parse.formats.extraction import Unreadable
from tests.files import a_docx, a_zip, docx_paragraph


def test_paragraphs_headings_title_and_language():
    body = docx_paragraph("Soil & water", style="Heading1")
    found = read_docx(a_docx("First.", title="Farming", language="sw", body=body))
    assert (found.text, found.title, found.language) == ("First.\nSoil & water\n", "Farming", "sw")
    assert found.headings == ("Soil & water",)


def test_a_hyperlink_has_its_words_and_those_around_it():
    body = (
        "<w:p><w:r><w:t>read </w:t></w:r><w:hyperlink r:id='r7'><w:r><w:t>about maize</w:t></w:r></w:hyperlink>"
        "<w:r><w:t> today</w:t></w:r></w:p>"
    )
    (link,) = read_docx(a_docx(links={"r7": "http://a.test/maize"}, body=body)).links
    assert (link.url, link.anchor, link.before, link.after) == (
        "http://a.test/maize",
        "about maize",
        "read ",
        " today\n",
    )


def test_a_link_may_be_a_field():
    body = (
        "<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> HYPERLINK &quot;http://a.test/f&quot; "
        "</w:instrText></w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>a field</w:t></w:r>"
        "<w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
    )
    found = read_docx(a_docx(body=body))
    assert [(link.url, link.anchor) for link in found.links] == [("http://a.test/f", "a field")]
    assert "HYPERLINK" not in found.text


def test_text_boxes_are_read_once_and_deletions_not_at_all():
    names = 'xmlns:mc="urn:mc"'
    box = docx_paragraph("in a box")
    body = (
        f"<mc:AlternateContent {names}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent><w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
    )
    text = read_docx(a_docx(body=body)).text
    assert text.count("in a box") == 1
    assert "deleted" not in text


def test_what_comes_before_damage_is_kept():
    body = "<w:p><w:r><w:t>good</w:t></w:r></w:p><w:p></w:r>"
    assert read_docx(a_docx(body=body)).text.startswith("good")


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04", a_zip({"other": ""}), a_zip({"word/document.xml": "<broken"})]
)
def test_what_is_no_docx_is_unreadable(data):
    with pytest.raises(Unreadable):
        read_docx(data)
