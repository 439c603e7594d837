import pytest

from repair.model import Evidence
from repair.ranking.query import MASSES, formulate, keywords, texts
from tests.make import a_broken_link


def _evidence(source, text, *terms):
    return Evidence(source=source, text=text, terms=tuple((term, 1.0) for term in terms))


def test_terms_of_several_sources_add_up():
    query = formulate(
        a_broken_link(), [_evidence("anchor", "", "rome"), _evidence("inlinks", "", "rome", "gaul")]
    )
    assert dict(query.terms) == {"rome": 2.0, "gaul": 1.0}


def test_many_words_of_context_do_not_outweigh_the_words_on_the_link():
    context = _evidence("context", "", *(f"w{number}" for number in range(200)))
    query = formulate(a_broken_link(), [_evidence("anchor", "", "rome"), context])
    weights = dict(query.terms)
    assert sum(weight for term, weight in weights.items() if term != "rome") == pytest.approx(
        MASSES["context"][1]
    )
    assert weights["rome"] == 1.0


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        (("url", "inlinks", "anchor", "copy"), "copy"),
        (("url", "inlinks", "anchor"), "anchor"),
        (("url", "inlinks"), "inlinks"),
        (("context", "url"), "url"),
        (("context",), ""),
    ],
)
def test_the_text_to_edit_is_the_best_name_of_the_lost_page(sources, text):
    assert formulate(a_broken_link(), [_evidence(source, source, "x") for source in sources]).text == text


def test_keywords_are_words_as_written_each_once():
    query = formulate(
        a_broken_link(),
        [
            _evidence("anchor", "The water cycles", "water", "cycl"),
            _evidence("url", "water cycle", "water", "cycl"),
        ],
    )
    assert keywords(query) == ("water", "cycles")


def test_each_source_says_its_words():
    query = formulate(a_broken_link(), [_evidence("anchor", "Rome", "rome"), _evidence("context", "", "x")])
    assert texts(query) == {"anchor": "Rome"}


def test_no_evidence_makes_an_empty_query():
    query = formulate(a_broken_link(), [])
    assert (query.terms, query.text, keywords(query)) == ((), "", ())


def test_the_neighbourhood_is_shown_but_not_queried():
    query = formulate(a_broken_link(), [_evidence("neighbourhood", "rome gaul", "rome", "gaul")])
    assert query.terms == ()
    assert texts(query) == {"neighbourhood": "rome gaul"}


def test_the_saved_copy_counts_before_an_archived_one_and_not_twice():
    query = formulate(a_broken_link(), [_evidence("copy", "Rome", "rome"), _evidence("copy", "Gaul", "gaul")])
    assert query.text == "Rome"
    assert dict(query.terms).keys() == {"rome"}
