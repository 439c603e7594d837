"""proxy.rules.parse: rules out of TOML, and every fault with its line and reason."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.keys import KEYS
from proxy.rules.model import Rule, RuleAction
from proxy.rules.parse import rules_of
from repair.model import MissKind
from tests.unit.proxy.rules.books import a_book, faults_of, no_list


def only_rule(text):
    return a_book(f"[[rule]]\n{text}").rules[0]


def test_a_rule_knows_where_it_stands_and_is_named_after_it():
    rules, _ = rules_of(
        '[[rule]]\naction = "pass"\n\n[[rule]]\nname = "two"\nauto-follow = 0.5', "10.toml", no_list
    )
    assert [(rule.name, rule.file, rule.line) for rule in rules] == [
        ("10.toml:1", "10.toml", 1),
        ("two", "10.toml", 4),
    ]
    assert rules[1].action is RuleAction.REPAIR
    assert rules[1].auto_follow == 0.5


def test_every_matcher_is_read():
    rule = only_rule(
        """domain = ".a.test"
        url = ["a.test/*", "b.test/*"]
        url_regex = "x+"
        client = "10.0.0.0/8"
        time = ["08:00-09:00"]
        weekday = "mon"
        miss = ["gone", "not_found"]
        content_type = "text/*"
        action = "pass"
        reason = "because" """
    )
    assert rule.when.domains.entries == {".a.test"}
    assert [pattern.source for pattern in rule.when.url] == ["a.test/*", "b.test/*", "x+"]
    assert rule.when.schedule.days == {0}
    assert rule.when.misses == {MissKind.GONE, MissKind.NOT_FOUND}
    assert rule.reason == "because"


def test_lists_are_joined_with_the_domains_beside_them():
    lists = {("bad.txt", "e2guardian"): frozenset([".bad.test"])}
    rules, faults = rules_of(
        '[[rule]]\ndomain = "a.test"\ndomain_list = "bad.txt"\nlist_form = "e2guardian"\naction = "block"',
        "10.toml",
        lambda *asked: lists[asked],
    )
    assert faults == []
    assert rules[0].when.domains.entries == {"a.test", ".bad.test"}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("[[rule]]\naction = ", 2, "not valid TOML"),
        ('[[rule]]\nreason = """', 2, "not valid TOML"),
        ('x = 1\n[[rule]]\naction = "pass"', 1, "did you mean 'rule'"),
        ('[[rules]]\naction = "pass"', 1, "did you mean 'rule'"),
        ('\n[rule]\naction = "pass"', 2, "two brackets"),
        ('[[rule]]\naction = "pass"\n\ndomian = "a.test"', 4, "'domian', did you mean 'domain'"),
        ('[[rule]]\naction = "bypas"', 2, "did you mean bypass"),
        ('[[rule]]\naction = "pass"\nhosts = "a.test"', 3, "'hosts', did you mean 'domain'"),
        ('[[rule]]\naction = "deny"', 2, "did you mean block"),
        ("[[rule]]\naction = 3", 2, "expected one of repair"),
        ('[[rule]]\naction = "pass"\ndomain = [\n"a.test", "b c"]', 3, "'b c' is not a domain"),
        ('[[rule]]\naction = "pass"\ndomain = []', 3, "expected text or a list"),
        ('[[rule]]\naction = "pass"\nmiss = "lost"', 3, "expected one of not_found"),
        ('[[rule]]\naction = "pass"\nclient = "10.0.0.1/8"', 3, "host bits"),
        ('[[rule]]\naction = "pass"\nurl_regex = "(?=x)"', 3, "regular expression"),
        ('[[rule]]\naction = "pass"\nweekday = "someday"', 3, "expected a day"),
        ('[[rule]]\naction = "pass"\nreason = "a\\nb"', 3, "on one line"),
        ("[[rule]]\nauto_follow = 1.5", 2, "from 0 to 1"),
        ("[[rule]]\nauto_follow = true", 2, "from 0 to 1"),
        ("[[rule]]\nauto_follow = nan", 2, "from 0 to 1"),
        ("[[rule]]\nbudget_s = 0", 2, "more than 0 seconds"),
        ("[[rule]]\nauto_follow = 0.5\nauto-follow = 0.6", 3, "twice"),
        ('[[rule]]\ndomain = "a.test"', 1, "has no effect"),
        ('[[rule]]\naction = "redirect"', 2, "needs to ="),
        ('[[rule]]\naction = "redirect"\nto = "ftp://a.test"', 3, "http:// or https://"),
        ('[[rule]]\naction = "block"\nto = "http://a.test"', 3, "only with redirect"),
        ('[[rule]]\naction = "block"\narchive = "on"', 3, "only with repair"),
        ('[[rule]]\naction = "bypass"\nurl = "a.test/*"', 3, "at CONNECT"),
        ('[[rule]]\naction = "bypass"\nmiss = "gone"', 3, "at CONNECT"),
        ('[[rule]]\naction = "offline-only"\ncontent_type = "a/b"', 3, "before anything is fetched"),
        ('[[rule]]\naction = "block"\nmiss = "gone"', 3, "no need to block"),
        ('[[rule]]\naction = "pass"\nlist_form = "dstdomain"', 3, "needs domain_list"),
        ('[[rule]]\naction = "pass"\ndomain_list = "x"', 3, "cannot be read"),
        ('rule = [{action = "pass"}, {actoin = "pass"}]', 1, "did you mean 'action'"),
        ('[[rule]]\naction = "pass"\n[rule.when]\nx = 1', 1, "unknown key 'when'"),
    ],
)
def test_a_fault_has_its_line_and_reason(text, line, reason):
    faults = faults_of(text)
    assert faults[0][0] == line
    assert reason in faults[0][1]


def test_all_faults_are_reported_at_once():
    text = '[[rule]]\naction = "x"\n[[rule]]\ndomain = "a b"\ntime = "8"\naction = "pass"'
    assert [line for line, _ in faults_of(text)] == [2, 4, 5]


def test_one_bad_rule_leaves_the_others():
    rules, faults = rules_of('[[rule]]\naction = "x"\n[[rule]]\naction = "pass"', "10.toml", no_list)
    assert [rule.name for rule in rules] == ["10.toml:2"]
    assert len(faults) == 1


def test_deep_nesting_and_endless_numbers_are_faults_like_others():
    assert "nested" in faults_of("x = " + "[" * 5000)[0][1]
    assert faults_of("[[rule]]\nbudget_s = " + "9" * 5000)


words = st.sampled_from(
    [*KEYS, "rule", "[[rule]]", "=", '"', "[", "]", "\n", "a.test", "action", "pass", "#", "1"]
)


@given(st.one_of(st.text(max_size=200), st.lists(words, max_size=40).map(" ".join)))
def test_no_text_makes_it_raise(text):
    rules, faults = rules_of(text, "10.toml", no_list)
    assert all(isinstance(rule, Rule) for rule in rules)
    assert all(1 <= fault.line <= text.count("\n") + 1 for fault in faults)


values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(),
        st.text(max_size=20).map(lambda text: text.encode("utf-8", "ignore").decode()),
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(KEYS)), values)
def test_no_value_of_any_key_makes_it_raise_anything_but_value_error(key, value):
    with suppress(ValueError):
        KEYS[key](value)
