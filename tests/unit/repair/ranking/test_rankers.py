"""Which way of ranking the settings choose."""

import pytest

from repair.errors import ModelMismatch
from repair.evidence.anchor import ClickedAnchor
from repair.evidence.hints import Hints
from repair.ranking import rankers, rankmodel
from repair.ranking.query import formulate
from repair.ranking.rankers import _Latest, finder, stop_anchors
from repair.ranking.schoolmodel import save
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link
from tests.models import a_good_model

ASKED = a_broken_link("http://elsewhere.test/1", anchor="Roman aqueducts")


@pytest.fixture
def collection(tmp_path):
    others = [a_document(f"/{number}", title=f"Other {number}") for number in range(9)]
    wanted = a_document("/water", title="Roman aqueducts", text="Water for the city.")
    with a_collection(tmp_path, wanted, *others) as collection:
        yield collection


def ranked(collection, ranking, hints=None):
    settings = RepairSettings(ranking=ranking)
    query = formulate(ASKED, [ClickedAnchor().find(ASKED)])
    return finder(collection, settings, hints)(ASKED, query)


@pytest.mark.parametrize("ranking", ["plain", "learned", "decision"])
def test_every_ranker_finds_the_lost_page(collection, ranking):
    assert ranked(collection, ranking)[0].page.url == f"{SITE}/water"


@pytest.mark.parametrize("ranking", ["plain", "learned", "decision"])
def test_every_ranker_finds_a_known_target(collection, ranking):
    hints = Hints(collection, RepairSettings())
    hints.note_redirect(ASKED.url, f"{SITE}/7")
    found = {each.page.url: each for each in ranked(collection, ranking, hints)}
    assert found[f"{SITE}/7"].reasons[0] == "moved"
    assert f"{SITE}/water" in found


def test_a_known_target_that_is_also_found_comes_once_with_more_confidence(collection):
    hints = Hints(collection, RepairSettings())
    before = ranked(collection, "plain", hints)
    hints.note_redirect(ASKED.url, f"{SITE}/water")
    after = ranked(collection, "plain", hints)
    assert len(after) == len(before) == 1
    assert after[0].confidence > before[0].confidence


def test_without_a_model_that_fits_ranking_is_plain(collection, monkeypatch, caplog):
    def refused():
        raise ModelMismatch("made for other features")

    monkeypatch.setattr(rankmodel, "default", refused)
    assert ranked(collection, "learned") == ranked(collection, "plain")
    assert "made for other features" in caplog.text


def test_the_admin_s_stop_anchors_count_with_and_without_hints(collection):
    settings = RepairSettings(stop_anchors=("Worksheet",))
    for hints in (None, Hints(collection, settings)):
        assert stop_anchors(settings, hints)("worksheet!")
        assert not stop_anchors(settings, hints)("Roman aqueducts")


class FakeLearned:
    """A learned ranker that offers what it was told of."""

    def __init__(self, collection, model, *, is_stop_anchor, known_targets, directories):
        self.model = model
        self.known = (is_stop_anchor, known_targets, directories)

    def find(self, link, evidence, *, hidden):
        is_stop_anchor, known_targets, directories = self.known
        return (is_stop_anchor("Worksheet"), known_targets(link), directories(link.url), evidence)


def test_the_model_gets_all_hints(collection, monkeypatch):
    monkeypatch.setattr(rankers, "LearnedRanker", FakeLearned)
    monkeypatch.setattr(rankers, "_LEARNED_MIN_PAGES", 0)
    monkeypatch.setattr(rankmodel, "default", lambda: None)
    settings = RepairSettings(ranking="learned", stop_anchors=("Worksheet",))
    hints = Hints(collection, settings)
    hints.note_redirect("http://elsewhere.test/0", f"{SITE}/0")
    query = formulate(ASKED, [ClickedAnchor().find(ASKED)])
    asked = a_broken_link("http://elsewhere.test/0")
    told = finder(collection, settings, hints)(asked, query)
    assert told == (True, hints.known_targets(asked), {f"{SITE}/": 0.5}, query.evidence)
    assert told[1]
    assert finder(collection, settings, None)(asked, query) == (True, (), {}, query.evidence)


class Refusing(FakeLearned):
    def find(self, link, evidence, *, hidden):
        return ()


def test_the_model_can_refuse_only_in_a_large_collection(collection, monkeypatch):
    monkeypatch.setattr(rankers, "LearnedRanker", Refusing)
    monkeypatch.setattr(rankers, "_LEARNED_MIN_PAGES", 0)
    assert ranked(collection, "learned") == ranked(collection, "plain") != ()
    monkeypatch.setattr(rankers, "_REFUSAL_MIN_PAGES", 0)
    assert ranked(collection, "learned") == ()


def test_words_that_say_nothing_get_no_offers_in_a_small_collection_either(collection, monkeypatch):
    monkeypatch.setattr(rankers, "LearnedRanker", Refusing)
    monkeypatch.setattr(rankers, "_LEARNED_MIN_PAGES", 0)
    monkeypatch.setattr(rankers, "telling_terms", lambda collection, query: ())
    assert ranked(collection, "learned") == ()


class TellingItsModel(FakeLearned):
    def find(self, link, evidence, *, hidden):
        return self.model.about


def test_the_school_s_own_model_ranks_where_there_is_one(collection, monkeypatch):
    monkeypatch.setattr(rankers, "LearnedRanker", TellingItsModel)
    monkeypatch.setattr(rankers, "_LEARNED_MIN_PAGES", 0)
    path = collection.database.path.parent / "ranking.json"
    assert ranked(collection, "learned") == rankmodel.default().about
    save(path, a_good_model("ours"))
    assert ranked(collection, "learned") == {"from": "ours"}
    path.write_bytes(b"{}")
    assert ranked(collection, "learned") == rankmodel.default().about


class FakeOwn:
    """Says what it is told to say."""

    def __init__(self):
        self.says = "first"

    def current(self):
        if isinstance(self.says, ModelMismatch):
            raise self.says
        return self.says


def test_the_ranker_is_rebuilt_only_when_the_model_changes(caplog):
    own, made = FakeOwn(), []
    latest = _Latest(own, lambda model: made.append(model) or f"ranker by {model}")
    assert [latest.ranker(), latest.ranker()] == ["ranker by first"] * 2
    own.says = ModelMismatch("made for other features")
    assert [latest.ranker(), latest.ranker()] == [None, None]
    assert caplog.text.count("made for other features") == 1
    own.says = "second"
    assert [latest.ranker(), latest.ranker()] == ["ranker by second"] * 2
    assert made == ["first", "second"]
