import threading
import time

import pytest

from repair import harvest as harvest_module
from repair.collection.collection import Collection
from repair.collection.index.fulltext import IndexDamaged
from repair.errors import FileTooCostly
from repair.evidence.hints import Hints
from repair.harvest import Harvester, addition_of, raw_digest
from repair.settings import CollectionSettings, RepairSettings
from tests.files import a_pdf
from tests.holdings import SITE, a_collection, a_document, found
from tests.make import A_MOMENT, a_broken_link, a_page

ROME = b"<title>Rome</title><p>The city on the <a href='/tiber'>river Tiber</a> was not built in a day.</p>"


def _html(path="/rome", body=ROME, **known):
    return a_page(url=SITE + path, body=body, **known)


def _harvest(collection, *pages, **settings):
    """Have pages read to the end; the stats of the harvester."""
    harvester = Harvester(collection, CollectionSettings(**settings))
    for page in pages:
        assert harvester.offer(page)
    assert harvester.close(30.0)
    return harvester.stats()


def test_an_offered_page_is_parsed_saved_linked_and_found(tmp_path):
    with a_collection(tmp_path) as collection:
        stats = _harvest(collection, _html())
        assert found(collection, "rome") == ["/rome"]
        assert collection.link_between(f"{SITE}/rome", f"{SITE}/tiber").anchor == "river Tiber"
        assert collection.copy(f"{SITE}/rome").body == ROME
        assert stats.read == 1


def test_a_page_seen_again_with_other_links_tells_a_move(tmp_path):
    later = ROME.replace(b"/tiber", b"/rivers/tiber")
    with a_collection(tmp_path, a_document("/rivers/tiber", title="Tiber")) as collection:
        hints = Hints(collection, RepairSettings())
        harvester = Harvester(collection, CollectionSettings(), hints)
        for body in (ROME, later):
            assert harvester.offer(_html("/", body))
        assert harvester.close(30.0)
        targets = hints.known_targets(a_broken_link(f"{SITE}/tiber"))
        assert [target.url for target in targets] == [f"{SITE}/rivers/tiber"]


def _file(path, text, **known):
    return a_page(url=SITE + path, content_type="application/pdf", body=a_pdf(text), **known)


@pytest.mark.slow
def test_an_offered_file_is_read_saved_linked_and_found(tmp_path):
    page = a_page(
        url=f"{SITE}/tiber.pdf",
        content_type="application/pdf",
        body=a_pdf("The river Tiber in winter\nruns through Rome", links=[(f"{SITE}/rome", 1)]),
    )
    with a_collection(tmp_path) as collection:
        assert _harvest(collection, page).read == 1
        assert found(collection, "winter") == ["/tiber.pdf"]
        assert collection.get(page.url).title == "The river Tiber in winter"
        assert collection.link_between(page.url, f"{SITE}/rome").anchor == "runs through Rome"
        assert collection.copy(page.url).body == page.body


def test_a_site_with_a_costly_file_waits_for_the_next_one(tmp_path, monkeypatch):
    def read(page, settings):
        tried.append(page.url)
        raise FileTooCostly("too much")

    tried = []
    monkeypatch.setattr(harvest_module, "read_document", read)
    pages = (
        _file("/1.pdf", "one"),
        _file("/2.pdf", "two"),
        a_page(url="http://else.test/", content_type="application/pdf"),
    )
    with a_collection(tmp_path) as collection:
        stats = _harvest(collection, *pages, _html())
    assert tried == [f"{SITE}/1.pdf", "http://else.test/", f"{SITE}/rome"]
    assert (stats.passed_over, stats.failed) == (1, 3)


def test_an_offered_page_is_indexed_within_seconds(tmp_path):
    with a_collection(tmp_path) as collection:
        harvester = Harvester(collection, CollectionSettings(commit_every_s=0.05))
        harvester.offer(_html())
        until = time.monotonic() + 10
        while not found(collection, "rome") and time.monotonic() < until:
            time.sleep(0.02)
        assert found(collection, "rome") == ["/rome"]
        harvester.close()


