import json
from dataclasses import replace

import numpy as np
import pytest

from repair.errors import ModelMismatch
from repair.knowntargets import KnownTarget, TargetKind
from repair.ranking import rankmodel
from repair.ranking.features import FEATURES
from repair.ranking.learned import LearnedRanker
from repair.ranking.rankmodel import RankModel
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link
from tests.models import a_good_model


@pytest.fixture
def school(tmp_path):
    documents = [
        a_document(
            "/new/volcano", title="Volcano", text="Lava and ash come out of the crater of a volcano. " * 9
        ),
        a_document(
            "/new/river", title="River", text="Water flows in a river from its spring to its mouth. " * 9
        ),
        a_document(
            "/new/castle", title="Castle", text="Towers and a moat protect the castle in a siege. " * 9
        ),
        a_document("/links", links=[a_link("/old/volcano.html", "volcanoes")]),
    ]
    with a_collection(tmp_path, *documents) as collection:
        yield collection


def test_the_page_that_the_link_names_comes_first(school):
    link = a_broken_link(SITE + "/old/volcano.html", anchor="volcanoes")
    ranked, repairable = LearnedRanker(school, rankmodel.default()).rank_all(link)
    assert ranked[0].page.url == SITE + "/new/volcano"
    assert "anchor" in ranked[0].reasons or "url" in ranked[0].reasons
    assert 0 <= repairable <= 1
    assert all(0 <= choice.confidence <= 1 for choice in ranked)


def test_nothing_is_offered_for_a_subject_that_is_not_saved(school):
    link = a_broken_link("http://elsewhere.test/zx/qwertz.html", anchor="quantum chromodynamics")
    assert LearnedRanker(school, rankmodel.default()).find(link) == ()


def test_hidden_pages_are_not_ranked(school):
    link = a_broken_link(SITE + "/old/volcano.html", anchor="volcanoes")
    hidden = frozenset({SITE + "/new/volcano"})
    ranked, _ = LearnedRanker(school, rankmodel.default()).rank_all(link, hidden=hidden)
    assert SITE + "/new/volcano" not in [choice.page.url for choice in ranked]


def test_without_a_model_there_is_no_ranking(school):
    with pytest.raises(ModelMismatch):
        LearnedRanker(school, None).rank_all(a_broken_link(SITE + "/old/volcano.html", anchor="volcanoes"))


def test_an_unknown_feature_or_version_is_refused():
    good = a_good_model().replace(b'"version": 3', b'"version": 9')
    with pytest.raises(ModelMismatch, match="version|expected"):
        rankmodel.loads(good, "m.json")
    with pytest.raises(ModelMismatch, match="other features"):
        rankmodel.loads(a_good_model().replace(b'"anchor.title"', b'"anchor.of_old"'), "m.json")
    with pytest.raises(ModelMismatch, match="other signals"):
        rankmodel.loads(a_good_model().replace(b'"any.slug=title"', b'"any.of_old"'), "m.json")
    with pytest.raises(ModelMismatch, match="not a ranking model"):
        rankmodel.loads(b"[]", "m.json")


def test_a_model_that_is_older_than_some_features_ranks_by_those_it_knows():
    saved = json.loads(a_good_model())
    rows = np.random.default_rng(0).random((30, len(FEATURES)), np.float32)
    kept = [name for name in saved["features"] if name not in ("anchor.title", "known.anchors")]
    older = json.loads(a_good_model()) | {"features": kept}
    for forest in ("identity", "likeness"):
        trees = [_splits(tree, saved["features"]) for tree in saved[forest]["trees"]]
        usable = [at for at, names in enumerate(trees) if set(names.values()) <= set(kept)]
        saved[forest]["trees"] = [saved[forest]["trees"][at] for at in usable]
        older[forest]["trees"] = [
            tree
            | {
                "feature": [
                    kept.index(names[node]) if node in names else 0 for node in range(len(tree["left"]))
                ]
            }
            for tree, names in ((older[forest]["trees"][at], trees[at]) for at in usable)
        ]
    expected, found = (
        rankmodel.loads(json.dumps(each).encode(), "m.json").judge(rows) for each in (saved, older)
    )
    assert found.values.tolist() == expected.values.tolist()
    assert found.likeness.tolist() == expected.likeness.tolist()


def _splits(tree, features):
    """The feature of each node that is no leaf."""
    return {
        node: features[int(tree["feature"][node])] for node, left in enumerate(tree["left"]) if left != node
    }


def test_a_feature_named_twice_is_refused():
    with pytest.raises(ModelMismatch, match="twice"):
        rankmodel.loads(a_good_model().replace(b'"anchor.title"', b'"anchor.body"'), "m.json")


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(ModelMismatch, match="none.json"):
        rankmodel.load(tmp_path / "none.json")


def test_shares_add_up_and_the_best_score_has_most():
    found = rankmodel.shares(np.array([3.0, 1.0, 2.0]), 1.0)
    assert found.sum() == pytest.approx(1)
    assert found.argmax() == 0


def test_identity_orders_while_the_page_may_be_saved_and_likeness_otherwise():
    scores, alike = np.array([2.0, 0.0]), np.array([0.1, 0.9])
    assert rankmodel.sort_values(scores, alike, right=5.0).argmax() == 0
    assert rankmodel.sort_values(scores, alike, right=-9.0).argmax() == 1


def test_the_first_has_the_confidence_and_the_others_share_what_is_left():
    found = rankmodel.spread_confidence(np.array([0.0, 2.0, 1.0]), 1.0, 0.7)
    assert found[1] == 0.7
    assert found.sum() == pytest.approx(1)
    assert found[2] > found[0]
    assert rankmodel.spread_confidence(np.array([0.0, 2.0]), 1.0, 0.2).max() == 0.2
    assert rankmodel.spread_confidence(np.array([1.0]), 1.0, 0.4).tolist() == [0.4]


def test_a_ranking_below_the_threshold_of_the_model_is_not_offered(school):
    link = a_broken_link(SITE + "/old/volcano.html", anchor="volcanoes")
    model = rankmodel.default()
    ranked, repairable = LearnedRanker(school, model).rank_all(link)
    for at, offered in ((repairable, True), (repairable + 0.01, False)):
        ranker = LearnedRanker(school, replace(model, offer_at=at))
        assert ranker.offers(ranked, repairable) is offered
        assert bool(ranker.find(link)) is offered
    assert not LearnedRanker(school, model).offers((), 1.0)


def test_a_known_target_comes_first_whatever_its_words(school):
    link = a_broken_link(SITE + "/old/volcano.html", anchor="volcanoes")
    chosen = KnownTarget(url=SITE + "/new/castle", kind=TargetKind.SHARED, confidence=0.99, support=40)
    ranker = LearnedRanker(school, rankmodel.default(), known_targets=lambda _: (chosen,))
    first = ranker.find(link)[0]
    assert (first.page.url, first.reasons[0]) == (chosen.url, "shared")


def test_a_known_move_is_given_as_the_reason(school):
    link = a_broken_link(SITE + "/old/volcano.html", anchor="volcanoes")
    move = KnownTarget(url=SITE + "/new/volcano", kind=TargetKind.MOVE, confidence=0.9, support=4)
    ranker = LearnedRanker(school, rankmodel.default(), known_targets=lambda _: (move,))
    first = ranker.find(link)[0]
    assert (first.page.url, first.reasons[0]) == (move.url, "moved")


def test_no_candidates_are_not_repairable():
    assert rankmodel.default().judge(np.zeros((0, len(FEATURES)))).repairable == 0.0
    assert isinstance(rankmodel.default(), RankModel)
