import multiprocessing
import os
import signal

import pytest

from proxy.fetching.crawlhelpers import CrawlHelpers, read_page
from proxy.fetching.entries import TemporaryFetchError
from repair.collection.collection import Collection
from repair.settings import CollectionSettings, RepairSettings
from tests.make import a_page

SETTINGS = CollectionSettings(commit_every_s=0.05)
PAGE = a_page("http://a.test/soil", body=b"<title>Soil</title><p>" + b"clay sand humus " * 20)

pytestmark = pytest.mark.slow


@pytest.fixture
def collection(tmp_path):
    with Collection.open(tmp_path, SETTINGS) as opened:
        yield opened


async def test_page_is_read_elsewhere_as_it_would_be_here_and_indexed_by_the_end(tmp_path, collection):
    helpers = CrawlHelpers(collection, tmp_path, SETTINGS, RepairSettings())
    reading = await helpers.read(PAGE)
    assert reading == read_page(PAGE, SETTINGS)
    assert reading.addition.copy.body == PAGE.body
    collection.add_many((reading.addition,))
    await helpers.close()
    assert collection.stats().indexed == 1


async def test_process_that_dies_costs_one_try(tmp_path, collection):
    helpers = CrawlHelpers(collection, tmp_path, SETTINGS, RepairSettings())
    await helpers.read(PAGE)
    for child in multiprocessing.active_children():
        os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(TemporaryFetchError):
        await helpers.read(PAGE)
    assert (await helpers.read(PAGE)).addition is not None
    await helpers.close()
