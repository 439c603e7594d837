"""Schools and their district's OpenSearch: a real cluster of three nodes, from Maven Central."""

import contextlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from repair.collection.collection import Collection
from repair.evidence.savedcopy import SavedCopy
from repair.model import BrokenLink, Document, Link, MissKind
from repair.opensearch import counting, publishing
from repair.opensearch.census import EMPTY
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.joined import joined_finder
from repair.opensearch.outgoing import send_batch, shared_page
from repair.opensearch.pagedocument import INDEX
from repair.opensearch.sharedpages import SharedPages
from repair.opensearch.withdrawal import withdraw_all
from repair.pipeline import Repairer
from repair.ranking import rankmodel
from repair.ranking.features import FEATURES
from repair.ranking.learned import LearnedRanker
from repair.ranking.query import formulate
from repair.ranking.rankers import finder
from repair.settings import CollectionSettings, RepairSettings
from tests.integration.browser import chromium
from tests.integration.client import Client
from tests.integration.processes import eventually

_DAY = datetime(2026, 3, 2, tzinfo=UTC)
_SITE = "https://www.school-topics.org"
_TOPICS = (
    ("volcano", "magma rises through the crust and erupts as lava and ash over the crater"),
    ("glacier", "ice flows slowly down the valley and carves the rock into moraines"),
    ("river", "water runs from the spring to the estuary and carries sediment to the delta"),
    ("desert", "dunes of sand move with the wind where rain hardly ever falls"),
    ("tundra", "permafrost keeps the ground frozen and only mosses and lichens grow"),
    ("reef", "corals build limestone skeletons where fish and sponges find shelter"),
    ("savanna", "grassland with scattered acacia trees feeds herds of antelope"),
    ("meadow", "flowers and grasses are cut for hay in early summer"),
)
_PARTS = ("formation", "animals", "plants", "climate", "map", "history")


def pages(site=_SITE):
    """Forty-eight pages that link to each other."""
    every = [(name, part, text) for name, text in _TOPICS for part in _PARTS]
    for at, (name, part, text) in enumerate(every):
        others = [every[(at + step) % len(every)] for step in (1, 5, 11)]
        yield Document(
            url=f"{site}/{name}/{part}.html",
            title=f"{name.title()} {part}",
            text=f"The {part} of the {name}. {text}. {part} {name} {text.split()[at % 5]}",
            language="en",
            links=tuple(
                Link(
                    target_url=f"{site}/{other}/{piece}.html",
                    anchor=f"{other} {piece}",
                    before="read more about the",
                    after=f"of each {other}",
                )
                for other, piece, _ in others
            ),
        )


def broken(name="volcano", part="formation", *, source="glacier/map"):
    return BrokenLink(
        url=f"{_SITE}/old/{name}-{part}.html",
        kind=MissKind.NOT_FOUND,
        source_url=f"{_SITE}/{source}.html",
        anchor=f"{name} {part}",
        before="read about the",
        after="of mountains",
    )


def opened(folder, documents=()):
    collection = Collection.open(folder, CollectionSettings())
    for document in documents:
        collection.add(document, fetched_at=_DAY)
    collection.commit()
    return collection


@pytest.fixture(scope="module")
def cluster(start_cluster):
    running = start_cluster()
    yield running
    running.stop()


@pytest.fixture
def client(cluster):
    """A client of a cluster with an empty index."""
    cluster.ask("DELETE", f"/{INDEX},{counting.CENSUS_INDEX}?ignore_unavailable=true")
    found = OpenSearchClient(cluster.urls)
    publishing.install(found)
    yield found
    found.close()


@pytest.fixture
def school(tmp_path):
    with opened(tmp_path / "school", pages()) as collection:
        yield collection


def settle(client):
    client.ask("POST", f"/{INDEX}/_refresh", within_s=60)


def send_all(collection, client):
    collection.outbox.open()
    while send_batch(collection, client, now=datetime.now(UTC)):
        settle(client)


def shared_from(client, deadline_s=30.0):
    counting.store_census(client, counting.take_census(client))
    return SharedPages(client, deadline_s=deadline_s, census=counting.fetch_census(client) or EMPTY)


