import pytest

from repair.parse.formats.extraction import MAX_TEXT, Unreadable
from repair.parse.formats.pdf import MAX_PAGES, read_pdf
from tests.files import a_pdf, pdf_of


def test_text_title_language_and_links_with_their_words():
    data = a_pdf(
        "Photosynthesis\nLeaves turn light into sugar\nRead about the water cycle\nand about soil",
        "The second page",
        title="Biology, part 1",
        language="en-GB",
        links=[("http://a.test/water", 2)],
    )
    found = read_pdf(data)
    assert found.title == "Biology, part 1"
    assert found.language == "en-GB"
    assert found.text.split("\n")[:2] == ["Photosynthesis", "Leaves turn light into sugar"]
    assert found.text.endswith("The second page")
    (link,) = found.links
    assert (link.url, link.anchor) == ("http://a.test/water", "Read about the water cycle")
    assert link.before.strip().endswith("into sugar")
    assert link.after.strip() == "and about soil"


def test_an_address_in_the_text_is_a_link_without_words():
    (link,) = read_pdf(a_pdf("see http://a.test/soil for more")).links
    assert (link.url, link.anchor) == ("http://a.test/soil", "")


def test_the_outline_gives_the_headings():
    extra = {
        1: "<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>",
        5: "<< /Type /Outlines /First 6 0 R /Last 6 0 R /Count 1 >>",
        6: "<< /Title (Chapter one) /Parent 5 0 R /Dest [10 0 R /Fit] >>",
    }
    assert read_pdf(a_pdf("text", extra=extra)).headings == ("Chapter one",)


def test_a_scan_has_no_text():
    assert read_pdf(a_pdf("")).text == ""


def test_a_password_makes_it_unreadable():
    locked = (
        f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >> /ID [<00> <00>]"
    )
    with pytest.raises(Unreadable, match="assword"):
        read_pdf(a_pdf("secret", encrypt=locked))


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"%PDF-1.7\n" + b"\xff" * 500, pdf_of({1: "null"})])
def test_what_is_no_pdf_is_unreadable(data):
    with pytest.raises(Unreadable, match="not a readable PDF"):
        read_pdf(data)


def test_a_long_book_is_read_as_far_as_a_page_would_be():
    line = "word " * 100
    found = read_pdf(a_pdf(*[f"{line}\n{line}"] * 250))
    assert MAX_TEXT <= len(found.text) < MAX_TEXT + 2_000


def test_endless_pages_are_not_all_read():
    assert read_pdf(a_pdf(*["x"] * (MAX_PAGES + 50))).text.count("x") == MAX_PAGES
