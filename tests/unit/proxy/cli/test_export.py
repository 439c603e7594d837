"""`linkmend export` and `linkmend import` of what it wrote: what goes in, what stays here, what comes again."""

import asyncio
import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from proxy.cache.pinning import pinned_response
from proxy.errors import LinkmendError
from proxy.main import app
from proxy.settings import CacheSettings
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection
from repair.crawling.topicdatabase import FOLDER, TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.errors import ImportFailed
from repair.importer import CollectionImporter
from repair.model import Page
from repair.packs.packstore import PackStore
from repair.settings import CollectionSettings
from tests.packing import PICTURE

AT = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
CLAY = "https://soil.test/clay"
PRIVATE = ("http://intranet.local/clay", "http://10.0.0.5/clay", "https://soil.test/clay?q=my+words")
SECRET = "https://soil.test/clay?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop"


def run(*arguments, data, code=0):
    result = CliRunner().invoke(app, [*map(str, arguments), "--data", str(data)])
    assert result.exit_code == code or code is None, (result.output, result.exception)
    return result


def a_web_page(url, text="Clay is wet soil.", at=AT, kind="text/html", body=None):
    html = f'<title>Clay</title><img src="/pic.png"><img src="/own.png"><p>{text}</p><a href="/sand">sand</a>'
    headers = (("Content-Type", kind),)
    return Page(url=url, status=200, headers=headers, body=body or html.encode(), fetched_at=at)


def fill(data, *pages, files=()):
    with Collection.open(data / "collection", CollectionSettings()) as collection:
        intake = CollectionImporter(collection, CollectionSettings())
        for page in pages:
            intake.add(page)
        intake.flush()
        collection.commit()
    asyncio.run(pin(data, files))


async def pin(data, files):
    responses = ResponseStore.open(data / "cache", CacheSettings())
    for page in files:
        await responses.put(page.url, pinned_response(page, page.body))
    await responses.close()


@pytest.fixture
def school(tmp_path):
    """A data folder with a page, its picture, a private picture and pages that must not leave."""
    data = tmp_path / "sender"
    own = Page(
        url="https://soil.test/own.png",
        status=200,
        headers=(("Content-Type", "image/png"), ("Cache-Control", "private")),
        body=PICTURE,
        fetched_at=AT,
    )
    picture = a_web_page("https://soil.test/pic.png", kind="image/png", body=PICTURE)
    fill(
        data,
        *(a_web_page(url, f"Clay of {url}") for url in (CLAY, *PRIVATE, SECRET)),
        files=(picture, own),
    )
    (data / FOLDER).mkdir()
    database = TopicDatabase(data / FOLDER)
    topics = TopicStore(database)
    topics.put(Topic(name="Soil", words=("clay",), seeds=(CLAY, PRIVATE[0]), hours="22:00-05:00"))
    for url in (CLAY, *PRIVATE, SECRET):
        topics.note_page(url, "Soil", 0.8)
    database.close()
    return data


@pytest.mark.parametrize("kind", ["wacz", "zim"])
def test_private_pages_never_leave_by_any_format(school, tmp_path, kind):
    if kind == "zim":
        pytest.importorskip("libzim")
    pack = tmp_path / f"soil.{kind}"
    told = json.loads(run("export", "Soil", "--to", pack, "--json", data=school).stdout)
    assert (told["pages"], told["files"], told["private"], told["kind"]) == (1, 1, 4, "topic")
    inside = pack.read_bytes()
    if kind == "wacz":
        with zipfile.ZipFile(pack) as read:
            inside = b"".join(map(read.read, read.namelist()))
    for word in (b"intranet.local", b"10.0.0.5", b"my+words", b"eyJhbGci", b"own.png 2026", b"22:00"):
        assert word not in inside


def test_collection_that_is_not_shared_exports_nothing(school, tmp_path):
    config = tmp_path / "linkmend.toml"
    config.write_text('[collection]\nshare = "off"\n')
    failed = run("export", "Soil", "--to", tmp_path / "x.wacz", "--config", config, data=school, code=1)
    assert isinstance(failed.exception, LinkmendError)
    assert not (tmp_path / "x.wacz").exists()