def test_ranking_over_the_district_has_the_features_of_a_local_ranking(school, client):
    send_all(school, client)
    shared = shared_from(client)
    # Pages that a query finds with equal scores come in another order there; these features depend on it.
    compared = [at for at, name in enumerate(FEATURES) if not name.startswith(("found.", "company.best"))]
    for name, _ in _TOPICS:
        link, rows, firsts = broken(name), [], []
        shared.prepare(link)
        for collection in (school, shared):
            ranker = LearnedRanker(collection, rankmodel.default())
            copy = SavedCopy(collection).find(link)
            found, matrix, _ = ranker.matrix(link, (copy,) if copy else ())
            rows.append({page.url: matrix[at, compared].tolist() for at, page in enumerate(found)})
            firsts.append(ranker.judge(found, matrix)[0][0].page.url)
        assert rows[1].keys() == rows[0].keys()
        apart = {
            FEATURES[compared[at]]: (local, rows[1][url][at])
            for url, features in rows[0].items()
            for at, local in enumerate(features)
            if abs(local - rows[1][url][at]) > 1e-4
        }
        assert not apart
        assert firsts == [f"{_SITE}/{name}/formation.html"] * 2


def test_the_district_knows_the_links_of_the_pages(school, client):
    send_all(school, client)
    shared = shared_from(client)
    page = f"{_SITE}/volcano/formation.html"
    assert shared.outlinks(page) == school.outlinks(page)
    target = school.outlinks(page)[0].target_url
    assert {*shared.inlinks(target)} == {*school.inlinks(target)}
    assert shared.get(page).text == school.get(page).text
    assert shared.holds(page)
    assert not shared.holds(f"{_SITE}/nowhere.html")


def test_the_district_knows_the_same_urls_of_a_site_as_a_collection_with_all_its_pages(
    school, client, tmp_path
):
    lost = f"{_SITE}/volcano/lost.html"
    (page, *others) = pages()
    page = replace(
        page,
        links=(
            *page.links,
            Link(target_url=lost, anchor="lost"),
            Link(target_url="https://ja.school-topics.org/", anchor="ja"),
        ),
    )
    with opened(tmp_path / "one", [page]) as one, opened(tmp_path / "two", others) as two:
        send_all(one, client)
        send_all(two, client)
        with opened(tmp_path / "both", [page, *others]) as both:
            for site in (f"{_SITE}/", "https://ja.school-topics.org/", "https://de.school-topics.org/"):
                assert shared_from(client).addresses(site, 3000) == both.addresses(site, 3000)
                assert shared_from(client).addresses(site, 7) == both.addresses(site, 7)
            assert lost in shared_from(client).addresses(f"{_SITE}/", 3000)
        assert two.remove(f"{_SITE}/reef/map.html")
        send_all(two, client)
    assert f"{_SITE}/reef/map.html" not in shared_from(client).addresses(f"{_SITE}/", 3000)


def test_a_repair_takes_three_round_trips_also_on_a_site_that_was_never_asked_of(school, client):
    send_all(school, client)
    shared, asked = shared_from(client), []
    real = client.ask
    client.ask = lambda *known, **more: asked.append(known[1]) or real(*known, **more)
    shared.prepare(broken())
    rows = LearnedRanker(shared, rankmodel.default()).matrix(broken())[1]
    assert len(rows) > 0
    assert len(asked) == 3


def test_of_two_schools_that_send_the_same_page_the_newer_one_stays(client, tmp_path):
    (page, *_) = pages()
    newer = replace(page, title="Volcano formation, revised")
    with opened(tmp_path / "one") as one, opened(tmp_path / "two") as two:
        one.add(newer, fetched_at=_DAY + timedelta(days=2))
        two.add(page, fetched_at=_DAY)
        for school in (one, two):
            send_all(school, client)
    shared = shared_from(client)
    assert shared.get(page.url).title == newer.title
    assert counting.count_pages(client) == 1


