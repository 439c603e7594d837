"""PDF, EPUB, DOCX and ODT files that are damaged or made to hurt: each costs itself only, within fixed limits.

The limits are the system's own (tests/unit/repair/parse/formats/test_reader.py shows that they are set), so what is
counted here is what became of the helper process and of the honest file after each hostile one.
"""

import io
import itertools
import random
import zipfile
import zlib

import pytest

from repair.errors import FileTooCostly
from repair.parse.formats.kinds import FileKind
from repair.parse.formats.reader import FileLimits, FileReader
from tests.files import a_docx, a_pdf, a_zip, an_epub, an_odt, docx_paragraph, pdf_of

MEBI = 1024**2
SEED = 14
MUTANTS = 30  # of each sample, twice

SAMPLES = {
    "pdf": (
        FileKind.PDF,
        a_pdf("Leaves turn light\ninto sugar", "page two", title="Plants", links=[("http://a.test/x", 1)]),
    ),
    "docx": (FileKind.DOCX, a_docx("Leaves", title="Plants", body=docx_paragraph("Light", style="Heading1"))),
    "odt": (FileKind.ODT, an_odt("Leaves", title="Plants", body="<text:h>Light</text:h>")),
    "epub": (
        FileKind.EPUB,
        an_epub("<h1>Leaves</h1><p>Light <a href='http://a.test/'>x</a></p>", title="Plants"),
    ),
}


@pytest.fixture(scope="module")
def reader():
    reader = FileReader(FileLimits(memory_bytes=256 * MEBI, cpu_s=1, wall_s=300.0))
    yield reader
    reader.close()


def outcome(reader, kind, data):
    """What becomes of a file: its text, "refused", or "killed" when the helper had to be replaced."""
    try:
        found = reader.read(kind, data)
    except FileTooCostly:
        return "killed"
    return "refused" if found is None else found.text


def assert_honest_files_are_read(reader):
    number = reader.stats().read  # a file not read before: refused ones are remembered
    assert outcome(reader, FileKind.PDF, a_pdf(f"honest {number}")) == f"honest {number}"


def mutated(data, chance):
    """The bytes with some of them changed, removed, doubled or moved."""
    body = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(body))
        match chance.randrange(5):
            case 0:
                body[at] = chance.randrange(256)
            case 1:
                del body[at : at + chance.randint(1, 40)]
            case 2:
                body[at:at] = body[at : at + chance.randint(1, 200)]
            case 3:
                body[at:at] = chance.choice(
                    (b"\xff" * 8, b"99999999999", b"[" * 50, b"<<", b"-1 0 R", b"&x;", b"<")
                )
            case 4:
                del body[at:]
        if not body:
            return b"%"
    return bytes(body)