@pytest.mark.parametrize("kind", ["wacz", "zim"])
def test_pack_arrives_once_with_topics_sender_and_licence(school, tmp_path, kind):
    if kind == "zim":
        pytest.importorskip("libzim")
    pack, there = tmp_path / f"soil.{kind}", tmp_path / "receiver"
    config = tmp_path / "linkmend.toml"
    config.write_text('[repair]\nschool = "Hill School"\n')
    run("export", "Soil", "--to", pack, "--licence", "CC BY 4.0", "--config", config, data=school)
    first, again = (json.loads(run("import", pack, "--json", data=there).stdout) for _ in range(2))
    assert (first["pages"], first["files"], first["topics"], first["unchanged"]) == (1, 2, 1, 0)
    assert (again["pages"], again["files"], again["topics"], again["unchanged"]) == (0, 0, 0, 1)
    assert (first["sender"], first["licence"]) == ("Hill School", "CC BY 4.0")
    with Collection.open(there / "collection", CollectionSettings()) as collection:
        assert PackStore(collection.database).of(CLAY).sender == "Hill School"
        assert [link.target_url for link in collection.outlinks(CLAY)] == ["https://soil.test/sand"]
        assert collection.copy(CLAY).fetched_at == AT
    shown = json.loads(run("topics", "show", "Soil", "--json", data=there).stdout)
    assert (shown["seeds"], shown["hours"], shown["words"]) == ([CLAY], "", ["clay"])
    assert shown["pages"] == [{"url": CLAY, "probability": 0.8}]
    listed = json.loads(run("packs", "--of", CLAY, "--json", data=there).stdout)
    assert (listed["origin"]["licence"], listed["pages"]) == ("CC BY 4.0", 1)


def test_only_what_is_new_or_changed_is_taken_and_ours_is_kept_when_newer(school, tmp_path):
    there = tmp_path / "receiver"
    run("export", "Soil", "--to", tmp_path / "old.wacz", data=school)
    run("import", tmp_path / "old.wacz", data=there)
    fill(
        school,
        a_web_page(CLAY, "Clay, told anew.", at=AT + timedelta(days=2)),
        a_web_page("https://soil.test/sand", "Sand drains.", at=AT),
    )
    run("export", "soil.test", "--to", tmp_path / "new.wacz", data=school)
    new = json.loads(run("import", tmp_path / "new.wacz", "--json", data=there).stdout)
    assert (new["pages"], new["unchanged"], new["older"]) == (2, 0, 0)
    back = json.loads(run("import", tmp_path / "old.wacz", "--json", data=there).stdout)
    assert (back["pages"], back["older"], back["files"]) == (0, 1, 0)
    with Collection.open(there / "collection", CollectionSettings()) as collection:
        assert "told anew" in collection.get(CLAY).text


def test_pages_passed_on_keep_their_first_sender(school, tmp_path):
    second, third = tmp_path / "second", tmp_path / "third"
    for name, data in (("Hill School", school), ("Valley School", second)):
        config = tmp_path / f"{name}.toml"
        config.write_text(f'[repair]\nschool = "{name}"\n')
        run("export", "Soil", "--to", tmp_path / f"{name}.wacz", "--config", config, data=data)
        run("import", tmp_path / f"{name}.wacz", data=second if data is school else third)
    with Collection.open(third / "collection", CollectionSettings()) as collection:
        assert PackStore(collection.database).of(CLAY).sender == "Hill School"


def test_what_people_here_said_of_a_page_counts_more_than_a_pack(school, tmp_path):
    there = tmp_path / "receiver"
    run("export", "Soil", "--to", tmp_path / "x.wacz", data=school)
    run("topics", "add", "soil", data=there)
    run("topics", "not", "soil", CLAY, data=there)
    run("import", tmp_path / "x.wacz", data=there)
    assert json.loads(run("topics", "show", "Soil", "--json", data=there).stdout)["pages"] == []


def test_damaged_pack_fails_and_loses_nothing_stored(school, tmp_path):
    there = tmp_path / "receiver"
    run("export", "Soil", "--to", tmp_path / "x.wacz", data=school)
    run("import", tmp_path / "x.wacz", data=there)
    with zipfile.ZipFile(tmp_path / "x.wacz") as whole, zipfile.ZipFile(tmp_path / "y.wacz", "w") as cut:
        for name in whole.namelist():
            content = whole.read(name)
            cut.writestr(name, content[: len(content) * 2 // 3] if name.endswith(".warc.gz") else content)
    failed = run("import", tmp_path / "y.wacz", data=there, code=1)
    assert isinstance(failed.exception, ImportFailed)
    with Collection.open(there / "collection", CollectionSettings()) as collection:
        assert collection.holds(CLAY)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("Soil", "--to", "x.tar"), 2, "ends in .wacz or .zim"),
        (("opera of nowhere", "--to", "x.wacz"), 1, "nothing to export"),
        (("Soil", "--to", "no/such/folder/x.wacz"), 1, "cannot write the pack"),
    ],
)
def test_export_says_what_is_wrong(school, arguments, code, said):
    failed = run("export", *arguments, data=school, code=code)
    assert said in f"{failed.exception} {failed.output}"
