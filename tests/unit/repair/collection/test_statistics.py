from datetime import UTC, datetime, timedelta

import pytest

from repair.collection.collection import Collection
from repair.collection.statistics import CollectionStatistics
from repair.model import Document, HeldCopy, Link
from repair.settings import CollectionSettings

NOON = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)


@pytest.fixture
def collection(tmp_path):
    with Collection.open(tmp_path, CollectionSettings()) as opened:
        yield opened


def hold(collection, url, *, language="en", at=NOON, pinned=False, links=()):
    document = Document(url=url, title=url[-1], text="Some text", language=language, links=links)
    copy = HeldCopy(url=url, content_type="text/html", body=b"<p>Some text", fetched_at=at)
    collection.add(document, fetched_at=at, pinned=pinned, copy=copy)


def test_pages_are_counted_by_the_day_of_the_school(collection):
    late = NOON.replace(hour=23)
    for number, at in enumerate((NOON, NOON, late, NOON - timedelta(days=40))):
        hold(collection, f"http://a.test/{number}", at=at)
    census = CollectionStatistics(collection.database)
    since = NOON - timedelta(days=30)
    assert census.days(0, since) == (("2026-05-03", 3),)
    assert census.days(2 * 3600, since) == (("2026-05-03", 2), ("2026-05-04", 1))


def test_languages_come_with_the_most_first(collection):
    for number, language in enumerate(("es", "en", "en", "")):
        hold(collection, f"http://a.test/{number}", language=language)
    assert CollectionStatistics(collection.database).languages() == (("en", 2), ("", 1), ("es", 1))


def test_latest_pages_come_first_and_pinned_pages_can_be_listed_alone(collection):
    for number in range(3):
        at = NOON + timedelta(hours=number)
        hold(collection, f"http://a.test/{number}", at=at, pinned=number == 1)
    census = CollectionStatistics(collection.database)
    assert [page.title for page in census.latest(2)] == ["2", "1"]
    assert [page.title for page in census.latest(2, offset=2)] == ["0"]
    assert [page.title for page in census.latest(5, pinned=True)] == ["1"]


def test_the_facts_of_a_page(collection):
    hold(collection, "http://a.test/1", links=(Link(target_url="http://a.test/2", anchor="x"),))
    hold(collection, "http://a.test/2")
    census = CollectionStatistics(collection.database)
    facts = census.facts("http://a.test/1")
    assert (facts.links_in, facts.links_out, facts.text_bytes, facts.older_bytes) == (0, 1, 9, 0)
    assert facts.copy_bytes > 0
    assert census.facts("http://a.test/2").links_in == 1
    assert census.facts("http://a.test/3") is None


def test_statistics_never_read_page_texts(collection):
    with collection.database.read() as connection:
        CollectionStatistics(collection.database)
        for query in (
            "SELECT date(fetched_at, 'unixepoch') AS day, count(*) FROM pages WHERE fetched_at >= 0 GROUP BY day",
            "SELECT language, count(*) FROM pages INDEXED BY pages_census GROUP BY language",
        ):
            plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}"))
            assert "COVERING INDEX pages_census" in plan
