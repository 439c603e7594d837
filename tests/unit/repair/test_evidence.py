import pytest

from repair.evidence.anchor import ClickedAnchor, OtherAnchors
from repair.evidence.context import LinkContext
from repair.evidence.savedcopy import SavedCopy
from repair.evidence.sourcepage import SourcePage
from repair.evidence.url import UrlWords
from repair.model import InLink
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link


class Linked:
    """A link graph of the anchors given, one per source page."""

    def __init__(self, *anchors, nav=False):
        self._inlinks = tuple(
            InLink(source_url=f"{SITE}/{number}", link=a_link("/gone", anchor, nav=nav))
            for number, anchor in enumerate(anchors)
        )

    def inlinks(self, target_url, limit=100):
        return self._inlinks


class Common:
    """Held addresses of which so many have a term."""

    def __init__(self, **counts):
        self._counts = counts

    def document_frequency(self, term, name="body"):
        return self._counts.get(term, 0)


def _terms(evidence):
    return dict(evidence.terms)


def test_the_words_on_the_link_are_evidence():
    evidence = ClickedAnchor().find(a_broken_link(anchor="  The water\ncycle "))
    assert evidence.text == "The water cycle"
    assert _terms(evidence) == {"water": 1.0, "cycl": 1.0}


@pytest.mark.parametrize("anchor", ["", "click here", "HERE", "»", "more"])
def test_anchors_that_say_nothing_are_none(anchor):
    assert ClickedAnchor().find(a_broken_link(anchor=anchor)) is None


def test_further_stop_anchors_can_be_configured():
    source = ClickedAnchor(lambda anchor: anchor == "visit our friends")
    assert source.find(a_broken_link(anchor="visit our friends")) is None


def test_other_pages_anchors_weigh_by_how_many_say_so():
    evidence = OtherAnchors(Linked("Water cycle", "the water cycle", "Rain", "click here")).find(
        a_broken_link()
    )
    assert _terms(evidence) == {
        "water": pytest.approx(2 / 3),
        "cycl": pytest.approx(2 / 3),
        "rain": pytest.approx(1 / 3),
    }
    assert evidence.text == "Rain"  # of anchors used as often, the shortest


def test_the_page_of_the_click_is_not_another_page():
    for source_url in (f"{SITE}/0", "HTTP://School.test:80/0#part"):
        assert OtherAnchors(Linked("Water")).find(a_broken_link(source_url=source_url)) is None


def test_navigation_is_no_evidence():
    assert OtherAnchors(Linked("Water", nav=True)).find(a_broken_link()) is None


def test_the_name_of_the_page_weighs_more_than_its_folder_and_host():
    evidence = UrlWords(Common()).find(a_broken_link("http://library.test/science/water-cycle.html"))
    terms = _terms(evidence)
    assert terms["water"] == terms["cycl"] > terms["scienc"] > terms["librari"] > 0
    assert evidence.text == "water cycle"


def test_words_that_many_addresses_share_weigh_less():
    terms = _terms(UrlWords(Common(wiki=1_000)).find(a_broken_link("http://x.test/wiki-water")))
    assert terms["water"] > 5 * terms["wiki"]


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "nonsense", ""])
def test_addresses_without_words_are_no_evidence(url):
    assert UrlWords(Common()).find(a_broken_link(url)) is None


def test_words_near_the_link_weigh_more():
    terms = _terms(LinkContext().find(a_broken_link(before="far off words near", after="next word")))
    assert terms["near"] == terms["next"] > terms["far"] > 0


def test_a_link_without_context_has_none():
    assert LinkContext().find(a_broken_link()) is None


def test_source_page_evidence_is_its_most_frequent_terms(tmp_path):
    with a_collection(
        tmp_path, a_document("/s", title="Rivers", text="delta delta delta water")
    ) as collection:
        evidence = SourcePage(collection).find(a_broken_link(source_url=f"{SITE}/s"))
        assert _terms(evidence) == {
            "delta": 1.0,
            "river": pytest.approx(1 / 3),
            "water": pytest.approx(1 / 3),
        }
        assert SourcePage(collection).find(a_broken_link(source_url=f"{SITE}/unknown")) is None
        assert SourcePage(collection).find(a_broken_link()) is None


RAIN = "Rain falls from clouds. " * 3 + "Puddles dry in the sun."


def a_library(folder, *documents):
    others = [a_document(f"/{n}", title=f"Other {n}", text="of the sun and other things") for n in range(20)]
    return a_collection(folder, *documents, *others)


def test_copy_evidence_is_its_title_and_distinctive_terms(tmp_path):
    with a_library(tmp_path, a_document("/gone", title="The water\ncycle", text=RAIN)) as collection:
        evidence = SavedCopy(collection).find(a_broken_link())
        assert evidence.text == "The water cycle"
        terms = _terms(evidence)
        assert terms["water"] == terms["cycl"] == 1.0 > terms["rain"] > terms["puddl"] > 0
        assert "sun" not in terms  # every page has it
        assert SavedCopy(collection).find(a_broken_link(f"{SITE}/never-held")) is None


def test_copy_evidence_with_a_stop_title_is_its_signature(tmp_path):
    with a_library(tmp_path, a_document("/gone", title="Untitled document", text=RAIN)) as collection:
        evidence = SavedCopy(collection).find(a_broken_link())
        assert set(evidence.text.split()) == {"Rain", "falls", "clouds", "Puddles", "dry"}
        assert "untitl" not in _terms(evidence)


def test_further_stop_titles_can_be_configured(tmp_path):
    with a_library(tmp_path, a_document("/gone", title="Our school", text=RAIN)) as collection:
        assert "school" in _terms(SavedCopy(collection).find(a_broken_link()))
        silent = SavedCopy(collection, lambda title: title == "Our school")
        assert "school" not in _terms(silent.find(a_broken_link()))


def test_a_long_copy_gives_no_more_than_forty_terms_between_0_and_1(tmp_path):
    text = " ".join(f"word{number} " * (1 + number % 5) for number in range(500))
    with a_library(tmp_path, a_document("/gone", title="Many words", text=text)) as collection:
        terms = SavedCopy(collection).find(a_broken_link()).terms
        assert len(terms) == 40
        assert all(0 < weight <= 1 for _, weight in terms)


def test_an_empty_copy_says_nothing(tmp_path):
    with a_library(tmp_path, a_document("/gone", title="", text="")) as collection:
        assert SavedCopy(collection).find(a_broken_link()) is None
