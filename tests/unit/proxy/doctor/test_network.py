"""Checks of the way out and in, with servers on loopback."""

import asyncio
import contextlib

from proxy.doctor.model import FindingLevel, Installation
from proxy.doctor.network import check_archives, check_district, check_names, check_pages, check_parent
from proxy.settings import DistrictSettings, ProxySettings, Settings
from repair.settings import ArchivesSettings


def an_installation(tmp_path, *, running=False, archives=None, **proxy):
    settings = Settings(proxy=ProxySettings(**proxy), archives=archives or ArchivesSettings(enabled=False))
    return Installation(settings=settings, data=tmp_path, running=running)


@contextlib.asynccontextmanager
async def answering(words):
    async def answer(reader, writer):
        await reader.readline()
        writer.write(words)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_parent_that_answers_is_well(tmp_path):
    async with answering(b"HTTP/1.1 503 Service Unavailable\r\n\r\n") as parent:
        (finding,) = await check_parent(an_installation(tmp_path, parent=parent))
    assert finding.level is FindingLevel.OK


async def test_a_dead_parent_is_a_failure(tmp_path):
    async with answering(b"") as parent:
        pass
    (finding,) = await check_parent(an_installation(tmp_path, parent=parent))
    assert (finding.level, "does not answer" in finding.found) == (FindingLevel.FAIL, True)


async def test_a_parent_that_is_no_proxy_is_a_failure(tmp_path):
    async with answering(b"220 mail.school.test ESMTP\r\n") as parent:
        (finding,) = await check_parent(an_installation(tmp_path, parent=parent))
    assert (finding.level, "no HTTP proxy" in finding.found) == (FindingLevel.FAIL, True)


async def test_an_archive_that_cannot_be_reached_is_a_warning(tmp_path):
    async with answering(b"") as gone:
        pass
    archives = ArchivesSettings(list=(f"own timemap={gone}/timemap/link/{{url}}",))
    (finding,) = await check_archives(an_installation(tmp_path, archives=archives))
    assert (finding.level, gone.removeprefix("http://") in finding.found) == (FindingLevel.WARN, True)


async def test_offline_nothing_is_asked(tmp_path):
    offline = an_installation(tmp_path, offline=True, archives=ArchivesSettings())
    for check in (check_names, check_archives):
        (finding,) = await check(offline)
        assert (finding.level, "proxy.offline" in finding.found) == (FindingLevel.OK, True)


async def test_without_a_running_linkmend_no_page_is_fetched(tmp_path):
    (finding,) = await check_pages(an_installation(tmp_path))
    assert finding.level is FindingLevel.WARN


async def test_a_proxy_that_refuses_its_own_page_is_a_failure(tmp_path):
    async with answering(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as proxy:
        listen = proxy.removeprefix("http://")
        first, second = await check_pages(an_installation(tmp_path, running=True, listen=listen))
    assert (first.level, "status 403" in first.found) == (FindingLevel.FAIL, True)
    assert second.level is FindingLevel.FAIL


async def _district(tmp_path, **known):
    settings = Settings(district=DistrictSettings(**known))
    (finding,) = await check_district(Installation(settings=settings, data=tmp_path, running=False))
    return finding


async def test_without_a_database_of_the_district_nothing_is_asked(tmp_path):
    assert (await _district(tmp_path)).level is FindingLevel.OK


async def test_a_district_that_does_not_answer_is_a_warning_since_users_are_served_all_the_same(tmp_path):
    finding = await _district(tmp_path, database="postgresql://127.0.0.1:1/linkmend")
    assert finding.level is FindingLevel.WARN
    assert "127.0.0.1" in finding.found


async def test_a_wrong_address_of_the_district_is_a_failure_without_what_was_written(tmp_path):
    finding = await _district(tmp_path, database="postgresql://u:hush@h/x")
    assert finding.level is FindingLevel.FAIL
    assert "hush" not in finding.found
