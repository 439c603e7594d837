"""`linkmend mend --batch`."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from proxy.cli.inputlines import MAX_BYTES
from proxy.cli.mendbatch import BatchLink, broken_link_of, mend_all
from proxy.errors import LinkmendError
from proxy.main import app
from repair.pipeline import Repairer
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document

PAGES = [
    a_document(f"/{name}", title=f"All about {name}", text=f"{name} in every word of {name}.")
    for name in ("volcanoes", "glaciers", "rivers")
]


@pytest.fixture
def data(tmp_path):
    a_collection(tmp_path / "collection", *PAGES).close()
    return tmp_path


@pytest.fixture
def repairer(tmp_path):
    with a_collection(tmp_path / "held", *PAGES) as collection, ThreadPoolExecutor(2) as threads:
        yield Repairer(collection, RepairSettings(), threads)


def mended(data, text, *more):
    """The output of `mend --batch`, line by line."""
    batch = data / "links.jsonl"
    batch.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = CliRunner().invoke(app, ["mend", "--data", str(data), "--batch", str(batch), *more])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def asking(name, **known):
    return json.dumps({"url": f"{SITE}/old/{name}.html"} | known)


def first(answer):
    return answer["alternatives"][0]["url"].removeprefix(SITE)


def test_every_line_is_answered_by_a_line_in_the_same_order(data):
    names = ["rivers", "volcanoes", "glaciers"] * 7
    told = mended(data, "\n\n".join(asking(name) for name in names))
    assert [first(answer) for answer in told] == [f"/{name}" for name in names]
    assert set(told[0]) == {"url", "kind", "source_page", "queries", "alternatives", "mementos", "keywords"}


def test_id_of_a_line_is_returned(data):
    told = mended(data, "\n".join((asking("rivers", id=7), asking("rivers", id="x"), '{"id": 8, "url": ""}')))
    assert [answer["id"] for answer in told] == [7, "x", 8]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "truncated"),
        (b'{"url": 5}', "$.url"),
        (b'{"anchor": "x"}', "url"),
        (b'{"url": "gopher://a"}', "url: expected an http or https address"),
        (b'{"url": "http://a.test/", "source": "b"}', "source: expected an http or https address"),
        (b'{"url": "http://a.test/\xff"}', "utf-8"),
        (b'{"url": "' + b"a" * MAX_BYTES + b'"}', "longer than"),
    ],
)
def test_bad_line_is_reported_and_the_others_are_answered(data, line, complaint):
    told = mended(data, b"\n".join((asking("rivers").encode(), b"", line, asking("glaciers").encode())))
    assert [first(told[0]), first(told[2])] == ["/rivers", "/glaciers"]
    assert told[1]["line"] == 3
    assert complaint in told[1]["error"].lower()


def test_a_file_that_cannot_be_read_is_an_error(data):
    for batch in (data / "none.jsonl", data):
        done = CliRunner().invoke(app, ["mend", "--data", str(data), "--batch", str(batch)])
        assert isinstance(done.exception, LinkmendError)
        assert str(batch) in str(done.exception)


def test_standard_input_is_read_too(data):
    asked = ["mend", "--data", str(data), "--batch", "-", "--top", "1"]
    done = CliRunner().invoke(app, asked, input=asking("rivers"))
    assert [first(json.loads(line)) for line in done.stdout.splitlines()] == ["/rivers"]


def test_context_is_taken_on_either_side_or_both():
    link = broken_link_of(
        BatchLink(url="http://a.test/", context="one", context_before="two", context_after="three")
    )
    assert (link.before, link.after) == ("one two", "three")


async def test_concurrent_repairs_are_limited(repairer, tmp_path):
    batch = tmp_path / "links.jsonl"
    batch.write_text("\n".join(asking("rivers") for _ in range(30)))
    crowd = Counted(repairer)
    told = []
    await mend_all(crowd, batch, told.append)
    assert len(told) == 30
    assert 1 < crowd.most <= 4


class Counted:
    """A repairer that counts concurrent repairs."""

    def __init__(self, inner):
        self._inner = inner
        self._now = self.most = 0

    async def repair(self, link):
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            return await self._inner.repair(link)
        finally:
            self._now -= 1


async def test_failed_write_ends_the_batch(repairer, tmp_path):
    batch = tmp_path / "links.jsonl"
    batch.write_text("\n".join(asking("rivers") for _ in range(30)))

    def closed(_):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await mend_all(repairer, batch, closed)
