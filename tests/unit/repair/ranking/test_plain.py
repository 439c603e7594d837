import pytest

from repair.collection.pages import PageSummary
from repair.knowntargets import KnownTarget, TargetKind
from repair.model import Evidence, Query
from repair.ranking.candidates import Candidate, propose
from repair.ranking.plain import PlainRanker, raise_known_targets
from repair.ranking.query import formulate
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link


class Rare:
    """A collection of a thousand pages in which every term is rare, but for those named."""

    def __init__(self, **counts):
        self._counts = counts

    def document_frequency(self, term, name="body"):
        return self._counts.get(term, 2)

    def size(self):
        return 1_000


def _proposal(title, path="/x", **scores):
    return Candidate(
        page=PageSummary(page=1, url=SITE + path, title=title, language="en", digest=path.encode()),
        scores=scores,
    )


def _query(*evidence):
    return formulate(a_broken_link(), evidence)


def _evidence(source, *terms):
    return Evidence(source=source, terms=tuple((term, 1.0) for term in terms), text=" ".join(terms))


def _rank(proposals, query, link=None, **counts):
    return PlainRanker(Rare(**counts)).rank(link or a_broken_link(), query, proposals)


def test_a_title_that_is_the_anchor_comes_first():
    ranked = _rank(
        [_proposal("Roman roads", "/b"), _proposal("Rome", "/a")], _query(_evidence("anchor", "rome"))
    )
    assert ranked[0].page.title == "Rome"
    assert ranked[0].confidence > 0.4
    assert {"anchor", "title"} <= set(ranked[0].reasons)


def test_other_pages_anchors_outweigh_the_url():
    query = _query(_evidence("inlinks", "aqueduct"), _evidence("url", "rome"))
    ranked = _rank([_proposal("Rome", "/r"), _proposal("Aqueducts", "/a")], query)
    assert ranked[0].page.title == "Aqueducts"


def test_common_words_count_less_than_rare_ones():
    query = _query(_evidence("anchor", "history", "aqueduct"))
    ranked = _rank(
        [_proposal("History", "/h"), _proposal("Aqueducts", "/a")], query, history=900, histori=900
    )
    assert ranked[0].page.title == "Aqueducts"


def test_a_page_with_nothing_in_common_is_not_offered():
    assert _rank([_proposal("Cooking for two", body=0.3)], _query(_evidence("anchor", "rome"))) == ()


def test_nothing_is_offered_when_nothing_is_known():
    assert _rank([_proposal("Rome")], Query(terms=(), text="")) == ()
    assert _rank([], _query(_evidence("anchor", "rome"))) == ()


def test_the_same_name_in_another_place_is_a_reason():
    link = a_broken_link("http://old.test/docs/aqueducts.html")
    (ranked,) = _rank(
        [_proposal("Aqueducts", "/new/aqueducts.htm")], _query(_evidence("url", "aqueduct")), link
    )
    assert {"same_name", "url"} <= set(ranked.reasons)
    assert "same_site" not in ranked.reasons


@pytest.mark.parametrize("path", ["/index.html", "/", "/a/index.htm"])
def test_generic_file_names_are_no_reason(path):
    link = a_broken_link("http://old.test/index.html")
    ranked = _rank([_proposal("Aqueducts", path)], _query(_evidence("anchor", "aqueduct")), link)
    assert "same_name" not in ranked[0].reasons


def test_confidence_is_between_nothing_and_certainty():
    proposals = [_proposal("Rome", "/gone", names=900.0, body=900.0, context=900.0)]
    query = _query(*(_evidence(source, "rome") for source in ("anchor", "inlinks", "url", "context")))
    (ranked,) = _rank(proposals, query)
    assert ranked.confidence == 1.0


def test_equal_pages_come_in_the_same_order_every_time():
    proposals = [_proposal("Rome", path) for path in ("/c", "/a", "/b")]
    query = _query(_evidence("anchor", "rome"))
    orders = {tuple(r.page.url for r in _rank(order, query)) for order in (proposals, proposals[::-1])}
    assert orders == {(f"{SITE}/a", f"{SITE}/b", f"{SITE}/c")}


def test_pages_are_proposed_by_name_and_by_text(tmp_path):
    documents = [
        a_document("/named", title="Aqueducts"),
        a_document("/told", title="Rome", text="It had aqueducts."),
    ]
    with a_collection(tmp_path, *documents, a_document("/other")) as collection:
        proposals = {
            p.page.url: p.scores for p in propose(collection, _query(_evidence("anchor", "aqueduct")))
        }
    assert proposals.keys() == {f"{SITE}/named", f"{SITE}/told"}
    assert "names" in proposals[f"{SITE}/named"]
    assert "body" in proposals[f"{SITE}/told"]
    assert "context" not in proposals[f"{SITE}/told"]


def test_a_known_target_is_offered_whatever_its_words():
    known_targets = [
        KnownTarget(url=f"{SITE}/moved", kind=TargetKind.MOVE, confidence=0.5),
        KnownTarget(url=f"{SITE}/moved", kind=TargetKind.SHARED, confidence=0.6),
        KnownTarget(url=f"{SITE}/rome", kind=TargetKind.DUPLICATE, confidence=0.1),
    ]
    query = _query(_evidence("anchor", "rome"))
    (alone,) = _rank([_proposal("Rome", "/rome")], query)
    proposals = [_proposal("Rome", "/rome"), _proposal("Cooking", "/moved")]
    moved, rome = PlainRanker(Rare()).rank(a_broken_link("http://x.test/y"), query, proposals, known_targets)
    assert moved.page.url == f"{SITE}/moved"
    assert moved.confidence == pytest.approx(1 - 0.5 * 0.4)
    assert moved.reasons == ("moved", "shared")
    assert "same_text" not in rome.reasons  # too faint to be a reason
    assert rome.confidence > alone.confidence * 0.9


def test_known_targets_raise_the_confidence():
    query = _query(_evidence("anchor", "rome"))
    (alone,) = _rank([_proposal("Rome", "/rome")], query)
    target = KnownTarget(url=f"{SITE}/rome", kind=TargetKind.MOVE, confidence=0.5)
    (both,) = raise_known_targets([alone], [target])
    assert both.confidence == pytest.approx(1 - 0.5 * (1 - alone.confidence))
    assert both.reasons == ("moved", *alone.reasons)


def test_a_title_like_the_copy_s_is_a_reason():
    query = _query(Evidence(source="copy", terms=(("aqueduct", 1.0), ("lead", 0.3)), text="Roman aqueducts"))
    ranked = _rank([_proposal("Rome", "/r"), _proposal("Roman aqueducts", "/a")], query)
    assert ranked[0].page.title == "Roman aqueducts"
    assert "copy" in ranked[0].reasons