@pytest.mark.parametrize(
    "page",
    [
        _html(status=404),
        _html(status=206),
        _html(body=b"\x89PNG", content_type="image/png"),
        _html(headers=[("X-Robots-Tag", "noindex")]),
        _html(body=b"<meta name=robots content=noindex>" + ROME),
        _html(headers=[("Content-Encoding", "gzip")]),
    ],
    ids=["missing", "partial", "picture", "noindex header", "noindex meta", "broken coding"],
)
def test_unreadable_and_noindex_pages_are_not_saved(tmp_path, page):
    with a_collection(tmp_path) as collection:
        assert _harvest(collection, page).read == 0
        assert collection.stats().pages == 0


def test_a_page_that_becomes_noindex_is_deleted_unless_pinned(tmp_path):
    with a_collection(tmp_path) as collection:
        for path, pinned in (("/harvested", False), ("/pinned", True)):
            collection.add(a_document(path), fetched_at=A_MOMENT, pinned=pinned)
        _harvest(
            collection,
            *(_html(path, headers=[("X-Robots-Tag", "noindex")]) for path in ("/harvested", "/pinned")),
        )
        assert not collection.holds(f"{SITE}/harvested")
        assert collection.holds(f"{SITE}/pinned")


def test_the_same_bytes_are_not_parsed_again(tmp_path):
    with a_collection(tmp_path) as collection:
        stats = _harvest(collection, _html(), _html(), _html(body=ROME + b"<p>changed"))
        assert (stats.read, stats.unchanged) == (2, 1)


def test_a_canonical_url_is_remembered_but_the_page_keeps_its_own(tmp_path):
    with a_collection(tmp_path) as collection:
        _harvest(collection, _html(body=b"<link rel=canonical href='/roma'>" + ROME))
        assert collection.holds(f"{SITE}/rome")
        page = collection._pages.number(f"{SITE}/rome")
        assert collection._pages.document(page).canonical_url == f"{SITE}/roma"


class Stuck(Collection):
    """A collection whose disk hangs until it is told to go on."""

    go_on = threading.Event()

    def seen_again(self, *args, **known):
        self.go_on.wait(30)
        return super().seen_again(*args, **known)


def test_a_full_queue_refuses_at_once_and_counts(tmp_path):
    collection = Stuck.open(tmp_path, CollectionSettings())
    harvester = Harvester(collection, CollectionSettings(queue_length=2))
    began = time.monotonic()
    taken = [harvester.offer(_html(f"/{number}")) for number in range(50)]
    assert time.monotonic() - began < 5
    assert 2 <= sum(taken) <= 3  # one may already be with the worker
    assert harvester.stats().passed_over == 50 - sum(taken)
    Stuck.go_on.set()
    assert harvester.close(30)
    assert harvester.stats().read == sum(taken)
    collection.close()


class Odd(Collection):
    """A collection that cannot take one of the pages."""

    def add_many(self, additions):
        (addition,) = additions
        if addition.document.url.endswith("/odd"):
            raise RuntimeError("cannot take this")
        return super().add_many([addition])


def test_a_page_that_fails_costs_one_line_and_not_the_worker(tmp_path, caplog):
    with Odd.open(tmp_path, CollectionSettings()) as collection:
        stats = _harvest(collection, _html("/odd"), _html("/rome"))
        assert (stats.failed, stats.read) == (1, 1)
        lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert lines == [f"harvest: failed for {SITE}/odd: RuntimeError: cannot take this"]


def test_close_processes_the_queue_and_accepts_no_more(tmp_path):
    with a_collection(tmp_path) as collection:
        harvester = Harvester(collection, CollectionSettings())
        for number in range(20):
            harvester.offer(_html(f"/{number}"))
        assert harvester.close(30)
        assert collection.stats().pages == 20
        assert collection.stats().pending == 0
        assert not harvester.offer(_html("/late"))


