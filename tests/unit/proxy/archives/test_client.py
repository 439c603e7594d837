"""proxy.archives.client: the archive client built from the settings."""

import pytest

from proxy.archives.client import RememberedCopies, client_from, is_not_the_page
from proxy.errors import SettingsError
from proxy.settings import load
from repair.memento.datetimes import timestamp
from repair.memento.model import MementoCopy, TimeMap
from tests.archiving import LOST, a_memento
from tests.holdings import a_document, a_link
from tests.make import a_page


@pytest.mark.parametrize(
    ("environment", "offline"),
    [
        ({}, False),
        ({"LINKMEND_PROXY_OFFLINE": "true"}, True),
        ({"LINKMEND_ARCHIVES_ENABLED": "false"}, True),
    ],
)
async def test_offline_or_disabled_no_archive_is_queried(tmp_path, environment, offline):
    async with client_from(load(environment=environment), tmp_path) as client:
        assert client.offline is offline
        assert set(client.archives) == {"internetarchive", "arquivo.pt", "ukwa"}


def test_unreadable_ca_is_reported(tmp_path):
    settings = load(environment={"LINKMEND_PROXY_TRUSTED_CA": str(tmp_path / "absent.pem")})
    with pytest.raises(SettingsError, match="proxy.trusted_ca"):
        client_from(settings, tmp_path)


def test_archived_error_pages_are_recognised():
    sorry = b"<title>Page not found</title><h1>Page not found</h1><p>Sorry, this page does not exist.</p>"
    lesson = (
        b"<title>Rivers</title><h1>Rivers</h1><p>Water flows from the mountains to the sea in rivers.</p>"
    )
    assert is_not_the_page(a_page(body=sorry))
    assert not is_not_the_page(a_page(body=lesson))


class ArchivesBefore:
    """Archives that showed some pages before, and count how often those are read."""

    def __init__(self, *years):
        self.mementos = tuple(a_memento(str(year)) for year in years)
        self.read = 0

    async def stored_timemap(self, url):
        return TimeMap(url=url, mementos=self.mementos)

    async def best_of(self, found, *, near=None, ask=True):
        assert not ask
        self.read += 1
        page, document = a_page(body=b"<p>long"), a_document(links=[a_link()])
        return MementoCopy(memento=found.mementos[0 if near else -1], page=page, document=document)


async def test_a_remembered_copy_is_read_once_until_more_is_known():
    archives = ArchivesBefore(2010, 2012)
    copies = RememberedCopies(archives)
    assert (await copies.best(LOST)).memento.at.year == 2012
    again = await copies.best(LOST)
    assert (again.memento.at.year, again.page.body, again.document.links) == (2012, b"", ())
    assert archives.read == 1
    archives.mementos += (a_memento("2014"),)
    assert (await copies.best(LOST)).memento.at.year == 2014
    assert (await copies.best(LOST, near=timestamp("2010"))).memento.at.year == 2010


async def test_only_the_latest_copies_are_kept():
    archives = ArchivesBefore(2010)
    copies = RememberedCopies(archives, limit=1)
    for url in (LOST, f"{LOST}/other", LOST):
        await copies.best(url)
    assert archives.read == 3


async def test_page_unknown_to_archives_has_no_copy():
    assert await RememberedCopies(ArchivesBefore()).best(LOST) is None


async def test_news_are_told_when_another_copy_is_known():
    archives, news = ArchivesBefore(2010), []
    copies = RememberedCopies(archives, on_news=news.append)
    for _ in range(2):
        await copies.best(LOST)
    assert news == [LOST]
    archives.mementos += (a_memento("2014"),)
    await copies.best(LOST)
    assert news == [LOST, LOST]
