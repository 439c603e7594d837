"""addons.deadmedia: pictures, sounds and videos that are gone are noted with their page."""

import pytest

from addons.deadmedia import DeadMedia
from addons.flowstate import AnsweredBy, state_of
from proxy.failures import PARENT_DOWN, Failure
from proxy.privacy.clients import ClientHasher
from proxy.privacy.recentpages import RecentPages
from repair.model import MissKind
from tests.make import a_flow

PICTURE = "http://museum.test/rocks/basalt.jpg"
PAGE = "http://museum.test/rocks/basalt.html"
IMAGE = [("Accept", "image/avif,image/webp,image/*,*/*;q=0.8")]


class Noted:
    """The miss log, and what it was told."""

    def __init__(self):
        self.rows, self.recent = [], RecentPages()
        self.hasher = ClientHasher()
        self.addon = DeadMedia(self, self.recent, self.hasher)

    def record_dead_medium(self, url, page, medium, *, client):
        assert client
        self.rows.append((url, page, medium))

    def see(
        self, url=PICTURE, *, headers=IMAGE, referrer=PAGE, status=404, by=None, failure=None, method="GET"
    ):
        fields = [*headers, ("Referer", referrer)] if referrer else headers
        flow = a_flow(url, method=method, headers=fields, response=(status, [], b"no"))
        state_of(flow).answered_by, state_of(flow).failure = by, failure
        self.addon.response(flow)
        assert flow.response.raw_content == b"no"
        return self.rows


@pytest.fixture
def noted():
    return Noted()


def a_failure(error="dns_error", **more):
    return Failure(kind=MissKind.UNREACHABLE, error=error, status=502, **more)


@pytest.mark.parametrize(
    ("url", "headers", "medium"),
    [
        (PICTURE, IMAGE, "image"),
        (PICTURE, [("Sec-Fetch-Dest", "image"), ("Accept", "*/*")], "image"),
        ("http://museum.test/a", [("Sec-Fetch-Dest", "video")], "video"),
        ("http://museum.test/a", [("Accept", "video/webm,video/*;q=0.9")], "video"),
        ("http://museum.test/a.mp4?x=1", [("Accept", "*/*"), ("Range", "bytes=0-")], "video"),
        ("http://museum.test/a.mp3", [("Accept", "*/*"), ("Range", "bytes=0-")], "audio"),
    ],
)
def test_medium_that_is_gone_is_noted_with_its_page(noted, url, headers, medium):
    assert noted.see(url, headers=headers) == [(url, PAGE, medium)]


@pytest.mark.parametrize(
    "about",
    [
        {"status": 200},
        {"status": 503},
        {"status": 403},
        {"headers": [("Accept", "text/html")]},
        {"headers": [("Sec-Fetch-Dest", "document"), ("Accept", "image/png")]},
        {"headers": [("Sec-Fetch-Dest", "script")]},
        {"headers": [("Accept", "*/*"), ("Range", "bytes=0-")]},
        {"by": AnsweredBy.RULE},
        {"by": AnsweredBy.OFFLINE, "status": 504},
        {"method": "HEAD"},
        {"url": "http://museum.test/p.jpg?token=8f3a9c1b2d4e5f60718293a4b5c6d7e8"},
        {"failure": a_failure(fault=PARENT_DOWN)},
        {"failure": a_failure(detail="[Errno -3] Temporary failure")},
        {"failure": a_failure("connection_timeout")},
    ],
)
def test_everything_else_is_not_noted(noted, about):
    assert noted.see(**about) == []


def test_picture_of_a_site_that_is_gone_is_noted(noted):
    assert noted.see(status=502, by=AnsweredBy.FAILURE, failure=a_failure()) == [(PICTURE, PAGE, "image")]


def test_of_another_site_the_page_that_the_client_opened_last_there_is_meant(noted):
    client = noted.hasher.hash("127.0.0.1")
    for url in ("http://school.test/lessons/1", "http://school.test/lessons/2", "http://other.test/"):
        noted.recent.note_page(client, url)
    assert noted.see(referrer="http://school.test/") == [(PICTURE, "http://school.test/lessons/2", "image")]


def test_without_a_referrer_no_page_is_named(noted):
    assert noted.see(referrer="") == [(PICTURE, "", "image")]


def test_secret_in_the_pages_address_is_left_out(noted):
    noted.see(referrer="http://museum.test/album?token=8f3a9c1b2d4e5f60718293a4b5c6d7e8")
    assert "8f3a9c1b" not in str(noted.rows)
