import pytest

from proxy.misses.searches import unanswered_words
from repair.model import Alternative, Span


def a_result(title, snippet=""):
    return Alternative(url="http://a.test/", title=title, snippet=(Span(text=snippet),))


def test_search_that_found_nothing_is_noted_in_one_spelling():
    assert unanswered_words("  Hot  LAVA ", ()) == "hot lava"


def test_search_is_answered_by_one_result_that_has_all_words():
    assert unanswered_words("hot lava", [a_result("Football"), a_result("Lava", "It is hot.")]) is None


def test_results_that_have_some_of_the_words_are_no_answer():
    assert unanswered_words("hot lava", [a_result("Hot soup"), a_result("Lava lamp")]) == "hot lava"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "jane.doe@mail.example",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop",
        "one two three four five six seven eight nine ten eleven twelve lava magma crater ash rock stone",
        "lava " * 40,
    ],
)
def test_what_is_personal_too_long_or_says_nothing_is_not_noted(query):
    assert unanswered_words(query, ()) is None
