"""The judge of the harness: what it lets pass and what it complains of."""

import random
import time

import pytest

from tests.chaos.judge import Exchange, Judge
from tests.chaos.lessons import lesson
from tests.chaos.site import Site
from tests.chaos.wire import Answer

URL = "http://a.test/page/1"
OWN = "http://a.test/own/1"


@pytest.fixture
def judge():
    site = Site(luck=random.Random(1), is_shared_with_squid=False)
    site.said_at |= {(url, 1): time.monotonic() - 100 for url in (URL, OWN)}
    site.said_at[URL, 2] = time.monotonic()
    return Judge(site=site, clock_is_true=True)


def complaints(judge, body, url=URL, status=200, **headers):
    """What is said of an answer to pupil7; header names are written with underscores."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    path = url.removeprefix("http://a.test")
    exchange = Exchange(url=url, path=path, method="GET", who="pupil7", began=time.monotonic())
    judge.answered(exchange, Answer(status=status, headers=named, body=body))
    return " ".join(judge.complaints)


@pytest.mark.parametrize(
    ("body", "known"),
    [
        (lesson(URL, 2), {}),
        (lesson(URL, 1), {"age": "101", "cache_control": "max-age=600"}),
        (lesson(URL, 1), {"age": "101", "cache_control": "max-age=9", "cache_status": "linkmend;fwd=stale"}),
        (lesson(OWN, 1, "pupil7"), {"url": OWN, "age": "101"}),
    ],
    ids=["right", "aged", "honestly stale", "one's own"],
)
def test_a_right_answer_passes(judge, body, known):
    assert complaints(judge, body, **known) == ""


@pytest.mark.parametrize(
    ("body", "known", "complaint"),
    [
        (lesson(URL, 2)[:-40], {}, "torn"),
        (lesson(URL, 2).replace(b"glacier", b"parrots", 1), {}, "torn"),
        (lesson("http://a.test/page/3", 1), {}, "the page http://a.test/page/3"),
        (lesson(OWN, 1, "pupil8"), {"url": OWN, "age": "101"}, "the page of pupil8"),
        (lesson(URL, 2), {"set_cookie": "seen=pupil8"}, "seen=pupil8"),
        (lesson(URL, 1), {"age": "3"}, "100 s old, not 3"),
        (lesson(URL, 9), {}, "never said"),
        (b"EVIL SMUGGLE", {}, "smuggled"),
        (b"", {"linkmend_miss": "timeout", "status": 504}, "a miss for no reason"),
        (b"sorry", {"status": 503}, "another status"),
        (b"secret", {"url": "http://a.test/forbidden/1"}, "a forbidden page"),
        (
            lesson(URL, 1),
            {"age": "101", "cache_control": "max-age=9", "cache_status": "linkmend;hit;ttl=5"},
            "not marked as stale",
        ),
    ],
)
def test_a_wrong_one_is_complained_of(judge, body, known, complaint):
    assert complaint in complaints(judge, body, **known)


def test_an_error_after_the_site_answered_badly_is_nobodys_fault(judge):
    judge.site.troubled_at[URL] = time.monotonic()
    assert complaints(judge, b"", linkmend_miss="timeout", status=504) == ""
