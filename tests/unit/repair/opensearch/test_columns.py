"""What the district keeps packed in columns: the links of a page, the known URLs of a site."""

import base64
import random
import zlib

import pytest

from repair.model import Link
from repair.opensearch.pagedocument import (
    document_id,
    joined,
    link_columns,
    page_number,
    parted,
    unpacked_links,
)
from repair.opensearch.sitesheets import SAMPLE, NewAddresses, changed_sheet, sheet, unpacked_sheet

_SITE = "https://a.example/"
_LINKS = [
    Link(target_url=f"{_SITE}1", anchor="line\nbreak", before='say "so"', after="\\ end"),
    Link(target_url=f"{_SITE}10", anchor="ten"),
    Link(target_url=f"{_SITE}1", anchor="again"),
]


def packed(text):
    return base64.b64encode(zlib.compress(text)).decode().rstrip("=")


def test_links_come_out_as_they_went_in_and_those_to_one_url_alone():
    columns = link_columns(_LINKS)
    assert columns["linked"] == [document_id(page_number(f"{_SITE}{name}")) for name in ("1", "10")]
    assert [*unpacked_links(columns["links"])] == _LINKS
    assert [*unpacked_links(columns["links"].rstrip("="), f"{_SITE}1")] == [_LINKS[0], _LINKS[2]]
    assert [*unpacked_links(columns["links"], f"{_SITE}2")] == []


@pytest.mark.parametrize(
    "column",
    ["AAAA", packed(b'["https://a.example/1"]'), packed(b"[1"), packed(b"[" * 100_000)],
    ids=["not packed", "too few", "half", "nested"],
)
def test_garbage_in_a_column_is_a_value_error(column):
    with pytest.raises(ValueError, match="."):
        list(unpacked_links(column))


def test_a_column_that_unpacks_to_a_gigabyte_is_read_to_its_limit():
    assert [*unpacked_links(packed(b"\n" * 100_000_000))] == []


def test_schools_that_add_to_a_sheet_in_any_order_make_the_same():
    urls = [f"{_SITE}{number}" for number in range(2 * SAMPLE)]
    sheets = []
    for seed in (1, 2):
        random.Random(seed).shuffle(urls)
        first = sheet(_SITE, urls[:SAMPLE])
        sheets.append(changed_sheet(_SITE, first["addresses"], urls[SAMPLE:], ()))
    assert sheets[0] == sheets[1]
    assert len(unpacked_sheet(sheets[0]["addresses"])[1]) == SAMPLE


def test_a_sheet_changes_only_for_urls_that_it_would_have():
    first = sheet(_SITE, [f"{_SITE}1", f"{_SITE}2"])["addresses"]
    assert changed_sheet(_SITE, first, [f"{_SITE}2"], [f"{_SITE}9"]) is None
    after = changed_sheet(_SITE, first, [f"{_SITE}3"], [f"{_SITE}1"])["addresses"]
    assert set(unpacked_sheet(after)[1]) == {f"{_SITE}2", f"{_SITE}3"}


def test_a_sheet_that_is_garbage_begins_anew_and_foreign_urls_in_it_do_not_count():
    after = changed_sheet(_SITE, "garbage", [f"{_SITE}1"], ())
    assert unpacked_sheet(after["addresses"]) == (_SITE, (f"{_SITE}1",))
    foreign = packed(f"{_SITE}\nhttps://other.example/1\n{_SITE}2".encode())
    assert unpacked_sheet(foreign) == (_SITE, (f"{_SITE}2",))


def test_urls_are_told_once():
    new = NewAddresses()
    assert new.by_site([f"{_SITE}1", f"{_SITE}1", "mailto:a@b"]) == {_SITE: [f"{_SITE}1"]}
    new.told([f"{_SITE}1"])
    assert new.by_site([f"{_SITE}1", f"{_SITE}2"]) == {_SITE: [f"{_SITE}2"]}


def test_a_page_has_every_field_so_that_terms_are_as_common_as_among_all_pages():
    for terms in ([], ["water"], ["water", "cycle"]):
        assert joined(terms)
        assert parted(joined(terms)) == terms
