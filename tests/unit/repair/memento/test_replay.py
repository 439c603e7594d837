import pytest

from repair.fetch import FetchError, TooLarge
from repair.memento.archive import parse_archive
from repair.memento.datetimes import timestamp
from repair.memento.ratelimits import ArchiveState
from tests.archiving import BASE, LOST, Asking, a_memento, archived_page
from tests.make import a_page

SCHOOL = parse_archive(f"school wayback={BASE}")
NEW = "http://new.test/lessons/page"


def raw(url=LOST, digits="20140301000000"):
    return f"{BASE}{digits}id_/{url}"


def a_redirect(location, digits="20140301000000"):
    return archived_page(digits, status=301, headers=(("Location", location),))


async def _look(tmp_path, pages, archive=SCHOOL, memento=None, **settings):
    async with Asking(tmp_path, pages, **settings) as asking:
        return await asking.looker.look(archive, memento or a_memento()), asking


async def test_the_raw_page_is_given_as_if_fetched_at_that_time(tmp_path):
    page = archived_page(body=b"<title>Lost</title>", headers=(("Link", "<x>"), ("X-Archive", "1")))
    seen, _ = await _look(tmp_path, {raw(): page})
    assert (seen.page.url, seen.page.status, seen.page.body) == (LOST, 200, b"<title>Lost</title>")
    assert seen.page.fetched_at == timestamp("20140301")
    assert {name for name, _ in seen.page.headers} == {"Content-Type"}


async def test_an_archived_error_is_a_page_too(tmp_path):
    seen, asking = await _look(tmp_path, {raw(): archived_page(status=503)})
    assert seen.page.status == 503
    assert len(asking.fetcher.asked) == 1


async def test_without_raw_pages_the_rewritten_memento_is_used(tmp_path):
    memento = a_memento()
    seen, asking = await _look(tmp_path, {raw(): a_page(status=404), memento.url: archived_page()})
    assert seen.page.status == 200
    assert asking.fetcher.asked == [raw(), memento.url]


async def test_a_page_without_memento_datetime_is_no_memento(tmp_path):
    seen, _ = await _look(tmp_path, {raw(): a_page(), a_memento().url: a_page()})
    assert seen is None


@pytest.mark.parametrize("location", [NEW, f"{BASE}20140301000000/{NEW}", f"/20140302000000id_/{NEW}"])
async def test_an_archived_redirect_is_followed_inside_the_archive(tmp_path, location):
    new = archived_page(body=b"<title>New</title>")
    pages = {raw(): a_redirect(location), raw(NEW): new, raw(NEW, "20140302000000"): new}
    seen, asking = await _look(tmp_path, pages)
    assert seen.page.url == NEW
    assert seen.moves == ((LOST, NEW),)
    assert all(url.startswith(BASE) for url in asking.fetcher.asked)


async def test_the_archives_own_redirect_to_the_nearest_capture_is_no_move(tmp_path):
    nearest = a_page(status=302, headers=(("Location", raw(digits="20140228000000")),))
    seen, _ = await _look(tmp_path, {raw(): nearest, raw(digits="20140228000000"): archived_page("20140228")})
    assert seen.moves == ()
    assert seen.page.fetched_at == timestamp("20140228")


async def test_circular_and_endless_redirects_give_none(tmp_path):
    circle = {raw(): a_redirect(NEW), raw(NEW): a_redirect(LOST)}
    assert (await _look(tmp_path, circle))[0] is None
    chain = {raw(f"http://lost.test/{n}"): a_redirect(f"http://lost.test/{n + 1}") for n in range(100)}
    seen, asking = await _look(
        tmp_path / "2", {raw(): a_redirect("http://lost.test/0"), **chain}, max_redirects=3
    )
    assert seen is None
    assert len(asking.fetcher.asked) == 4


@pytest.mark.parametrize("location", ["http://evil.test/x", "file:///etc/passwd", "http://["])
async def test_redirects_of_the_archive_to_foreign_hosts_are_not_followed(tmp_path, location):
    pages = {raw(): a_page(status=302, headers=(("Location", location),))}
    seen, asking = await _look(tmp_path, pages)
    assert seen is None
    assert all(url.startswith(BASE) for url in asking.fetcher.asked)


async def test_a_page_is_fetched_once(tmp_path):
    async with Asking(tmp_path, {raw(): archived_page()}) as asking:
        first = await asking.looker.look(SCHOOL, a_memento())
        assert (
            await asking.looker.look(SCHOOL, a_memento())
            == first
            == await asking.looker.stored_page(a_memento())
        )
        assert len(asking.fetcher.asked) == 1


@pytest.mark.parametrize("page", [None, FetchError("refused"), a_page(status=500), a_page(status=429)])
async def test_a_failing_replay_is_recorded_for_the_archive(tmp_path, page):
    async with Asking(tmp_path, {raw(): page}, archive_deadline_s=0.1) as asking:
        assert await asking.looker.look(SCHOOL, a_memento()) is None
        assert asking.memory.admission.health("school").failures > 0


async def test_a_page_that_is_too_large_is_no_failure_of_the_archive(tmp_path):
    async with Asking(tmp_path, {raw(): TooLarge("more than 3 bytes")}) as asking:
        assert await asking.looker.look(SCHOOL, a_memento()) is None
        assert asking.memory.admission.health("school") == ArchiveState()