def mutated_within(data, chance):
    """A zip file whose parts are mutated, and whose checksums are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice([name for name, content in parts.items() if content])
    return a_zip(parts | {name: mutated(parts[name], chance)})


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_are_read_or_refused(reader, name):
    kind, sample = SAMPLES[name]
    chance = random.Random(SEED)
    also = mutated if kind is FileKind.PDF else mutated_within
    mutants = [change(sample, chance) for change in (mutated, also) for _ in range(MUTANTS)]
    before = reader.stats()
    outcomes = [outcome(reader, kind, data) for data in mutants]
    assert "killed" not in outcomes
    assert reader.stats().lost == before.lost
    assert_honest_files_are_read(reader)
    assert outcome(reader, kind, sample) not in ("refused", "killed")


def deflated(unit, size):
    packer = zlib.compressobj(9)
    pieces = [packer.compress(unit * (MEBI // len(unit))) for _ in range(size // MEBI)]
    return b"".join(pieces) + packer.flush()


def zip_bomb(name):
    """A part of 256 MiB of well-formed elements."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as part,
    ):
        part.write(b"<a>")
        for _ in range(256):
            part.write(b"<b></b>" * (MEBI // 7))
    return out.getvalue()


def pdf_with_content(content, *, filters="/FlateDecode"):
    font = {5: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
    return pdf_of(
        {
            1: "<< /Type /Catalog /Pages 2 0 R >>",
            2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
            "/Resources << /Font << /F1 5 0 R >> >> >>",
            4: b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream"
            % (len(content), filters.encode(), content),
        }
        | font
    )


def pdf_of_forms_in_forms():
    """Ten forms, each drawing the next ten times: ten thousand million words."""
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        "/Resources << /XObject << /X 10 0 R >> >> >>",
        4: "<< /Length 60 >>\nstream\n" + "/X Do " * 10 + "\nendstream",
        5: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for number in range(10, 21):
        content = "/X Do " * 10 if number < 20 else "BT /F1 12 Tf (hello) Tj ET"
        objects[number] = (
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Length {len(content)} /Resources << "
            f"/XObject << /X {number + 1} 0 R >> /Font << /F1 5 0 R >> >> >>\nstream\n{content}\nendstream"
        )
    return pdf_of(objects)


def page_tree_loop():
    return pdf_of(
        {
            1: "<< /Type /Catalog /Pages 2 0 R >>",
            2: "<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 1000000 >>",
            3: "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 900000 >>",
        }
    )


def laughs(element):
    """Twelve entities, each ten times the one before."""
    letters = "abcdefghijklm"
    entities = "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in itertools.pairwise(letters)
    )
    return f'<!DOCTYPE x [<!ENTITY a "ha">{entities}]><{element}>&m;</{element}>'


BOMBS = {
    "zip bomb": (FileKind.DOCX, lambda: zip_bomb("word/document.xml"), "refused"),
    "entities in DOCX": (FileKind.DOCX, lambda: a_zip({"word/document.xml": laughs("p")}), "refused"),
    "entities in ODT": (FileKind.ODT, lambda: a_zip({"content.xml": laughs("p")}), "refused"),
    "entities in EPUB": (FileKind.EPUB, lambda: a_zip({"META-INF/container.xml": laughs("p")}), "refused"),
    "too many entries": (FileKind.ODT, lambda: a_zip({f"{n}": "" for n in range(20_000)}), "refused"),
    "deep XML": (FileKind.DOCX, lambda: a_zip({"word/document.xml": "<a>" * 1_000_000}), "refused"),
    "deep HTML": (FileKind.EPUB, lambda: an_epub("<div>" * 300_000), None),
    "deep PDF": (FileKind.PDF, lambda: a_pdf("deep", extra={4: f"<< /Title {'[' * 100_000} >>"}), None),
    "page tree loop": (FileKind.PDF, page_tree_loop, None),
    "giant page": (FileKind.PDF, lambda: a_pdf("large").replace(b"[0 0 600 800]", b"[0 0 9e9 9e9]"), "large"),
    "huge stream": (FileKind.PDF, lambda: pdf_with_content(deflated(b" ", 300 * MEBI)), "killed"),
    "stream in a stream": (
        FileKind.PDF,
        lambda: pdf_with_content(
            zlib.compress(deflated(b"\0", 400 * MEBI), 9), filters="[/FlateDecode /FlateDecode]"
        ),
        "killed",
    ),
    "much text": (
        FileKind.PDF,
        lambda: pdf_with_content(deflated(b"BT /F1 9 Tf (a) Tj ET ", 100 * MEBI)),
        "killed",
    ),
    "forms in forms": (FileKind.PDF, pdf_of_forms_in_forms, "killed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_at_most_one_helper(reader, name):
    kind, make, expected = BOMBS[name]
    data = make()
    assert len(data) < 8 * MEBI
    before = reader.stats()
    became = outcome(reader, kind, data)
    if expected is not None:  # otherwise the versions of libraries decide how much is read
        assert became == expected
    assert reader.stats().lost - before.lost == (became == "killed")
    assert_honest_files_are_read(reader)
    after = reader.stats()
    assert after.started - before.started <= 2
    if became == "killed":  # and it is not tried again
        assert outcome(reader, kind, data) == "refused"
        assert reader.stats() == after
