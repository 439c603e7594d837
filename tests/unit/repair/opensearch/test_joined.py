import threading
from contextlib import nullcontext

import pytest

from repair.evidence.gather import gather_local
from repair.model import BrokenLink, MissKind
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.joined import joined_finder, merge
from repair.opensearch.pagedocument import document_id, page_number, same_fetch, version
from repair.opensearch.patience import Patience
from repair.opensearch.probing import ProbingClient
from repair.opensearch.sharedpages import SharedPages
from repair.pipeline import local_sources
from repair.ranking.query import formulate
from repair.ranking.rankers import finder
from repair.settings import RepairSettings
from tests.integration.processes import eventually
from tests.unit.repair.opensearch.pages import DAY, a_collection
from tests.unit.repair.opensearch.test_client import node, reply

_PATIENCE_S = 60.0
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
        find, _ = joined_finder(collection, shared, RepairSettings(), None, Patience(_PATIENCE_S))
        query, alone = asked_alone(collection)
        assert find(LINK, query) == alone
        assert asked


class AnsweringDistrict:
    """A district that answers and has no page of its own."""

    is_resting = staticmethod(lambda: False)
    one_deadline = staticmethod(nullcontext)
    prepare = get = load_texts = staticmethod(lambda asked: None)


def test_a_school_offers_what_it_would_alone_where_nothing_seems_sure_among_the_districts_pages(
    tmp_path, monkeypatch
):
    def nothing_is_sure_together(*arguments, among=None):
        return finder(*arguments) if among is None else lambda link, query: ()

    monkeypatch.setattr("repair.opensearch.joined.finder", nothing_is_sure_together)
    with a_collection(tmp_path) as collection:
        find, _ = joined_finder(
            collection, AnsweringDistrict(), RepairSettings(), None, Patience(_PATIENCE_S)
        )
        query, alone = asked_alone(collection)
        assert find(LINK, query) == alone


def asked_alone(collection):
    """The query for the link, and what a school without a district offers for it."""
    sources = local_sources(collection, RepairSettings(), None)
    query = formulate(LINK, gather_local(LINK, sources, deadline_s=60.0))
    alone = finder(collection, RepairSettings(), None)(LINK, query)
    assert alone[0].page.title == "River delta"
    return query, alone


def test_a_district_that_is_late_is_not_waited_for_and_its_nodes_are_tried_before_they_are_asked(tmp_path):
    may_answer = threading.Event()
    hits = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": []}}

    def hang(socket):
        may_answer.wait(60)
        socket.settimeout(60)
        reply({"responses": [hits] * 3})(socket)

    with a_collection(tmp_path) as collection, node(hang) as (url, asked):
        patience = Patience(0.2)
        client = ProbingClient([url], fast_s=60.0)
        shared = SharedPages(client, deadline_s=0.2)
        find, _ = joined_finder(collection, shared, RepairSettings(), None, patience)
        query, alone = asked_alone(collection)
        assert find(LINK, query) == alone
        eventually(shared.is_resting, "still asked")
        eventually(lambda: patience.seconds() == 0.0, "still waited for")
        assert find(LINK, query) == alone
        assert asked
        may_answer.set()
        eventually(lambda: not shared.is_resting(), "never asked again")
        client.close()


def test_a_repair_waits_no_longer_than_the_district_usually_takes():
    patience = Patience(0.4)
    for _ in range(100):
        patience.note_shared(0.04)
    assert patience.seconds() == pytest.approx(0.08)
    for _ in range(100):
        patience.note_shared(0.001)
    assert patience.seconds() == pytest.approx(0.05)


def test_nobody_waits_again_before_three_answers_in_a_row_were_in_time():
    patience = Patience(0.4)
    patience.note_lost()
    for _ in range(3):
        assert patience.seconds() == 0.0
        patience.note_shared(0.04)
    assert patience.seconds() > 0.0
    patience.note_shared(0.3)
    assert patience.seconds() == 0.0


def test_a_school_that_ranks_slowly_itself_waits_longer_but_never_beyond_the_limit():
    patience = Patience(0.4)
    assert patience.seconds() == pytest.approx(0.1)
    for seconds, waits in ((0.2, 0.2), (7.0, 0.4)):
        for _ in range(100):
            patience.note_own(seconds)
        assert patience.seconds() == pytest.approx(waits)
