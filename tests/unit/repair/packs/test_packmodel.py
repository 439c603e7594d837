"""What a pack says of itself, and what of it is believed."""

from dataclasses import replace

import pytest

from repair.crawling.topics import InvalidTopic
from repair.packs import packmodel
from repair.packs.packmodel import ManifestBuilder, PackOrigin, read_manifest
from tests.packing import AT, ORIGIN, TOPIC, an_item

OTHER = PackOrigin(title="Rivers", sender="Valley School", licence="own work", created_at=AT)


def test_lists_come_back_as_they_were_written():
    builder = ManifestBuilder(ORIGIN, [TOPIC])
    lines = builder.page_line(an_item(topics=(("Soil", 0.75),))) + builder.page_line(
        an_item("http://b.test/", origin=OTHER)
    )
    manifest = read_manifest(builder.header(), lines)
    assert manifest.origins == (ORIGIN, OTHER)
    assert manifest.pages["https://a.test/soil"].topics == {"Soil": 0.75}
    assert manifest.topics[0].topic() == replace(TOPIC, seeds=())
    assert [manifest.origin_of(url) for url in ("https://a.test/soil", "http://b.test/")] == [ORIGIN, OTHER]


def test_page_passed_on_keeps_its_first_sender():
    builder = ManifestBuilder(ORIGIN, [])
    line = builder.page_line(an_item(origin=OTHER))
    assert read_manifest(builder.header(), line).origin_of("https://a.test/soil") == OTHER


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        (b"not json", b""),
        (
            b'{"version": 2, "origins": [{"title":"","sender":"","licence":"","created_at":"2026-01-01"}]}',
            b"",
        ),
        (b'{"version": 1, "origins": []}', b""),
        (ManifestBuilder(ORIGIN, []).header(), b'{"url": 3}\n'),
        (ManifestBuilder(ORIGIN, []).header(), b'{"url":"ftp://a.test/","fetched":"2026-01-01T00:00:00Z"}'),
        (
            ManifestBuilder(ORIGIN, []).header(),
            b'{"url":"http://a.test/","fetched":"2026-01-01T00:00:00Z","topics":{"a":7}}',
        ),
    ],
)
def test_lists_that_are_not_as_they_should_be_are_refused(header, lines):
    with pytest.raises(ValueError, match="."):
        read_manifest(header, lines)


def test_lists_are_bounded(monkeypatch):
    monkeypatch.setattr(packmodel, "MAX_LIST_BYTES", 10)
    with pytest.raises(ValueError, match="at most 10 bytes"):
        read_manifest(ManifestBuilder(ORIGIN, []).header(), b"")


def test_texts_of_a_pack_fit_on_a_line_each():
    hostile = PackOrigin(title="", sender="a\x1b[31m\nb" + "c" * 500, licence="x\u202ey", created_at=AT)
    shown = hostile.printable()
    assert (shown.title, shown.licence) == ("untitled", "x y")
    assert (shown.sender[:8], len(shown.sender)) == ("a [31m b", 80)
    assert shown.sender.isprintable()


def test_invalid_topic_of_a_pack_is_found_out():
    with pytest.raises(InvalidTopic):
        packmodel.PackedTopic(name="x", seeds=("javascript:1",)).topic()
