"""addons.autoredirect: the note on a page to which a rule has led a reader."""

import gzip

from addons.autoredirect import AutoRedirectNote
from addons.flows import make_response
from proxy.privacy.clients import ClientHasher
from proxy.privacy.recentpages import RecentPages
from tests.make import a_flow

BROWSER = [("Accept", "text/html"), ("If-None-Match", '"1"')]
HTML = ("Content-Type", "text/html; charset=utf-8")
TARGET, MISSED = "http://school.test/new", "http://school.test/old"


class Reader:
    def __init__(self):
        self.recent_pages, self.hasher = RecentPages(), ClientHasher()
        self.addon = AutoRedirectNote(self.recent_pages, self.hasher)

    def is_led(self):
        self.recent_pages.note_redirect(self.hasher.hash("127.0.0.1"), MISSED, TARGET)

    def opens(self, url=TARGET, headers=BROWSER, response=(200, [HTML], b"<body><p>Lava")):
        flow = a_flow(url, headers=headers)
        self.addon.requestheaders(flow)
        status, fields, body = response
        flow.response = make_response(status=status, headers=tuple(fields), body=body)
        self.addon.response(flow)
        return flow


def test_the_page_names_the_missing_address_once():
    reader = Reader()
    reader.is_led()
    first, second = reader.opens(), reader.opens()
    assert "school.test/old" in first.response.get_text()
    assert first.response.get_text().endswith("<p>Lava")
    assert "school.test/old" not in second.response.get_text()


def test_it_is_fetched_whole_and_not_kept_by_the_browser():
    reader = Reader()
    reader.is_led()
    page = (200, [HTML, ("ETag", '"1"'), ("Content-Encoding", "gzip")], gzip.compress(b"<body>Lava"))
    flow = reader.opens(response=page)
    assert "if-none-match" not in flow.request.headers
    assert flow.response.headers["cache-control"] == "no-store"
    assert "etag" not in flow.response.headers
    assert int(flow.response.headers["content-length"]) == len(flow.response.raw_content)
    assert flow.response.get_text().endswith("Lava")


def test_a_look_ahead_is_no_arrival():
    reader = Reader()
    reader.is_led()
    for headers in ([*BROWSER, ("Sec-Purpose", "prefetch")], [("Accept", "image/*")]):
        assert "school.test/old" not in reader.opens(headers=headers).response.get_text()
    assert "school.test/old" in reader.opens().response.get_text()


def test_its_length_is_told_in_one_way_only():
    reader = Reader()
    reader.is_led()
    flow = reader.opens(response=(200, [HTML, ("Transfer-Encoding", "chunked")], b"<body>Lava"))
    assert "school.test/old" in flow.response.get_text()
    assert "transfer-encoding" not in flow.response.headers


def test_a_reader_who_was_not_led_there_sees_the_page_as_it_is():
    flow = Reader().opens()
    assert flow.response.get_text() == "<body><p>Lava"
    assert flow.request.headers["if-none-match"] == '"1"'


def test_what_is_no_page_is_left_as_it_is():
    reader = Reader()
    reader.is_led()
    picture = (200, [("Content-Type", "image/png")], b"\x89PNG")
    assert reader.opens(response=picture).response.raw_content == b"\x89PNG"
