"""Worksheets made to harm: bombs, entities, damage. Each costs only itself, and the next one is read."""

import io
import random
import zipfile

import pytest

from repair.errors import FileTooCostly
from repair.parse.formats.extraction import Refusal
from repair.parse.formats.reader import FileLimits, FileReader
from repair.parse.formats.worksheets.model import (
    RewrittenWorksheet,
    WorksheetContent,
    WorksheetFormat,
    WorksheetJob,
)
from tests.files import a_zip

URL = "http://a.test/page"
GOOD = f"[a link]({URL})".encode()
RELATIONS = "word/_rels/document.xml.rels"
LINK = f'<Relationship Id="r1" Type="http://x/hyperlink" TargetMode="External" Target="{URL}"/>'


def docx(relations=f"<Relationships>{LINK}</Relationships>", document="<w/>"):
    return a_zip({"word/document.xml": document, RELATIONS: relations})


@pytest.fixture(scope="module")
def reader():
    reader = FileReader(FileLimits(cpu_s=3, wall_s=60.0))
    yield reader
    reader.close()


def read(reader, format_, data, **replacements):
    try:
        return reader.run(WorksheetJob(format=format_, data=data, replacements=replacements))
    except FileTooCostly:
        return Refusal(reason="too costly")


def overlapping():
    """A zip file in which two entries share their bytes, as in a non-recursive zip bomb."""
    data = bytearray(docx())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        place = archive.start_dir
        second = archive.infolist()[1]
    record = bytes(data).index(b"PK\1\2", place + 4)
    data[record + 42 : record + 46] = (0).to_bytes(4, "little")
    assert second.header_offset
    return bytes(data)


BOMBS = {
    "a part of 100 MB": (WorksheetFormat.DOCX, docx("<a>" + " " * 100_000_000)),
    "entities": (
        WorksheetFormat.DOCX,
        docx('<!DOCTYPE l [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><l>&c;</l>'),
    ),
    "deep XML": (WorksheetFormat.ODT, a_zip({"content.xml": "<a>" * 100_000})),
    "a million brackets": (WorksheetFormat.MARKDOWN, b"[" * 1_000_000 + b"](http://"),
    "open comments": (WorksheetFormat.HTML, b"<!--" * 200_000),
    "open tags": (WorksheetFormat.HTML, b"<a href=" * 200_000),
    "open attributes": (WorksheetFormat.HTML, b"<a " + b"x='" * 300_000),
    "overlapping entries": (WorksheetFormat.DOCX, overlapping()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_bomb_costs_only_itself(reader, name):
    format_, data = BOMBS[name]
    for replacements in ({}, {URL: "http://b.test/"}):
        found = read(reader, format_, data, **replacements)
        assert isinstance(found, Refusal | WorksheetContent | RewrittenWorksheet)
        if isinstance(found, WorksheetContent):
            assert len(found.links) <= 2_000
    good = read(reader, WorksheetFormat.MARKDOWN, GOOD)
    assert [link.url for link in good.links] == [URL]


@pytest.mark.slow
def test_damaged_documents_are_refused_or_read_never_more(reader):
    chance = random.Random(7)
    good = docx()
    for _ in range(150):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        for replacements in ({}, {URL: "http://b.test/"}):
            found = read(reader, WorksheetFormat.DOCX, bytes(data), **replacements)
            assert isinstance(found, Refusal | WorksheetContent | RewrittenWorksheet)
    assert isinstance(read(reader, WorksheetFormat.DOCX, good), WorksheetContent)
