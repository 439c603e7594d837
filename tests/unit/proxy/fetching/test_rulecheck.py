import pytest

from proxy.fetching.entries import Refusal
from proxy.fetching.rulings import Rulings
from tests.make import a_page
from tests.unit.proxy.rules.books import a_book

URL = "http://school.test/page"


def rulings(text):
    book = a_book(text)
    return Rulings(lambda: book)


def rule(action, more=""):
    return f'[[rule]]\nname = "ours"\ndomain = "school.test"\naction = "{action}"\n{more}\n'


def test_without_rules_everything_is_allowed():
    Rulings().check(URL)
    assert Rulings().may_list(a_page(URL))


@pytest.mark.parametrize("action", ["block", "offline-only", "no-cache", "bypass"])
def test_what_rules_keep_off_is_not_fetched(action):
    with pytest.raises(Refusal, match="'ours'"):
        rulings(rule(action)).check(URL)
    rulings(rule(action)).check("http://other.test/")


def test_what_is_not_to_be_indexed_is_fetched_but_not_listed():
    ours = rulings(rule("no-index"))
    ours.check(URL)
    assert not ours.may_list(a_page(URL))


def test_rules_about_the_content_are_asked_once_it_is_known():
    ours = rulings(rule("no-cache", 'content_type = "text/html"'))
    ours.check(URL)
    with pytest.raises(Refusal):
        ours.may_list(a_page(URL))
    assert ours.may_list(a_page(URL, content_type="image/png"))


def test_rules_for_the_clients_of_some_network_do_not_bind_the_queue():
    rulings(rule("block", 'client = "10.0.0.0/8"')).check(URL)
