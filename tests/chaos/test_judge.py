"""The judge of the harness: what it accepts, what it complains of, and which trouble excuses what."""

import gzip
import random
import time

import pytest

from tests.chaos.excuses import Excuses
from tests.chaos.judge import Exchange, Judge
from tests.chaos.lessons import lesson
from tests.chaos.site import Site
from tests.chaos.squidlog import SquidLog
from tests.chaos.wire import Answer

URL = "http://a.test/page/1"
OWN = "http://a.test/own/1"
LOST = "http://a.test/lost/1"
MISS = {"status": 404, "linkmend_miss": "not_found", "cache_control": "no-store", "url": LOST}


@pytest.fixture
def judge():
    site = Site(luck=random.Random(1), is_shared_with_squid=False)
    site.said_at |= {(url, 1): time.monotonic() - 100 for url in (URL, OWN)}
    site.said_at[URL, 2] = time.monotonic()
    return Judge(excuses=Excuses(site=site), clock_is_true=True)


def an_exchange(url=URL, **asked):
    path = url.removeprefix("http://a.test").removeprefix("http://linkmend.internal")
    return Exchange(url=url, path=path, method="GET", who="pupil7", began=time.monotonic(), headers=asked)


def told(judge):
    judge.settle(all_of_it=True)
    return " ".join(judge.complaints)


