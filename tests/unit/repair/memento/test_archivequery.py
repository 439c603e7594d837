import pytest

from repair.memento.archives import parse_archive
from repair.memento.asking import MAX_PAGES
from repair.memento.door import NoAnswer
from repair.memento.limits import REST_S, TRIES
from repair.memento.model import Outcome
from tests.archiving import BASE, LOST, Asking
from tests.make import a_page

SCHOOL = parse_archive(f"school wayback={BASE}")
TIMEMAP = f"{BASE}timemap/link/{LOST}"


def a_list(*digits, more=""):
    mementos = "".join(
        f'<{BASE}{each}/{LOST}>; rel="memento"; datetime="Sat, 01 Mar {each[:4]} 00:00:00 GMT",\n'
        for each in digits
    )
    return a_page(
        content_type="application/link-format", body=f'<{LOST}>; rel="original",\n{mementos}{more}'.encode()
    )


def a_part(url, year=2010):
    return f'<{url}>; rel="timemap"; from="Fri, 01 Jan {year} 00:00:00 GMT",\n'


def _years(answer):
    return [memento.at.year for memento in answer.mementos]


async def test_an_archive_lists_what_it_has(tmp_path):
    async with Asking(tmp_path, {TIMEMAP: a_list("20100301000000", "20140301000000")}) as asking:
        answer = await asking.asker.ask(SCHOOL, LOST)
    assert (answer.archive, answer.outcome, _years(answer)) == ("school", Outcome.ANSWERED, [2014, 2010])


async def test_an_archive_without_it_says_nothing(tmp_path):
    async with Asking(tmp_path, {}) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.NOTHING


@pytest.mark.parametrize(
    ("page", "note"),
    [
        (a_page(status=500), "it answered 500"),
        (a_page(body=b"<html>hello"), "no list of captures"),
        (a_page(body=b"x", headers=(("Content-Encoding", "gzip"),)), "packed in a broken way"),
        (NoAnswer("connection refused"), "connection refused"),
    ],
)
async def test_what_is_no_answer_is_broken(tmp_path, page, note):
    async with Asking(tmp_path, {TIMEMAP: page}) as asking:
        answer = await asking.asker.ask(SCHOOL, LOST)
    assert answer.outcome is Outcome.BROKEN
    assert note in answer.note


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_an_archive_that_does_not_speak_of_an_address_is_not_left_alone_for_it(tmp_path, status):
    async with Asking(tmp_path, {TIMEMAP: a_page(status=status)}, lists_per_minute=10_000) as asking:
        answers = [await asking.asker.ask(SCHOOL, LOST) for _ in range(TRIES + 1)]
    assert {answer.outcome for answer in answers} == {Outcome.BROKEN}


@pytest.mark.parametrize("status", [404, 410, 451])
async def test_what_an_archive_must_not_show_is_nothing(tmp_path, status):
    async with Asking(tmp_path, {TIMEMAP: a_page(status=status)}) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.NOTHING


async def test_an_archive_that_hangs_is_late(tmp_path):
    async with Asking(tmp_path, {TIMEMAP: None}, archive_deadline_s=0.05) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.LATE


async def test_when_one_question_fails_the_next_is_asked(tmp_path):
    archive = parse_archive(f"school cdx={BASE}cdx?url={{quoted}} wayback={BASE}")
    async with Asking(tmp_path, {TIMEMAP: a_list("20140301000000")}) as asking:
        asking.door.pages[archive.asked(archive.questions[0][1], LOST)] = a_page(status=500)
        assert _years(await asking.asker.ask(archive, LOST)) == [2014]


async def test_the_parts_of_a_paged_list_are_joined_latest_first(tmp_path):
    parts = {year: f"{BASE}timemap/{year}/{LOST}" for year in (2006, 2010)}
    pages = {
        TIMEMAP: a_list("20140301000000", more=a_part(parts[2006], 2006) + a_part(parts[2010], 2010)),
        parts[2010]: a_list("20100301000000"),
        parts[2006]: a_list("20060301000000"),
    }
    async with Asking(tmp_path, pages) as asking:
        assert _years(await asking.asker.ask(SCHOOL, LOST)) == [2014, 2010, 2006]


async def test_parts_that_lead_to_each_other_end(tmp_path):
    urls = [f"{BASE}timemap/{number}/{LOST}" for number in range(100)]
    pages = {
        url: a_list("20140301000000", more="".join(a_part(each) for each in urls)) for url in (TIMEMAP, *urls)
    }
    async with Asking(tmp_path, pages, lists_per_minute=10_000) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.ANSWERED
        assert len(asking.door.asked) == len(set(asking.door.asked)) == MAX_PAGES


