import pytest

from proxy.fetching.entries import FetchRefused
from proxy.fetching.rulecheck import FetchRuleCheck
from tests.make import a_page
from tests.unit.proxy.rules.books import a_book

URL = "http://school.test/page"


def rulings(text):
    ruleset = a_book(text)
    return FetchRuleCheck(lambda: ruleset)


def rule(action, more=""):
    return f'[[rule]]\nname = "ours"\ndomain = "school.test"\naction = "{action}"\n{more}\n'


def test_without_rules_everything_is_allowed():
    FetchRuleCheck().check(URL)
    assert FetchRuleCheck().may_list(a_page(URL))


@pytest.mark.parametrize("action", ["block", "offline-only", "no-cache", "bypass"])
def test_blocked_pages_are_not_fetched(action):
    with pytest.raises(FetchRefused, match="'ours'"):
        rulings(rule(action)).check(URL)
    rulings(rule(action)).check("http://other.test/")


def test_no_index_page_is_fetched_but_not_collected():
    ours = rulings(rule("no-index"))
    ours.check(URL)
    assert not ours.may_list(a_page(URL))


def test_content_rules_apply_once_the_content_is_known():
    ours = rulings(rule("no-cache", 'content_type = "text/html"'))
    ours.check(URL)
    with pytest.raises(FetchRefused):
        ours.may_list(a_page(URL))
    assert ours.may_list(a_page(URL, content_type="image/png"))


def test_client_rules_do_not_apply_to_the_queue():
    rulings(rule("block", 'client = "10.0.0.0/8"')).check(URL)