def complaints(judge, body, url=URL, status=200, asked=None, **headers):
    """The complaints about an answer to pupil7; header names are written with underscores."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    judge.answered(an_exchange(url, **(asked or {})), Answer(status=status, headers=named, body=body))
    return told(judge)


@pytest.mark.parametrize(
    ("body", "known"),
    [
        (lesson(URL, 2), {}),
        (gzip.compress(lesson(URL, 2), mtime=0), {"content_encoding": "gzip"}),
        (lesson(URL, 1), {"age": "101", "cache_control": "max-age=600"}),
        (lesson(URL, 1), {"age": "101", "cache_control": "max-age=9", "cache_status": "linkmend;fwd=stale"}),
        (lesson(OWN, 1, "pupil7"), {"url": OWN, "age": "101"}),
        (lesson(URL, 2), {"set_cookie": "seen=pupil7"}),
        (b"", {"status": 304, "etag": '"2"', "asked": {"If-None-Match": '"2"'}}),
        (
            lesson(URL, 2)[10:20],
            {
                "status": 206,
                "etag": '"2"',
                "content_range": f"bytes 10-19/{len(lesson(URL, 2))}",
                "asked": {"Range": "bytes=10-19"},
            },
        ),
        (b"<html>not here</html>\n", MISS),
        (b'{"kind": "not_found"}', {**MISS, "content_type": "application/json"}),
        (f"404 not_found: {LOST}\n".encode(), {**MISS, "content_type": "text/plain"}),
        (b"<html>found</html>", {"url": "http://linkmend.internal/search?q=comet"}),
        (b"<html>no</html>", {"url": "http://a.test/forbidden/1", "status": 403}),
    ],
)
def test_a_right_answer_passes(judge, body, known):
    assert complaints(judge, body, **known) == ""


@pytest.mark.parametrize(
    ("body", "known", "complaint"),
    [
        (lesson(URL, 2)[:-40], {}, "torn"),
        (lesson(URL, 2).replace(b"glacier", b"parrots", 1), {}, "torn"),
        (gzip.compress(lesson(URL, 2), mtime=0)[:-9], {"content_encoding": "gzip"}, "torn"),
        (lesson("http://a.test/page/3", 1), {}, "the page http://a.test/page/3"),
        (lesson(OWN, 1, "pupil8"), {"url": OWN, "age": "101"}, "something of pupil8"),
        (gzip.compress(b"for pupil8", mtime=0), {"content_encoding": "gzip"}, "something of pupil8"),
        (lesson(URL, 2), {"set_cookie": "seen=pupil8"}, "something of pupil8"),
        (b"<html>Volcano of pupil8</html>", MISS, "something of pupil8"),
        (lesson(URL, 1), {"age": "3"}, "100 s old, not 3"),
        (lesson(URL, 9), {}, "never said"),
        (b"EVIL SMUGGLE", {}, "smuggled"),
        (b"", {"linkmend_miss": "timeout", "status": 504}, "a miss for no reason"),
        (b"<html>half a p", MISS, "half a page"),
        (b'{"kind": "not_f', {**MISS, "content_type": "application/json"}, "JSON that is none"),
        (b"404 not_found: http://a.te", {**MISS, "content_type": "text/plain"}, "half a note"),
        (b"<html></html>", {**MISS, "cache_control": "max-age=60"}, "may be stored"),
        (b"<html></html>", {**MISS, "status": 200}, "another status"),
        (b"sorry", {"status": 503}, "another status"),
        (b"sorry", {"x_chaos": "error"}, "somebody else's bad answer"),
        (b"secret", {"url": "http://a.test/forbidden/1"}, "a forbidden page"),
        (b"", {"status": 304, "etag": '"2"'}, "a 304 to who has nothing"),
        (b"", {"status": 304, "etag": '"1"', "asked": {"If-None-Match": '"2"'}}, "a 304 with"),
        (b"", {"status": 304, "age": "1", "asked": {"If-None-Match": '"1"'}}, "100 s old, not 1"),
        (
            lesson(URL, 1)[10:20],
            {
                "status": 206,
                "etag": '"2"',
                "content_range": "bytes 10-19/9",
                "asked": {"Range": "bytes=10-19"},
            },
            "not of version 2",
        ),
        (b'<a href="/own/3">', {"url": "http://linkmend.internal/search?q=comet"}, "a page of one's own"),
        (b"", {"url": "http://linkmend.internal/search?q=comet", "status": 503}, "no honest word"),
        (b"<html></html>", {"url": "http://linkmend.internal/search", "status": 502}, "no honest word"),
        (
            lesson(URL, 1),
            {"age": "101", "cache_control": "max-age=9", "cache_status": "linkmend;hit;ttl=5"},
            "not marked as stale",
        ),
    ],
)
def test_a_wrong_one_is_complained_of(judge, body, known, complaint):
    assert complaint in complaints(judge, body, **known)


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_hang_is_complained_of(judge, has_begun):
    judge.hung(an_exchange(), has_begun=has_begun)
    assert "a hang" in told(judge)


def test_a_site_that_hangs_excuses_a_body_that_does_not_end_but_not_an_answer_that_does_not_begin(judge):
    judge.excuses.site.troubled_at[URL] = time.monotonic()
    judge.hung(an_exchange(), has_begun=True)
    assert told(judge) == ""
    judge.hung(an_exchange(), has_begun=False)
    assert "before the answer" in told(judge)


def test_who_is_cut_off_for_no_reason_complains(judge):
    judge.unanswered(an_exchange(), "EOF")
    assert "cut off for no reason (EOF)" in told(judge)


def test_an_error_after_the_site_answered_badly_is_nobodys_fault(judge):
    judge.excuses.site.troubled_at[URL] = time.monotonic()
    judge.unanswered(an_exchange(), "EOF")
    assert complaints(judge, b"sorry", status=503) == ""


def test_a_killed_process_excuses_who_is_cut_off_and_no_wrong_answer(judge):
    judge.excuses.cut()
    judge.unanswered(an_exchange(), "EOF")
    assert told(judge) == ""
    assert "another status" in complaints(judge, b"sorry", status=503)


def test_a_site_that_is_away_excuses_a_miss_and_nobody_who_is_cut_off(judge):
    judge.excuses.away()
    assert complaints(judge, b"sorry", status=503) == ""
    judge.unanswered(an_exchange(), "EOF")
    assert "cut off" in told(judge)


def test_whatever_happens_nothing_excuses_a_torn_body_or_what_is_anothers(judge):
    judge.excuses.site.troubled_at |= {URL: time.monotonic(), OWN: time.monotonic()}
    with judge.excuses.absence():
        assert "torn" in complaints(judge, lesson(URL, 2)[:-40])
        assert "pupil8" in complaints(judge, lesson(OWN, 1, "pupil8"), url=OWN)


def test_squid_is_to_blame_only_for_what_its_own_log_owns_up_to(judge, tmp_path):
    log = tmp_path / "access.log"
    judge.excuses.squid = SquidLog(log)
    log.write_text(f"{time.time():.3f} GET {URL} 200 -/- TCP_MISS 300\n", encoding="ascii")
    assert "another status" in complaints(judge, b"sorry", status=503)
    judge.complaints.clear()
    with log.open("a", encoding="ascii") as more:
        more.write(f"{time.time():.3f} GET {URL} 502 ERR_READ_ERROR/WITH_SERVER TCP_MISS 300\n")
    assert complaints(judge, b"sorry", status=503) == ""
    assert "torn" in complaints(judge, lesson(URL, 2)[:-40])


def test_a_complaint_tells_what_went_on_around_it(judge):
    judge.trace = lambda path, began, ended: f"trouble around {path}"
    assert "trouble around /page/1" in complaints(judge, b"sorry", status=503)


def test_of_very_many_complaints_the_first_are_told_and_the_rest_counted(judge):
    for number in range(1000):
        judge.complain(f"number {number}")
    told(judge)
    assert len(judge.complaints) + judge.more_complaints == 1000
    assert len(judge.complaints) < 100
