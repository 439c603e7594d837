"""proxy.archives.repairpagearchives: archived versions for the reader who missed the page, and for nobody else."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.portal.routemodel import MementosRoute
from proxy.portal.timeparameters import TimeView
from repair.memento.datetimes import as_timestamp
from repair.model import HeldCopy
from tests.archiving import archives_of
from tests.holdings import SITE, a_collection, a_document
from tests.make import A_MOMENT, a_broken_link

MISS = "m" * 22
LINK = a_broken_link(url=f"{SITE}/earth/volcanoes")


@pytest.fixture
def collection(tmp_path):
    made = a_collection(tmp_path / "collection", a_document("/held", title="Volcanoes", text="Lava. " * 40))
    yield made
    made.close()


@pytest.fixture
def archives(tmp_path, collection):
    threads = ThreadPoolExecutor(2)
    yield archives_of(tmp_path, collection, threads)
    threads.shutdown()


async def ask(archives, client="ann", part=False, **view):
    call = MementosRoute(miss_id=MISS, view=TimeView(**view), part=part)
    return await archives.answer(call, "en", client)


async def test_only_the_reader_who_missed_the_page_is_answered(archives):
    assert await ask(archives) is None
    archives.note(MISS, "ann", LINK)
    assert (await ask(archives)).status == 200
    assert await ask(archives, client="bob") is None


async def test_when_nobody_may_be_asked_it_says_so_and_still_finds_ways_to_the_new_version(archives):
    archives.note(MISS, "ann", LINK)
    text = (await ask(archives)).body.decode()
    assert "while offline" in text
    assert "data-next" not in text
    assert 'value="volcanoes"' in text
    assert f'href="{SITE}/held"' in text


async def test_versions_held_here_stand_beside_those_of_archives(archives, collection):
    copy = HeldCopy(url=LINK.url, content_type="text/html", body=b"<p>lava", fetched_at=A_MOMENT)
    collection.add(a_document(LINK.url), fetched_at=A_MOMENT, copy=copy, pinned=True)
    known = await archives.stored_findings(LINK)
    (memento,) = known.found.mementos
    assert memento.url == f"http://linkmend.internal/memento/{as_timestamp(A_MOMENT)}/{LINK.url}"
    archives.note(MISS, "ann", LINK)
    assert memento.url in (await ask(archives)).body.decode()


async def test_the_script_gets_a_part_of_a_page(archives):
    archives.note(MISS, "ann", LINK)
    text = (await ask(archives, part=True)).body.decode()
    assert text.startswith('<div id="archives"')


async def test_what_is_remembered_is_known_without_asking(archives):
    known = await archives.stored_findings(LINK)
    assert known.version == 0
    assert known.offline
    assert [way.kind for way in known.suggestions] == ["address"]
