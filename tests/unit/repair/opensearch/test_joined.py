import threading
from contextlib import suppress

import pytest

from repair.evidence.gather import gather_local
from repair.model import BrokenLink, MissKind
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.joined import joined_finder, merge
from repair.opensearch.pagedocument import document_id, page_number, same_fetch, version
from repair.opensearch.probing import ProbingClient
from repair.opensearch.sharedpages import SharedPages
from repair.pipeline import local_sources
from repair.ranking.query import formulate
from repair.settings import RepairSettings
from tests.integration.processes import eventually
from tests.unit.repair.opensearch.pages import DAY, a_collection
from tests.unit.repair.opensearch.test_client import node, reply

_WITHIN_S = 60.0
LINK = BrokenLink(
    url="https://topics.example.org/old/delta",
    kind=MissKind.NOT_FOUND,
    anchor="river delta",
    before="sand of the",
)


def numbers(ranked):
    return [page for page, _ in ranked]


def test_pages_in_both_lists_appear_once_in_the_others_order():
    own, others = ((1, 9.0), (2, 8.0), (3, 7.0)), ((3, 5.0), (1, 4.0))
    assert numbers(merge(own, others)) == [3, 1, 2]


def test_without_the_district_the_own_order_stays():
    own = ((4, 3.0), (2, 2.0), (9, 1.0))
    assert merge(own, ()) == own


def test_lists_without_a_page_in_common_alternate():
    assert numbers(merge(((1, 9.0), (2, 8.0)), ((7, 5.0), (8, 4.0)))) == [1, 7, 2, 8]


def test_a_page_has_the_same_number_in_every_school():
    number = page_number("https://topics.example.org/1")
    assert number == page_number("https://topics.example.org/1")
    assert int(document_id(number), 16) == number < 2**63


def test_revisions_of_a_page_are_older_than_its_next_fetch():
    first = version(DAY)
    assert same_fetch(first, first + 999)
    assert not same_fetch(first, first + 1000)


@pytest.mark.parametrize(
    "answer",
    [
        reply({}),
        reply({"responses": [{}]}),
        reply({"responses": [{"hits": {"hits": [1, {"_id": "zz"}, {"_id": None}]}}] * 8}),
        reply(
            {
                "responses": [
                    {
                        "timed_out": False,
                        "_shards": {"failed": 0},
                        "hits": {"hits": [{"_id": "0f", "fields": {}}, 7]},
                    }
                ]
                * 3
            }
        ),
    ],
    ids=["empty", "no hits", "odd hits", "hits without columns"],
)
def test_garbage_of_the_district_costs_nothing_but_its_pages(tmp_path, answer):
    with a_collection(tmp_path) as collection, node(answer) as (url, asked):
        shared = SharedPages(OpenSearchClient([url]), deadline_s=2.0)
        find, _ = joined_finder(collection, shared, RepairSettings(), None, within_s=_WITHIN_S)
        with suppress(SearchUnavailable):
            assert all(collection.holds(each.page.url) for each in find(LINK, query_of(collection)))
        assert asked


def query_of(collection):
    sources = local_sources(collection, RepairSettings(), None)
    return formulate(LINK, gather_local(LINK, sources, deadline_s=60.0))


def test_nodes_of_a_district_that_is_late_are_tried_before_they_are_asked(tmp_path):
    may_answer = threading.Event()
    hits = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": []}}

    def hang(socket):
        may_answer.wait(60)
        socket.settimeout(60)
        reply({"responses": [hits] * 3})(socket)

    with a_collection(tmp_path) as collection, node(hang) as (url, asked):
        client = ProbingClient([url], fast_s=60.0)
        shared = SharedPages(client, deadline_s=0.2)
        find, _ = joined_finder(collection, shared, RepairSettings(), None, within_s=0.2)
        for _ in range(2):
            with pytest.raises(SearchUnavailable):
                find(LINK, query_of(collection))
        assert shared.is_resting()
        assert asked
        may_answer.set()
        eventually(lambda: not shared.is_resting(), "never asked again")
        client.close()
