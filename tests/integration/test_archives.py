"""The client of web archives against a real one (pywb), and against some that hang or send garbage."""

import json
import time

import pytest

from repair.memento.client import MementoClient
from repair.memento.datetimes import timestamp
from repair.memento.model import Outcome
from repair.settings import ArchivesSettings
from tests.integration.origin import Origin, hang, reply
from tests.integration.processes import linkmend
from tests.integration.pywb import Captured, Pywb, programs

SITE = "http://lost.example"


def html(title, text="All about it, in many words of the page that was there."):
    return (
        f"<html lang=en><title>{title}</title><body><main><h1>{title}</h1><p>{text}</p></main></body></html>"
    )


FOR_SALE = html("lost.example", "This domain is for sale. Sponsored listings.")
CAPTURES = [
    Captured("20100301000000", f"{SITE}/water", html("Water in 2010")),
    Captured("20140301000000", f"{SITE}/water", html("Water in 2014")),
    Captured("20180301000000", f"{SITE}/water", html("Water in 2018")),
    Captured("20100301000000", f"{SITE}/gone?id=1,2;x", html("Gone in 2010")),
    Captured("20120301000000", f"{SITE}/gone?id=1,2;x", html("Gone in 2012")),
    Captured("20190301000000", f"{SITE}/gone?id=1,2;x", html("Not here"), status="404 Not Found"),
    Captured("20110301000000", f"{SITE}/moved", html("Before the move")),
    Captured("20170301000000", f"{SITE}/moved", "", status="301 Moved", location="/lessons/moved-here"),
    Captured("20170301000005", f"{SITE}/lessons/moved-here", html("After the move")),
    Captured("20110301000000", f"{SITE}/home", html("Before it led home")),
    Captured("20170301000000", f"{SITE}/home", "", status="302 Found", location=f"{SITE}/"),
    Captured("20170301000005", f"{SITE}/", html("Home")),
    Captured("20110301000000", f"{SITE}/parked", html("Before it was sold")),
    Captured("20120301000000", f"{SITE}/parked", html("Shortly before it was sold")),
    *(
        Captured(f"20{year}0301000000", f"{SITE}/parked", f"{FOR_SALE}<!--{year}-->")
        for year in range(13, 19)
    ),
    Captured("20130301000000", f"{SITE}/errors", "", status="404 Not Found"),
]


@pytest.fixture(scope="module")
def pywb(tmp_path_factory, pytestconfig):
    found = programs()
    if found is None:
        (pytest.fail if pytestconfig.getoption("--require-real") else pytest.skip)("pywb is not installed")
    running = Pywb(found, tmp_path_factory.mktemp("pywb"), CAPTURES)
    yield running
    running.stop()


def is_for_sale(page):
    return b"domain is for sale" in page.body


@pytest.fixture
def client(tmp_path):
    """A client of the archives that lines describe."""

    def of(*lines, folder=tmp_path, is_bad=is_for_sale, **known):
        settings = {name: known.pop(name) for name in tuple(known) if name in ArchivesSettings.__slots__}
        return MementoClient(ArchivesSettings(list=lines, **settings), folder, is_bad=is_bad, **known)

    return of


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/water", "Water in 2018"),
        ("/gone?id=1,2;x", "Gone in 2012"),
        ("/moved", "After the move"),
        ("/home", "Before it led home"),
        ("/parked", "Shortly before it was sold"),
    ],
)
async def test_the_last_good_memento_is_found(pywb, client, path, title):
    async with client(f"school wayback={pywb.base}") as archives:
        copy = await archives.best(SITE + path)
        assert copy.document.title == title
        assert "wombat" not in copy.page.body.decode()  # what pywb would add to pages it rewrites
        assert copy.page.body.startswith(b"<html lang=en><title>")


@pytest.mark.parametrize("path", ["/errors", "/never-archived"])
async def test_nothing_is_found_where_nothing_good_was_archived(pywb, client, path):
    async with client(f"school wayback={pywb.base}") as archives:
        assert await archives.best(SITE + path) is None


@pytest.mark.parametrize(("near", "title"), [("20101224", "Water in 2010"), ("20130901", "Water in 2014")])
async def test_the_memento_closest_to_the_time_of_the_link_is_found(pywb, client, near, title):
    async with client(f"school wayback={pywb.base}") as archives:
        assert (await archives.best(f"{SITE}/water", near=timestamp(near))).document.title == title


