# ruff: noqa: E501 (office documents have long lines)
"""Worksheets: every link is found, and a corrected one differs from the original in its links alone."""

import difflib
import io
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.parse.formats.extraction import Unreadable
from repair.parse.formats.worksheets.model import WorksheetFormat
from repair.parse.formats.worksheets.worksheet import read, rewrite
from tests.files import a_pdf, a_zip

OLD, OTHER, NEW = "http://old.test/a?x=1&y=2", "http://good.test/b", 'https://new.test/c?q="1"&z=<2>'
WRITTEN = "https://new.test/c?q=%221%22&z=%3C2%3E"
MARKUP = WRITTEN.replace("&", "&amp;")

HTML = f"""<!DOCTYPE html>\r\n<html><head><title>Volcanoes &amp; rock</title></head>
<body><!-- <a href="{OLD}">not a link</a> -->
<p title="href='{OLD}'">Read <a class=x HREF = 'http://old.test/a?x=1&amp;y=2' >the <b>basalt</b> page</a> first\xa0\xc3\xa9,
<a href={OTHER}>then this</a>, <a href="#top">top</a> <a href="mailto:a@b.test">mail</a>.
<script>var s = '<a href="{OLD}">';</script>
""".encode("latin-1")

MARKDOWN = f"""# Volcanoes

Read [the basalt page]({OLD} "title") first, then <{OTHER}>, and (see {OTHER}).
A wiki: https://wiki.test/Rock_(geology). [ref]

[ref]: {OLD}
`{OLD}` and
```
{OLD}
```
""".encode()

RELATIONS = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>
<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink" Target='{OLD.replace("&", "&amp;")}' TargetMode="External"/>
<Relationship Id="rId3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink" Target="{OTHER}" TargetMode="External"/>
<Relationship Id="rId4" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="{OLD.replace("&", "&amp;")}" TargetMode="External"/>
</Relationships>"""
DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><w:body>
<w:p><w:r><w:t xml:space="preserve">Read </w:t></w:r><w:hyperlink r:id="rId2"><w:r><w:t>the basalt page</w:t></w:r></w:hyperlink><w:hyperlink r:id="rId3"><w:r><w:t>this</w:t></w:r></w:hyperlink></w:p>
<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> HYPERLINK "http://field.test/d?a=1&amp;b=2" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>a field</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>
</w:body></w:document>"""
CONTENT = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:text>
<text:p>Read <text:a xlink:type="simple" xlink:href="{OLD.replace("&", "&amp;")}" text:style-name="x">the basalt page</text:a>, <text:a xlink:href="{OTHER}">this</text:a></text:p>
</office:text></office:body></office:document-content>"""


def docx(**more):
    return a_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": DOCUMENT,
            "word/_rels/document.xml.rels": RELATIONS,
            "word/media/photo.png": b"\x89PNG" + bytes(range(256)) * 40,
            **more,
        }
    )


def odt():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text", zipfile.ZIP_STORED)
        archive.writestr("content.xml", CONTENT, zipfile.ZIP_DEFLATED)
        words = " ".join(str(number * number) for number in range(3_000))
        archive.writestr("notes.txt", words, zipfile.ZIP_DEFLATED, 1)
    return out.getvalue()


def found(format_, data):
    return {link.url: link for link in read(format_, data).links}


def test_links_of_html_come_with_their_words_and_nothing_else_counts_as_a_link():
    links = found(WorksheetFormat.HTML, HTML)
    assert list(links) == [OLD, OTHER]
    assert links[OLD].anchor == "the basalt page"
    assert links[OLD].before.rstrip().endswith("Read")
    assert read(WorksheetFormat.HTML, HTML).title == "Volcanoes &amp; rock"


def test_html_comes_back_with_only_the_address_changed():
    fixed = rewrite(WorksheetFormat.HTML, HTML, {OLD: NEW})
    assert fixed == HTML.replace(b"'http://old.test/a?x=1&amp;y=2'", f"'{MARKUP}'".encode())
    assert list(found(WorksheetFormat.HTML, fixed)) == [WRITTEN, OTHER]


def test_links_of_markdown_are_found_but_not_in_code():
    links = found(WorksheetFormat.MARKDOWN, MARKDOWN)
    assert list(links) == [OLD, OTHER, "https://wiki.test/Rock_(geology)"]
    assert links[OLD].anchor == "the basalt page"
    assert read(WorksheetFormat.MARKDOWN, MARKDOWN).title == "Volcanoes"


def test_markdown_comes_back_with_only_the_addresses_changed():
    fixed = rewrite(WorksheetFormat.MARKDOWN, MARKDOWN, {OLD: NEW})
    before, after = MARKDOWN.decode().splitlines(), fixed.decode().splitlines()
    changed = [line for line in difflib.ndiff(before, after) if line.startswith("+ ")]
    assert changed == [
        f'+ Read [the basalt page]({WRITTEN} "title") first, then <{OTHER}>, and (see {OTHER}).',
        f"+ [ref]: {WRITTEN}",
    ]


@pytest.mark.parametrize(
    ("format_", "data", "part"),
    [
        (WorksheetFormat.DOCX, docx(), "word/_rels/document.xml.rels"),
        (WorksheetFormat.ODT, odt(), "content.xml"),
    ],
)
def test_office_file_comes_back_with_one_member_changed_and_the_others_byte_for_byte(format_, data, part):
    assert found(format_, data)[OLD].anchor == "the basalt page"
    fixed = rewrite(format_, data, {OLD: NEW})
    old, new = zipfile.ZipFile(io.BytesIO(data)), zipfile.ZipFile(io.BytesIO(fixed))
    assert new.testzip() is None
    assert [entry.filename for entry in new.infolist()] == [entry.filename for entry in old.infolist()]
    written = old.read(part).decode()
    first = written.index(OLD.replace("&", "&amp;"))
    assert new.read(part).decode() == written[:first] + MARKUP + written[first + len(OLD) + 4 :]
    for one, other in zip(old.infolist(), new.infolist(), strict=True):
        if one.filename == part:
            continue
        assert raw(data, one) == raw(fixed, other)
        assert (one.date_time, one.external_attr, one.CRC) == (
            other.date_time,
            other.external_attr,
            other.CRC,
        )


def raw(data, entry):
    """A member's record as it lies in the file."""
    return data[entry.header_offset : entry.header_offset + 30 + len(entry.filename) + entry.compress_size]


