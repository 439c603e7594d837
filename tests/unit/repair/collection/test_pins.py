"""Pins: the page that an admin chose for a missing address."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from repair.collection.pins import Pins
from repair.pipeline import Repairer
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/old/water.html"
PAGES = (
    a_document("/water", title="Water", text="Water moves round and round."),
    a_document("/rivers", title="Rivers", text="Rivers carry water to the sea."),
)


@pytest.fixture
def collection(tmp_path):
    with a_collection(tmp_path, *PAGES) as collection:
        yield collection


@pytest.fixture
def pins(collection):
    return Pins(collection.database)


@pytest.fixture
def repairer(collection):
    with ThreadPoolExecutor(1) as threads:
        yield Repairer(collection, RepairSettings(), threads)


@pytest.mark.parametrize(
    "written",
    [GONE, GONE.replace("http:", "https:"), f"{GONE}/", GONE.replace("school", "WWW.school"), f"{GONE}#top"],
)
def test_a_pin_holds_however_the_address_is_written(pins, written):
    pins.pin(written, f"{SITE}/rivers", "admin", A_MOMENT)
    assert pins.of(GONE).target == f"{SITE}/rivers"
    assert pins.count() == 1
    assert pins.forget(GONE)
    assert pins.of(written) is None


def test_another_page_or_query_is_another_address(pins):
    pins.pin(GONE, f"{SITE}/rivers", "admin", A_MOMENT)
    assert pins.of(f"{GONE}?page=2") is None
    assert pins.of(f"{SITE}:8080/old/water.html") is None
    assert not pins.forget(f"{SITE}/old/")


@pytest.mark.parametrize("target", ["javascript:alert(1)", "", "ftp://a.test/", f"{GONE}/", "http://"])
def test_only_another_web_page_can_be_pinned(pins, target):
    with pytest.raises(ValueError, match="address|host|itself"):
        pins.pin(GONE, target, "admin", A_MOMENT)
    assert pins.count() == 0


def test_the_latest_pins_come_first_and_replace_earlier_ones(pins):
    pins.pin(GONE, f"{SITE}/rivers", "admin", A_MOMENT)
    pins.pin(f"{SITE}/b", f"{SITE}/rivers", "admin", A_MOMENT + timedelta(hours=1))
    pins.pin(GONE, f"{SITE}/water", "other", A_MOMENT + timedelta(hours=2))
    assert [(pin.url, pin.target, pin.by) for pin in pins.list()] == [
        (GONE, f"{SITE}/water", "other"),
        (f"{SITE}/b", f"{SITE}/rivers", "admin"),
    ]
    assert [pin.url for pin in pins.list(1, offset=1)] == [f"{SITE}/b"]


async def test_the_pinned_page_is_offered_first_for_certain_and_once(pins, repairer):
    link = a_broken_link(GONE, anchor="water")
    assert (await repairer.repair(link)).alternatives[0].url == f"{SITE}/water"
    pins.pin(GONE.replace("http:", "https:"), f"{SITE}/rivers", "admin", A_MOMENT)
    first, *others = (await repairer.repair(link)).alternatives
    assert (first.url, first.title, first.confidence, first.reasons, first.held) == (
        f"{SITE}/rivers",
        "Rivers",
        1.0,
        ("pinned",),
        True,
    )
    assert [other.url for other in others] == [f"{SITE}/water"]


async def test_a_pinned_page_need_not_be_saved(pins, repairer):
    pins.pin(GONE, "https://elsewhere.test/page", "admin", A_MOMENT)
    first = (await repairer.repair(a_broken_link(GONE))).alternatives[0]
    assert (first.url, first.held, first.confidence) == ("https://elsewhere.test/page", False, 1.0)


async def test_without_its_pin_a_page_is_ranked_as_before(pins, repairer):
    before = await repairer.repair(a_broken_link(GONE, anchor="water"))
    pins.pin(GONE, f"{SITE}/rivers", "admin", A_MOMENT)
    pins.forget(GONE)
    assert await repairer.repair(a_broken_link(GONE, anchor="water")) == before


_VICTIM = """
import sys
from pathlib import Path
from repair.collection.database import Database
from repair.collection.pins import Pins
from tests.make import A_MOMENT
pins = Pins(Database(Path(sys.argv[1]) / "collection.sqlite3"))
for number in range(100_000):
    pins.pin(f"http://a.test/{number}", "http://b.test/", "admin", A_MOMENT)
    print(number, flush=True)
"""


def test_what_was_pinned_survives_kill_9(tmp_path, pins):
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    for _ in range(50):
        last = int(victim.stdout.readline())
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    assert all(pins.of(f"http://a.test/{number}") for number in range(last + 1))
