"""proxy.lateoffers: which pages of a wider list are added to a page that a reader has."""

from proxy.lateoffers import late_offers
from repair.model import RankedAlternatives
from tests.make import a_broken_link
from tests.offers import a_snippet, an_alternative

OWN = an_alternative("http://school.test/own", "Own", snippet=a_snippet())


def added(*alternatives, shown=(OWN,)):
    wide = RankedAlternatives(link=a_broken_link("http://school.test/lost"), alternatives=alternatives)
    return [each.url for each in late_offers(wide, shown)]


def many(count):
    return [an_alternative(f"http://other.test/{number}", f"Page {number}") for number in range(count)]


def test_only_pages_among_the_first_are_added():
    assert added(*many(5)) == [f"http://other.test/{number}" for number in range(3)]
    assert added(*many(2), OWN, *many(5)[2:]) == [f"http://other.test/{number}" for number in range(2)]


def test_what_is_on_the_page_is_not_added_again_nor_what_looks_the_same():
    same = an_alternative("http://other.test/copy", OWN.title, snippet=OWN.snippet)
    assert added(OWN, same) == []
    assert added(same, shown=()) == ["http://other.test/copy"]


def test_the_lost_page_itself_is_never_added():
    assert added(an_alternative("http://school.test/lost")) == []
