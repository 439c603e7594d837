import pytest

from repair.fetch import FetchError
from repair.memento.archive import parse_archive
from repair.memento.archivequery import MAX_PAGES
from repair.memento.model import ArchiveOutcome
from repair.memento.ratelimits import REST_S, TRIES
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


async def test_the_mementos_of_an_archive_are_listed(tmp_path):
    async with Asking(tmp_path, {TIMEMAP: a_list("20100301000000", "20140301000000")}) as asking:
        answer = await asking.asker.ask(SCHOOL, LOST)
    assert (answer.archive, answer.outcome, _years(answer)) == (
        "school",
        ArchiveOutcome.ANSWERED,
        [2014, 2010],
    )


async def test_an_archive_without_the_page_answers_nothing(tmp_path):
    async with Asking(tmp_path, {}) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.NOTHING


@pytest.mark.parametrize(
    ("page", "note"),
    [
        (a_page(status=500), "status 500"),
        (a_page(body=b"<html>hello"), "not a list of captures"),
        (a_page(body=b"x", headers=(("Content-Encoding", "gzip"),)), "packed in a broken way"),
        (FetchError("connection refused"), "connection refused"),
    ],
)
async def test_unusable_answers_are_broken(tmp_path, page, note):
    async with Asking(tmp_path, {TIMEMAP: page}) as asking:
        answer = await asking.asker.ask(SCHOOL, LOST)
    assert answer.outcome is ArchiveOutcome.BROKEN
    assert note in answer.note


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_client_error_does_not_pause_the_archive(tmp_path, status):
    async with Asking(tmp_path, {TIMEMAP: a_page(status=status)}, lists_per_minute=10_000) as asking:
        answers = [await asking.asker.ask(SCHOOL, LOST) for _ in range(TRIES + 1)]
    assert {answer.outcome for answer in answers} == {ArchiveOutcome.BROKEN}


@pytest.mark.parametrize("status", [404, 410, 451])
async def test_statuses_for_missing_or_forbidden_pages_mean_nothing(tmp_path, status):
    async with Asking(tmp_path, {TIMEMAP: a_page(status=status)}) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.NOTHING


async def test_an_archive_that_hangs_is_late(tmp_path):
    async with Asking(tmp_path, {TIMEMAP: None}, archive_deadline_s=0.05) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.LATE


async def test_when_one_endpoint_fails_the_next_is_asked(tmp_path):
    archive = parse_archive(f"school cdx={BASE}cdx?url={{quoted}} wayback={BASE}")
    async with Asking(tmp_path, {TIMEMAP: a_list("20140301000000")}) as asking:
        asking.fetcher.pages[archive.fill_template(archive.questions[0][1], LOST)] = a_page(status=500)
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


async def test_an_endless_chain_of_parts_ends_at_the_limit(tmp_path):
    urls = [f"{BASE}timemap/{number}/{LOST}" for number in range(100)]
    pages = {
        url: a_list("20140301000000", more="".join(a_part(each) for each in urls)) for url in (TIMEMAP, *urls)
    }
    async with Asking(tmp_path, pages, lists_per_minute=10_000) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.ANSWERED
        assert len(asking.fetcher.asked) == len(set(asking.fetcher.asked)) == MAX_PAGES


async def test_two_parts_that_name_each_other_are_fetched_once(tmp_path):
    other = f"{BASE}timemap/2010/{LOST}"
    pages = {TIMEMAP: a_list("20140301000000", more=a_part(other)), other: a_list(more=a_part(TIMEMAP))}
    async with Asking(tmp_path, pages) as asking:
        await asking.asker.ask(SCHOOL, LOST)
        assert asking.fetcher.asked == [TIMEMAP, other]


async def test_parts_and_redirects_to_foreign_hosts_are_not_followed(tmp_path):
    evil = "http://evil.test/timemap"
    async with Asking(tmp_path, {TIMEMAP: a_list("20140301000000", more=a_part(evil))}) as asking:
        assert _years(await asking.asker.ask(SCHOOL, LOST)) == [2014]
        asking.fetcher.pages[TIMEMAP] = a_page(status=302, headers=(("Location", evil),))
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.BROKEN
        assert asking.fetcher.asked == [TIMEMAP, TIMEMAP]


async def test_redirects_within_the_archive_are_followed_but_not_for_ever(tmp_path):
    elsewhere = f"{BASE}lists/{LOST}"
    moved = a_page(status=302, headers=(("Location", elsewhere),))
    async with Asking(
        tmp_path, {TIMEMAP: moved, elsewhere: a_list("20140301000000")}, lists_per_minute=10_000
    ) as asking:
        assert _years(await asking.asker.ask(SCHOOL, LOST)) == [2014]
        asking.fetcher.pages[elsewhere] = a_page(status=302, headers=(("Location", TIMEMAP),))
        assert "redirect loop" in (await asking.asker.ask(SCHOOL, LOST)).note


@pytest.mark.parametrize("status", [429, 503])
async def test_an_archive_is_paused_after_429_or_503(tmp_path, status):
    wants_rest = a_page(status=status, headers=(("Retry-After", "600"),))
    async with Asking(tmp_path, {TIMEMAP: wants_rest}) as asking:
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.LIMITED
        asking.clock.now += 598
        assert (await asking.asker.ask(SCHOOL, LOST)).note == "paused after failures"
        assert len(asking.fetcher.asked) == 1
        asking.clock.now += 2
        asking.fetcher.pages[TIMEMAP] = a_list("20140301000000")
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.ANSWERED


async def test_repeated_failures_open_the_circuit_breaker(tmp_path):
    async with Asking(tmp_path, {TIMEMAP: a_page(body=b"<html>")}) as asking:
        outcomes = [(await asking.asker.ask(SCHOOL, LOST)).outcome for _ in range(TRIES + 1)]
        assert outcomes == [ArchiveOutcome.BROKEN] * TRIES + [ArchiveOutcome.LIMITED]
        asking.clock.now += REST_S
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.BROKEN
        asking.clock.now += REST_S
        assert (await asking.asker.ask(SCHOOL, LOST)).outcome is ArchiveOutcome.LIMITED


async def test_requests_over_the_rate_limit_are_not_sent(tmp_path):
    async with Asking(tmp_path, {}, lists_per_minute=1) as asking:
        outcomes = [(await asking.asker.ask(SCHOOL, LOST)).outcome for _ in range(7)]
        assert outcomes == [ArchiveOutcome.NOTHING] * 5 + [ArchiveOutcome.LIMITED] * 2
        assert len(asking.fetcher.asked) == 5


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
        assert asking.fetcher.headers[0]["Accept-Datetime"].endswith(" GMT")


async def test_a_timegate_that_names_its_timemap_leads_to_that(tmp_path):
    gate = a_page(status=302, headers=(("Location", MEMENTO), ("Link", f'<{TIMEMAP}>; rel="timemap"')))
    async with Asking(tmp_path, {BASE + LOST: gate, TIMEMAP: a_list("20100301000000")}) as asking:
        assert _years(await asking.asker.ask(TIMEGATE, LOST)) == [2010]


async def test_a_timegate_without_a_memento_is_broken(tmp_path):
    async with Asking(tmp_path, {BASE + LOST: a_page(body=b"hello")}) as asking:
        assert (await asking.asker.ask(TIMEGATE, LOST)).outcome is ArchiveOutcome.BROKEN