def test_field_of_a_word_document_is_a_link_too():
    data = docx()
    assert "http://field.test/d?a=1&b=2" in found(WorksheetFormat.DOCX, data)
    fixed = rewrite(WorksheetFormat.DOCX, data, {"http://field.test/d?a=1&b=2": NEW})
    body = zipfile.ZipFile(io.BytesIO(fixed)).read("word/document.xml").decode()
    assert body == DOCUMENT.replace("http://field.test/d?a=1&amp;b=2", MARKUP)


def test_nothing_replaced_is_nothing_changed():
    for format_, data in (
        (WorksheetFormat.DOCX, docx()),
        (WorksheetFormat.ODT, odt()),
        (WorksheetFormat.HTML, HTML),
        (WorksheetFormat.MARKDOWN, MARKDOWN),
    ):
        assert rewrite(format_, data, {"http://elsewhere.test/": NEW}) == data


def test_links_of_a_pdf_are_read_and_the_pdf_is_not_rewritten():
    data = a_pdf("Read the basalt page", links=((OTHER, 0),))
    assert list(found(WorksheetFormat.PDF, data)) == [OTHER]
    with pytest.raises(Unreadable):
        rewrite(WorksheetFormat.PDF, data, {OTHER: NEW})


@pytest.mark.parametrize(
    "data",
    [
        b"no zip",
        docx()[:-40],
        docx(**{"word/_rels/document.xml.rels": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}),
        docx(**{"word/_rels/document.xml.rels": "<a" * 3}),
    ],
)
def test_damaged_or_hostile_office_files_are_refused(data):
    with pytest.raises(Unreadable):
        rewrite(WorksheetFormat.DOCX, data, {OLD: NEW})


def test_utf_16_is_refused_in_words():
    with pytest.raises(Unreadable, match="UTF-16"):
        read(WorksheetFormat.HTML, HTML.decode("latin-1").encode("utf-16"))


@given(
    st.binary(max_size=400),
    st.sampled_from([WorksheetFormat.HTML, WorksheetFormat.MARKDOWN, WorksheetFormat.TEXT]),
)
def test_any_bytes_are_read_and_only_links_ever_change(data, format_):
    try:
        links = read(format_, data).links
        rewritten = rewrite(format_, data, {link.url: link.url for link in links if "&" not in link.url})
    except Unreadable:
        return
    if not links:
        assert rewritten == data


def test_hostile_text_takes_no_longer_than_its_length():
    begun = time.thread_time()
    for hostile in (
        b"[" * 500_000,
        b"](http://" * 50_000,
        b"http://a.test/" + b"(" * 500_000,
        b"`" * 500_000,
    ):
        read(WorksheetFormat.MARKDOWN, hostile)
    assert time.thread_time() - begun < 5
