import pytest

from repair.parse.formats import xmlevents
from repair.parse.formats.extraction import Unreadable
from repair.parse.formats.xmlevents import read_metadata, read_xml

DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


class Heard:
    def __init__(self):
        self.events = []

    def start(self, tag, attributes):
        self.events.append((tag, attributes))

    def end(self, tag):
        self.events.append(f"/{tag}")

    def text(self, text):
        self.events.append(text)


def test_names_come_without_namespaces():
    heard = Heard()
    assert read_xml(b'<a:x xmlns:a="urn:a" a:k="v">hi</a:x>', heard)
    assert heard.events == [("x", {"k": "v"}), "hi", "/x"]


def test_malformed_xml_is_read_as_far_as_it_goes():
    heard = Heard()
    assert not read_xml(b"<x>hi</y>", heard)
    assert ("x", {}) in heard.events


def test_entities_of_the_file_are_refused():
    with pytest.raises(Unreadable, match="entities"):
        read_xml(b'<!DOCTYPE x [<!ENTITY e "ha">]><x>&e;</x>', Heard())
    with pytest.raises(Unreadable, match="entities"):
        read_xml(b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', Heard())


def test_a_document_type_alone_does_no_harm():
    assert read_xml(b'<!DOCTYPE x PUBLIC "-//x" "http://a.test/x.dtd"><x/>', Heard())


def test_depth_and_length_are_bounded(monkeypatch):
    with pytest.raises(Unreadable, match="too deep"):
        read_xml(b"<x>" * (xmlevents.MAX_DEPTH + 1), Heard())
    monkeypatch.setattr(xmlevents, "MAX_EVENTS", 10)
    with pytest.raises(Unreadable, match="too long"):
        read_xml(b"<x>" + b"<y/>" * 11, Heard())


def test_the_first_field_of_a_name_counts():
    found = read_metadata(f"<m {DC}><dc:title> A </dc:title><dc:title>B</dc:title></m>".encode())
    assert (found.get("title"), found.get("language", "title"), found.get("subject")) == ("A", "A", "")


def test_a_part_that_is_missing_has_no_fields():
    assert read_metadata(None).get("title") == ""
