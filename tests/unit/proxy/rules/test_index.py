"""proxy.rules.index: few candidates, however many rules."""

from proxy.rules.index import RuleIndex
from proxy.rules.model import RuleStage
from tests.unit.proxy.rules.books import a_book


def an_index(text):
    rules = a_book(text).rules
    return RuleIndex(rules, [RuleStage.REQUEST] * len(rules))


def test_ten_thousand_rules_leave_a_handful_to_try():
    texts = [f'[[rule]]\ndomain = ".d{number}.test"\naction = "block"' for number in range(10_000)]
    index = an_index("\n".join([*texts, '[[rule]]\naction = "pass"']))
    assert list(index.candidates("www.d77.test", RuleStage.REQUEST)) == [77, 10_000]
    assert list(index.candidates("elsewhere.test", RuleStage.REQUEST)) == [10_000]


def test_thousands_of_addresses_of_one_host_leave_one_to_try():
    texts = [f'[[rule]]\nurl = "a.test/{number}"\naction = "block"' for number in range(3_000)]
    index = an_index("\n".join(texts))
    assert index.looks_at_address
    assert list(index.candidates("a.test", RuleStage.REQUEST, "https://a.test/77")) == [77]
    assert list(index.candidates("a.test", RuleStage.REQUEST, "https://a.test/x")) == []


def test_rules_by_expression_are_candidates_only_where_any_of_them_is_found():
    texts = [f"[[rule]]\nurl_regex = '/x{number}[0-9]+/'\naction = 'block'" for number in range(1000)]
    index = an_index("\n".join(texts))
    assert list(index.candidates("a.test", RuleStage.REQUEST, "http://a.test/y77/")) == []
    assert 77 in index.candidates("a.test", RuleStage.REQUEST, "http://a.test/x771/")


def test_a_rule_with_one_pattern_for_every_site_is_a_candidate_for_every_site():
    index = an_index("[[rule]]\nurl = ['a.test/*', '*.iso']\naction = 'pass'")
    assert list(index.candidates("b.test", RuleStage.REQUEST, "http://b.test/x.iso")) == [0]
    index = an_index("[[rule]]\nurl = 'a.test/x'\nurl_regex = 'y'\naction = 'pass'")
    assert list(index.candidates("b.test", RuleStage.REQUEST, "http://b.test/y")) == [0]


def test_candidates_come_in_order_and_each_once():
    index = an_index(
        """
        [[rule]]
        domain = ["www.a.test", ".a.test"]
        action = "pass"
        [[rule]]
        url = "http://www.a.test/x"
        action = "pass"
        [[rule]]
        url = "http://www.a.test/*"
        action = "pass"
        [[rule]]
        domain = ".test"
        action = "pass"
        [[rule]]
        client = "10.0.0.0/8"
        action = "pass"
        """
    )
    assert list(index.candidates("www.a.test", RuleStage.REQUEST, "http://www.a.test/x")) == [0, 1, 2, 3, 4]


def test_rules_that_need_more_than_is_known_are_no_candidates():
    rules = a_book('[[rule]]\nmiss = "gone"\naction = "pass"\n[[rule]]\naction = "pass"').rules
    index = RuleIndex(rules, [RuleStage.RESPONSE, RuleStage.CONNECT])
    assert list(index.candidates("a.test", RuleStage.REQUEST)) == [1]
    assert list(index.candidates("a.test", RuleStage.RESPONSE)) == [0, 1]


def test_many_different_hosts_do_not_fill_the_memory():
    index = an_index('[[rule]]\ndomain = ".a.test"\naction = "pass"')
    for number in range(25_000):
        index.candidates(f"h{number}.test", RuleStage.REQUEST)
    assert len(index._host_cache) <= 10_000