def test_a_removed_page_is_removed_in_the_district_and_no_older_version_brings_it_back(
    school, client, tmp_path
):
    send_all(school, client)
    gone = f"{_SITE}/reef/map.html"
    kept = shared_page(school, school.page_number(gone))
    assert school.remove(gone)
    send_all(school, client)
    publishing.publish(client, [kept])
    settle(client)
    shared = shared_from(client)
    assert shared.get(gone) is None
    assert gone not in {found.page.url for found in shared.search([("reef", 1.0)], limit=50)}


def test_a_school_that_leaves_takes_the_pages_with_it_that_it_sent_and_no_others(client, tmp_path):
    (both, only, *_) = pages()
    telling = Document(
        url="https://elsewhere.example.org/list.html",
        title="List",
        text="a list",
        language="en",
        links=(Link(target_url=both.url, anchor="stratocone genesis"),),
    )
    later = _DAY + timedelta(days=1)
    with opened(tmp_path / "one", [both, only, telling]) as one, opened(tmp_path / "two") as two:
        two.add(both, fetched_at=later)
        two.commit()
        for school in (one, two, one):
            send_all(school, client)
        publishing.add_anchors(client, [both.url])
        settle(client)
        assert find(client, "stratocon") == {both.url}
        assert withdraw_all(one, client) == 2
        settle(client)
        assert counting.count_pages(client) == 1
        assert find(client, "volcano") == {both.url}
        assert find(client, "stratocon") == set()
        assert withdraw_all(one, client) == 0
        send_all(two, client)
        two.add(only, fetched_at=later)  # which another school may share again
        two.commit()
        send_all(two, client)
        assert counting.count_pages(client) == 2


def find(client, term):
    settle(client)
    return {found.page.url for found in shared_from(client).search([(term, 1.0)], limit=50)}


def test_names_that_another_school_gives_a_page_find_it(client, tmp_path):
    (page, *_) = pages()
    telling = Document(
        url="https://elsewhere.example.org/list.html",
        title="List",
        text="a list",
        language="en",
        links=(Link(target_url=page.url, anchor="stratocone genesis"),),
    )
    with opened(tmp_path / "one", [page]) as one, opened(tmp_path / "two", [telling]) as two:
        send_all(one, client)
        send_all(two, client)
        send_all(two, client)
    publishing.add_anchors(client, [page.url])
    settle(client)
    found = shared_from(client).search([("stratocon", 1.0)], limit=5, weights={"anchors": 1.0})
    assert [each.page.url for each in found] == [page.url]


def test_pages_of_the_schools_own_network_are_not_sent(client, tmp_path):
    inside = Document(url="http://intranet.local/marks.html", title="Marks", text="marks", language="en")
    linking = Document(
        url=f"{_SITE}/start.html",
        title="Start",
        text="start",
        language="en",
        links=(Link(target_url=inside.url, anchor="marks"),),
    )
    with opened(tmp_path / "one", [inside, linking]) as one:
        send_all(one, client)
        assert one.outbox.count() == 0
    shared = shared_from(client)
    assert not shared.holds(inside.url)
    assert shared.holds(linking.url)
    assert shared.outlinks(linking.url) == ()


def repaired(find, link):
    return [(each.page.url, pytest.approx(each.score)) for each in find(link, formulate(link, ()))]


def first(find, link):
    """The first page that is found; None when the district does not answer."""
    with contextlib.suppress(SearchUnavailable):
        return next((url for url, _ in repaired(find, link)), None)


def test_a_small_school_is_offered_pages_of_the_district(school, client, tmp_path):
    send_all(school, client)
    with opened(tmp_path / "small", list(pages("https://small.example.org"))[20:24]) as small:
        find, joined = joined_finder(small, shared_from(client), RepairSettings(), None, within_s=120.0)
        link = broken()
        found = find(link, formulate(link, ()))
        assert found[0].page.url == f"{_SITE}/volcano/formation.html"
        assert "magma" in joined.text_of(found[0].page.url).text
        assert not small.holds(found[0].page.url)