async def test_an_archived_redirect_to_a_good_page_is_told_as_a_move(pywb, client):
    moves = []
    async with client(f"school wayback={pywb.base}", on_move=moves.append) as archives:
        copy = await archives.best(f"{SITE}/moved")
        await archives.best(f"{SITE}/home")
    assert copy.page.url == f"{SITE}/lessons/moved-here"
    assert [(move.old, move.new) for move in moves] == [(f"{SITE}/moved", f"{SITE}/lessons/moved-here")]


@pytest.mark.parametrize(
    "question",
    [
        "timemap={base}timemap/link/{{url}}",
        "timemap={base}timemap/cdxj/{{url}}",
        "timemap={base}timemap/json/{{url}}",
        "cdx={base}cdx?url={{quoted}}",
        "cdx={base}cdx?url={{quoted}}&output=json",
        "timegate={base}{{url}}",
    ],
)
async def test_whatever_it_is_asked_the_time_map_is_the_same(pywb, client, question):
    line = f"school {question} memento={{base}}{{{{timestamp}}}}/{{{{url}}}}".format(base=pywb.base)
    async with client(line) as archives:
        found = await archives.timemap(f"{SITE}/water")
    assert [answer.outcome for answer in found.answers] == [Outcome.ANSWERED]
    assert [(memento.at.year, memento.original) for memento in found.mementos] == [
        (year, f"{SITE}/water") for year in (2010, 2014, 2018)
    ]
    assert found.mementos[0].url.endswith("/20100301000000/http://lost.example/water")


async def test_what_was_asked_once_is_known_without_a_line(pywb, client, tmp_path):
    async with client(f"school wayback={pywb.base}") as archives:
        assert await archives.best(f"{SITE}/parked")
    async with client(f"school wayback={pywb.base}", offline=True) as archives:
        assert (await archives.best(f"{SITE}/parked")).document.title == "Shortly before it was sold"
        assert len((await archives.remembered(f"{SITE}/parked")).mementos) == 8
        assert (await archives.timemap(f"{SITE}/water")).mementos == ()


async def test_a_hanging_and_a_raving_archive_cost_nothing_but_their_answers(pywb, client):
    with Origin() as hanging, Origin() as raving:
        lines = (
            f"hanging wayback={hanging.url}/",
            f"raving wayback={raving.url}/",
            f"school wayback={pywb.base}",
        )
        paths = [f"/water?{number}" for number in range(4)]
        for path in ("/water", "/parked", *paths):
            hanging.pages[f"/timemap/link/{SITE}{path}"] = hang
            raving.pages[f"/timemap/link/{SITE}{path}"] = reply("<html><<<<\x00\xff" + '<a>;"' * 10_000)
        async with client(*lines, archive_deadline_s=1.0, deadline_s=3.0) as archives:
            await archives.timemap(f"{SITE}/water")  # wakes pywb up
            started = time.monotonic()
            came = {}
            async for answer in archives.events(f"{SITE}/parked"):
                came[answer.archive] = (time.monotonic() - started, answer)
            assert came["school"][0] < came["hanging"][0] < 2.0
            assert len(came["school"][1].mementos) == 8
            assert came["hanging"][1].outcome is Outcome.LATE
            assert came["raving"][1].outcome is Outcome.BROKEN
            for path in paths:
                last = {answer.archive: answer for answer in (await archives.timemap(SITE + path)).answers}
        assert last["hanging"].outcome is last["raving"].outcome is Outcome.LIMITED
        assert last["school"].outcome is Outcome.NOTHING
        assert sum(hanging.asked.values()) == 3
        assert sum(raving.asked.values()) == 3


def test_the_command_prints_the_time_map_and_the_best_copy(pywb, tmp_path):
    config = tmp_path / "linkmend.toml"
    config.write_text(f'[archives]\nlist = ["school wayback={pywb.base}"]\n', encoding="ascii")
    options = ("--config", config, "--data", tmp_path / "data")
    done = linkmend("mementos", f"{SITE}/gone?id=1,2;x", "--best", "--json", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [memento["datetime"][:4] for memento in told["mementos"]] == ["2010", "2012", "2019"]
    assert told["best"]["title"] == "Gone in 2012"
    shown = linkmend("mementos", f"{SITE}/gone?id=1,2;x", "--offline", *options)
    assert "3 mementos (2010: 1, 2012: 1, 2019: 1)" in shown.stdout
    assert "school: answered, 3" in shown.stdout
