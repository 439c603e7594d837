import pytest

from repair.addresses import AddressWords, address_terms
from repair.clues import ClueReader
from repair.moves import Guess
from repair.structure import squeezed
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import a_broken_link

LOST = SITE + "/wiki/geo/volcano.html"


@pytest.fixture
def school(tmp_path):
    links = [a_link(LOST, "fire mountains", before="hot", after="ash"), a_link(LOST, "click here")]
    others = [a_link(f"/wiki/geo/page{at}.html", "x") for at in range(20)]
    with a_collection(
        tmp_path, a_document("/hub", title="Earth science", links=[*links, *others])
    ) as collection:
        yield collection


def test_every_source_gives_its_own_terms(school):
    link = a_broken_link(
        LOST, source_url=SITE + "/hub2", anchor="volcanoes", before="the hot", after="of Iceland"
    )
    found = ClueReader(school).clues(link)
    assert set(found.terms) == {"anchor", "slug", "dirs", "inlinks", "around", "context"}
    assert set(found.terms["inlinks"]) == {"fire", "mountain"}
    assert found.inlink_count == 1
    assert found.calls() == (squeezed("volcanoes"), "volcano", "geovolcano")


def test_a_stop_anchor_is_no_clue(school):
    found = ClueReader(school).clues(a_broken_link(LOST, anchor="click here"))
    assert "anchor" not in found.terms
    assert found.anchor_name == ""


def test_links_of_the_source_page_itself_do_not_count_twice(school):
    assert "inlinks" not in ClueReader(school).clues(a_broken_link(LOST, source_url=SITE + "/hub")).terms


def test_words_that_all_addresses_of_a_site_have_weigh_little(school):
    found = ClueReader(school).clues(a_broken_link(LOST))
    assert found.terms["slug"]["volcano"] > 5 * found.terms["dirs"]["geo"]


def test_addresses_that_are_only_linked_to_count(school):
    assert AddressWords(school).of_site(LOST).size > 20


def test_the_page_s_own_name_and_the_directories_are_told_apart():
    assert address_terms(LOST) == (["volcano"], ["wiki", "geo"])
    assert address_terms("nonsense") == ([], [])


def test_known_moves_are_clues(school):
    guess = Guess(url=SITE + "/new/volcano", confidence=0.9, support=3)
    found = ClueReader(school, guesses=lambda url: (guess,)).clues(a_broken_link(LOST))
    assert found.moves == {guess.url: guess}