async def test_two_parts_that_name_each_other_are_asked_for_once(tmp_path):
    other = f"{BASE}timemap/2010/{LOST}"
    pages = {TIMEMAP: a_list("20140301000000", more=a_part(other)), other: a_list(more=a_part(TIMEMAP))}
    async with Asking(tmp_path, pages) as asking:
        await asking.asker.ask(SCHOOL, LOST)
        assert asking.door.asked == [TIMEMAP, other]


async def test_parts_and_redirects_to_foreign_hosts_are_not_followed(tmp_path):
    evil = "http://evil.test/timemap"
    async with Asking(tmp_path, {TIMEMAP: a_list("20140301000000", more=a_part(evil))}) as asking:
        assert _years(await asking.asker.ask(SCHOOL, LOST)) == [2014]
        asking.door.pages[TIMEMAP] = a_page(status=302, headers=(("Location", evil),))
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.BROKEN
        assert asking.door.asked == [TIMEMAP, TIMEMAP]


async def test_redirects_within_the_archive_are_followed_but_not_for_ever(tmp_path):
    elsewhere = f"{BASE}lists/{LOST}"
    moved = a_page(status=302, headers=(("Location", elsewhere),))
    async with Asking(
        tmp_path, {TIMEMAP: moved, elsewhere: a_list("20140301000000")}, lists_per_minute=10_000
    ) as asking:
        assert _years(await asking.asker.ask(SCHOOL, LOST)) == [2014]
        asking.door.pages[elsewhere] = a_page(status=302, headers=(("Location", TIMEMAP),))
        assert "redirects for ever" in (await asking.asker.ask(SCHOOL, LOST)).note


@pytest.mark.parametrize("status", [429, 503])
async def test_an_archive_that_wants_to_be_left_alone_is(tmp_path, status):
    wants_rest = a_page(status=status, headers=(("Retry-After", "600"),))
    async with Asking(tmp_path, {TIMEMAP: wants_rest}) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.LIMITED
        asking.clock.now += 598
        assert (await asking.asker.ask(SCHOOL, LOST)).note == "it is left alone for a while"
        assert len(asking.door.asked) == 1
        asking.clock.now += 2
        asking.door.pages[TIMEMAP] = a_list("20140301000000")
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.ANSWERED


async def test_an_archive_that_fails_again_and_again_is_left_alone(tmp_path):
    async with Asking(tmp_path, {TIMEMAP: a_page(body=b"<html>")}) as asking:
        outcomes = [(await asking.asker.ask(SCHOOL, LOST)).outcome for _ in range(TRIES + 1)]
        assert outcomes == [Outcome.BROKEN] * TRIES + [Outcome.LIMITED]
        asking.clock.now += REST_S
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.BROKEN
        asking.clock.now += REST_S
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is Outcome.LIMITED


async def test_asking_too_often_is_limited_without_asking(tmp_path):
    async with Asking(tmp_path, {}, lists_per_minute=1) as asking:
        outcomes = [(await asking.asker.ask(SCHOOL, LOST)).outcome for _ in range(7)]
        assert outcomes == [Outcome.NOTHING] * 5 + [Outcome.LIMITED] * 2
        assert len(asking.door.asked) == 5


TIMEGATE = parse_archive(f"school timegate={BASE}{{url}}")
MEMENTO = f"{BASE}20140301000000/{LOST}"


@pytest.mark.parametrize(
    "answer",
    [
        a_page(status=302, headers=(("Location", MEMENTO),)),
        a_page(status=307, headers=(("Location", f"/20140301000000/{LOST}"),)),
        a_page(
            status=200,
            headers=(("Memento-Datetime", "Sat, 01 Mar 2014 00:00:00 GMT"), ("Content-Location", MEMENTO)),
        ),
        a_page(
            status=300,
            headers=(("Link", f'<{MEMENTO}>; rel="last memento"; datetime="Sat, 01 Mar 2014 00:00:00 GMT"'),),
        ),
    ],
)
async def test_a_timegate_leads_to_a_memento(tmp_path, answer):
    async with Asking(tmp_path, {BASE + LOST: answer}) as asking:
        found = await asking.asker.ask(TIMEGATE, LOST)
        assert [memento.url for memento in found.mementos] == [MEMENTO]
        assert asking.door.headers[0]["Accept-Datetime"].endswith(" GMT")


async def test_a_timegate_that_names_its_time_map_is_asked_for_that(tmp_path):
    gate = a_page(status=302, headers=(("Location", MEMENTO), ("Link", f'<{TIMEMAP}>; rel="timemap"')))
    async with Asking(tmp_path, {BASE + LOST: gate, TIMEMAP: a_list("20100301000000")}) as asking:
        assert _years(await asking.asker.ask(TIMEGATE, LOST)) == [2010]


async def test_a_timegate_that_leads_nowhere_is_broken(tmp_path):
    async with Asking(tmp_path, {BASE + LOST: a_page(body=b"hello")}) as asking:
        assert (await asking.asker.ask(TIMEGATE, LOST)).outcome is Outcome.BROKEN