@pytest.mark.parametrize("nodes", [("http://127.0.0.1:1",), ()], ids=["down", "none awake"])
async def test_a_school_without_a_line_gets_what_a_lone_school_gives(school, nodes):
    shared = SharedPages(OpenSearchClient(nodes), deadline_s=0.3)
    find, _ = joined_finder(school, shared, RepairSettings(), None, within_s=120.0)
    with ThreadPoolExecutor(1) as threads:
        alone = Repairer(school, RepairSettings(), threads)
        cut_off = Repairer(school, RepairSettings(), threads, find=find)
        for name, _ in _TOPICS:
            lone = await alone.rank(broken(name), within_s=60.0)
            assert lone.found.alternatives
            outcome = await cut_off.rank(broken(name), within_s=60.0)
            assert (outcome.found, outcome.is_whole) == (lone.found, False)


@pytest.fixture
def cluster_apart(start_cluster):
    running = start_cluster(apart=True)
    yield running
    running.stop()


def test_a_killed_node_costs_users_nothing(cluster_apart, school, tmp_path):
    client = OpenSearchClient(cluster_apart.urls)
    publishing.install(client)
    send_all(school, client)
    cluster_apart.wait_for("green", 3)
    with opened(tmp_path / "small", list(pages("https://small.example.org"))[20:24]) as small:
        find, _ = joined_finder(small, shared_from(client), RepairSettings(), None, within_s=40.0)
        alone = finder(small, RepairSettings(), None)
        answer = f"{_SITE}/volcano/formation.html"
        assert (first(alone, broken()), first(find, broken())) == (None, answer)
        cluster_apart.kill(1)
        for number in range(20):
            link = replace(broken(), url=f"{_SITE}/old/{number}/volcano-formation.html")
            assert first(find, link) in (None, answer), number
        cluster_apart.wait_for("yellow", 2)
        end = time.monotonic() + 60
        while first(find, broken()) != answer:
            assert time.monotonic() < end, "the district's pages did not come back"
            time.sleep(0.5)


def test_a_page_that_one_school_saved_is_offered_in_another(
    cluster, client, school, tmp_path, start_linkmend, program
):
    district = f"[district]\nsearch = {json.dumps(cluster.urls)}\nsearch_deadline_s = 20.0\n"
    folder = tmp_path / "first" / "collection"
    with opened(folder, pages()):
        pass
    start_linkmend(data=tmp_path / "first", settings=district)

    def is_counted():
        with contextlib.suppress(SearchUnavailable):  # while its index is being created
            return counting.current_census(client).pages == 48

    eventually(is_counted, "no census of all pages")
    lost = f"http{_SITE[5:]}/old/volcano-formation.html"
    second = start_linkmend("--offline", data=tmp_path / "second", settings=district)
    reader, other = Client(second.url), Client(second.url, source="127.0.3.1")

    def offered_later():
        page = reader.open_page(lost)
        asked = re.search(r'id="late" data-next="([^"]+)"', page.text)
        if asked is None:
            return None
        assert "data-url" not in page.text
        path = f"http{_SITE[5:]}{unescape(asked[1])}"
        assert other.get(path, Origin="null").status == 404
        return re.search(r'data-url="([^"]+)" data-source="shared"', reader.get(path, Origin="null").text)

    late = eventually(offered_later, "nothing of the district is offered later")
    assert late[1] == f"{_SITE}/volcano/formation.html"
    assert f'data-url="{late[1]}" data-source="shared"' in other.open_page(lost).text  # who comes next
    with chromium(program("chromium"), tmp_path / "browser", proxy=second.url) as context:
        page = context.new_page()
        page.goto(lost.replace("volcano", "glacier"))
        page.wait_for_selector(f'#late-offers [data-url="{_SITE}/glacier/formation.html"]')

    second = Client(second.url)

    def offered():
        told = json.loads(second.get(lost, Accept="application/json").body)
        return [each for each in told["alternatives"] if not each["held"]]

    found = eventually(offered, "nothing of the district is offered")
    assert found[0]["url"] == f"{_SITE}/volcano/formation.html"
    assert found[0]["source"] == "shared"
    assert found[0]["snippet"]