def test_close_respects_its_timeout(tmp_path):
    Stuck.go_on.clear()
    collection = Stuck.open(tmp_path, CollectionSettings())
    harvester = Harvester(collection, CollectionSettings())
    harvester.offer(_html())
    assert not harvester.close(0.05)
    Stuck.go_on.set()
    assert harvester.close(30)
    collection.close()


def test_the_digest_depends_on_the_bytes_and_their_content_type():
    assert raw_digest(_html()) == raw_digest(_html("/elsewhere"))
    assert raw_digest(_html()) != raw_digest(_html(content_type="text/plain"))
    assert raw_digest(_html()) != raw_digest(_html(body=ROME + b" "))


def test_an_addition_has_the_document_and_its_copy():
    addition = addition_of(_html(), CollectionSettings(), pinned=True)
    assert addition.document.title == "Rome"
    assert addition.copy.body == ROME
    assert addition.pinned


def test_huge_pages_are_refused_when_they_fill_the_queue(tmp_path, monkeypatch):
    monkeypatch.setattr(harvest_module, "_WAITING_BYTES", 100)
    collection = a_collection(tmp_path)
    harvester = Harvester(collection, CollectionSettings())
    assert not harvester.offer(a_page(body=b"x" * 101))
    assert harvester.stats().passed_over == 1
    harvester.close()
    collection.close()


class FakeHints:
    def __init__(self):
        self.caught_up = threading.Event()
        self.forgotten = []

    def catch_up(self, is_hurried):
        self.caught_up.set()
        return False

    def forget(self, url):
        self.forgotten.append(url)


def test_other_work_is_done_on_the_same_thread_and_may_fail(tmp_path, caplog):
    with a_collection(tmp_path) as collection:
        harvester, done = Harvester(collection, CollectionSettings()), []
        assert harvester.later(lambda: done.append(threading.current_thread().name))
        assert harvester.later(lambda: 1 // 0)
        assert harvester.later(lambda: done.append("last"))
        assert harvester.close(30)
        assert done == ["harvest", "last"]
        assert harvester.stats().failed == 1
        assert not harvester.later(done.clear)


def test_a_full_queue_refuses_other_work_too(tmp_path):
    go_on = threading.Event()
    with a_collection(tmp_path) as collection:
        harvester = Harvester(collection, CollectionSettings(queue_length=2))
        taken = [harvester.later(lambda: go_on.wait(30)) for _ in range(10)]
        assert 2 <= sum(taken) <= 3
        go_on.set()
        assert harvester.close(30)


def test_hints_catch_up_where_the_index_does(tmp_path):
    hints = FakeHints()
    with a_collection(tmp_path) as collection:
        harvester = Harvester(collection, CollectionSettings(), hints)
        assert hints.caught_up.wait(10)
        harvester.close()


def test_hints_of_a_noindex_page_are_deleted_with_it(tmp_path):
    hints = FakeHints()
    with a_collection(tmp_path, a_document("/harvested")) as collection:
        harvester = Harvester(collection, CollectionSettings(), hints)
        for path in ("/harvested", "/unknown"):
            harvester.offer(_html(path, headers=[("X-Robots-Tag", "noindex")]))
        assert harvester.close(30)
    assert hints.forgotten == [f"{SITE}/harvested"]


class FullDisk:
    """A collection on a disk that is full."""

    def index_some(self, limit):
        raise IndexDamaged("/data/index: No space left on device")


def test_a_full_disk_is_one_line_in_the_log(caplog):
    assert Harvester(FullDisk(), CollectionSettings()).close(30)
    assert "harvest: indexing failed: /data/index: No space left on device" in caplog.messages
    assert not any(record.exc_info for record in caplog.records)
