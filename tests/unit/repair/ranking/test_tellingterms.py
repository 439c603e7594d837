"""repair.ranking.tellingterms: words that say something in this collection."""

from repair.model import Evidence, Query
from repair.ranking.tellingterms import telling_terms


class Frequencies:
    """A collection of a hundred pages, of which so many have a word."""

    def document_frequency(self, term, name="body"):
        return {"school": 60, "river": 20, "volcano": 3}.get(term, 0)

    def size(self):
        return 100


def a_query(**terms):
    evidence = [
        Evidence(source=source, terms=tuple((term, 1.0) for term in of.split()))
        for source, of in terms.items()
    ]
    return Query(terms=(), text="", evidence=tuple(evidence))


def test_words_of_many_pages_and_of_the_web_say_nothing():
    query = a_query(anchor="school page river", url="index site volcano")
    assert telling_terms(Frequencies(), query) == ("river", "volcano")


def test_only_what_names_the_page_counts():
    assert telling_terms(Frequencies(), a_query(context="volcano", source="volcano")) == ()


def test_in_a_small_collection_no_word_is_common():
    class Small(Frequencies):
        def size(self):
            return 12

        def document_frequency(self, term, name="body"):
            return 10

    assert telling_terms(Small(), a_query(anchor="river")) == ("river",)
