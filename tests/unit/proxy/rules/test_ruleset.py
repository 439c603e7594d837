"""proxy.rules.ruleset: first match wins, at each moment by what is known then."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.model import NO_RULE, RuleAction, RuleStage
from proxy.rules.ruleset import RuleSet
from repair.model import MissKind
from tests.unit.proxy.rules.books import MONDAY_NOON, a_book, asked


def test_without_rules_there_is_no_verdict():
    ruleset = RuleSet()
    assert not ruleset
    assert ruleset.on_request(asked()) is NO_RULE
    assert ruleset.on_connect("a.test", "10.0.0.1", MONDAY_NOON) is NO_RULE
    assert ruleset.on_response(asked(), miss=None, content_type="") is NO_RULE


def test_the_first_rule_that_matches_decides_alone():
    ruleset = a_book(
        """
        [[rule]]
        domain = "other.test"
        action = "block"
        [[rule]]
        name = "here"
        domain = ".school.test"
        action = "no-index"
        archive = "off"
        [[rule]]
        auto_follow = 0.5
        """
    )
    verdict = ruleset.on_request(asked("http://www.school.test/"))
    assert (verdict.rule, verdict.action, verdict.archive, verdict.auto_follow) == (
        "here",
        RuleAction.NO_INDEX,
        "off",
        None,
    )
    assert ruleset.on_request(asked("http://elsewhere.test/")).auto_follow == 0.5


@pytest.mark.parametrize(
    ("action", "cache", "index", "offline_only"),
    [
        ("repair", True, True, False),
        ("pass", True, True, False),
        ("no-index", True, False, False),
        ("no-cache", False, False, False),
        ("bypass", False, False, False),
        ("offline-only", True, True, True),
    ],
)
def test_a_verdict_says_what_may_be_kept(action, cache, index, offline_only):
    verdict = a_book(f'[[rule]]\naction = "{action}"').on_request(asked())
    assert (verdict.cache, verdict.index, verdict.offline_only) == (cache, index, offline_only)


@pytest.mark.parametrize(
    ("matcher", "url", "client", "hours_later", "fires"),
    [
        ('client = "10.0.0.0/24"', "http://a.test/", "10.0.0.9", 0, True),
        ('client = "10.0.0.0/24"', "http://a.test/", "10.0.1.9", 0, False),
        ('time = "11:00-13:00"', "http://a.test/", "10.0.0.9", 0, True),
        ('time = "11:00-13:00"', "http://a.test/", "10.0.0.9", 3, False),
        ('weekday = "tue"', "http://a.test/", "10.0.0.9", 24, True),
        ('url = "a.test/x*"', "http://a.test/xy", "10.0.0.9", 0, True),
        ('url = "a.test/x"', "https://a.test/x", "10.0.0.9", 0, True),
        ('url = "a.test/x"', "https://a.test/xy", "10.0.0.9", 0, False),
        ('url = "a.test/x*"', "http://a.test./xy", "10.0.0.9", 0, True),
        ('url = "http://a.test:81/x"', "http://a.test.:81/x", "10.0.0.9", 0, True),
        ('domain = ".a.test"', "http://www.a.test./", "10.0.0.9", 0, True),
        ('url = "a.test/b./*"', "http://a.test/b./x", "10.0.0.9", 0, True),
        ('url_regex = "[0-9]{4}"', "http://a.test/2026", "10.0.0.9", 0, True),
        ('domain = "bücher.test"', "http://BÜCHER.test/", "10.0.0.9", 0, True),
        ('domain = "a.test"\nclient = "10.9.0.0/16"', "http://a.test/", "10.0.0.9", 0, False),
    ],
)
def test_all_matchers_of_a_rule_must_hold(matcher, url, client, hours_later, fires):
    ruleset = a_book(f'[[rule]]\n{matcher}\naction = "block"')
    at = MONDAY_NOON + timedelta(hours=hours_later)
    assert (ruleset.on_request(asked(url, client, at)) is not NO_RULE) == fires


def test_rules_that_need_later_data_are_skipped():
    ruleset = a_book(
        """
        [[rule]]
        name = "answer"
        miss = "gone"
        action = "pass"
        [[rule]]
        name = "kind"
        content_type = "video/*"
        action = "block"
        [[rule]]
        name = "address"
        url = "https://a.test/*"
        action = "no-cache"
        [[rule]]
        name = "host"
        domain = "a.test"
        action = "bypass"
        """
    )
    here = asked("https://a.test/x")
    assert ruleset.on_connect("a.test", "10.0.0.1", MONDAY_NOON).rule == "host"
    assert ruleset.on_request(here).rule == "address"
    assert ruleset.on_response(here, miss=None, content_type="text/html").rule == "address"
    assert ruleset.on_response(here, miss=None, content_type="video/mp4").rule == "kind"
    assert ruleset.on_response(here, miss=MissKind.GONE, content_type="video/mp4").rule == "answer"


def test_what_stands_before_a_bypass_keeps_it_from_passing_through():
    ruleset = a_book(
        '[[rule]]\ndomain = "a.test"\naction = "redirect"\nto = "https://b.test{path}"\n'
        '[[rule]]\naction = "bypass"'
    )
    assert ruleset.on_connect("a.test", "10.0.0.1", MONDAY_NOON).action is RuleAction.REDIRECT
    assert ruleset.on_connect("c.test", "10.0.0.1", MONDAY_NOON).action is RuleAction.BYPASS


def test_a_redirect_leads_to_its_template_and_not_in_circles():
    ruleset = a_book(
        '[[rule]]\nname = "www"\ndomain = ".a.test"\naction = "redirect"\nto = "https://www.a.test{path}"\n'
        '[[rule]]\nname = "rest"\naction = "pass"'
    )
    assert ruleset.on_request(asked("http://a.test/x")).redirect_to == "https://www.a.test/x"
    assert ruleset.on_request(asked("https://www.a.test/x")).rule == "rest"


def test_an_address_that_is_none_matches_no_pattern_and_raises_nothing():
    ruleset = a_book(
        '[[rule]]\nurl = "a.test/*"\naction = "pass"\n[[rule]]\nurl = "a.test/x"\naction = "pass"'
    )
    odd = asked()
    for url in ("", "a.test:443", "http://[", "http://a.test/" + "x" * 9000):
        odd = type(odd)(url=url, host="a.test", client="?", at=MONDAY_NOON)
        ruleset.on_request(odd)


def test_why_a_rule_fired_and_why_those_before_it_did_not():
    ruleset = a_book(
        """
        [[rule]]
        domain = "b.test"
        action = "block"
        [[rule]]
        miss = "gone"
        action = "pass"
        [[rule]]
        domain = ".test"
        client = "10.0.0.0/8"
        action = "redirect"
        to = "http://a.test/"
        [[rule]]
        domain = ".test"
        client = "10.0.0.0/8"
        action = "no-cache"
        [[rule]]
        action = "pass"
        """
    )
    steps = list(ruleset.explain(RuleStage.REQUEST, asked("http://a.test/")))
    assert [(step.fired, step.why) for step in steps] == [
        (False, "domain does not match"),
        (False, "is checked later, at stage response"),
        (False, "its redirect does not lead to another address"),
        (True, "domain matches .test; client matches 10.0.0.0/8"),
    ]
    (step,) = a_book('[[rule]]\naction = "pass"').explain(RuleStage.CONNECT, asked())
    assert step.why == "matches everything"


labels = st.sampled_from(["a.test", "b.test", "www.a.test", "x.www.a.test", "test"])
domains = st.tuples(st.sampled_from(["", "."]), labels).map("".join)
matchers = st.one_of(
    st.lists(domains, min_size=1, max_size=3).map(lambda names: f"domain = {names!r}"),
    st.tuples(labels, st.sampled_from(["/", "/x", "/*", "/x*"])).map(
        lambda parts: f"url = '{''.join(parts)}'"
    ),
    st.sampled_from(
        [
            "url = ['a.test/x', 'b.test/x']",
            "url = ['a.test/x', 'b.test/*']",
            "url = ['a.test/*', '*x']",
            "url = '*x'",
        ]
    ),
    st.sampled_from(
        [
            "client = '10.0.0.0/24'",
            "time = '00:00-12:00'",
            "miss = 'gone'",
            "url_regex = 'x$'",
            "url_regex = ['y', 'www']",
        ]
    ),
    st.sampled_from(["content_type = 'text/*'", ""]),
)
redirect = "action = 'redirect'\nto = 'http://a.test{path}'"
actions = st.sampled_from(["action = 'pass'", "archive = 'off'", "action = 'repair'"])


def a_rule(parts):
    chosen = {matcher.partition(" ")[0]: matcher for matcher in parts[0]}
    action = redirect if parts[2] and "content_type" not in chosen else parts[1]
    return "\n".join(("[[rule]]", *chosen.values(), action))


@given(
    st.lists(st.tuples(st.lists(matchers, max_size=2), actions, st.booleans()).map(a_rule), max_size=12),
    st.lists(st.tuples(labels, st.sampled_from(["", "x", "xy"])), min_size=1, max_size=4),
    st.sampled_from([None, MissKind.GONE]),
)
def test_the_index_gives_the_verdict_of_trying_every_rule_in_order(rules, places, miss):
    ruleset = a_book("\n".join(rules))
    for host, path in places:
        here = asked(f"http://{host}/{path}")
        given_verdicts = {
            RuleStage.CONNECT: ruleset.on_connect(host, here.client, here.at),
            RuleStage.REQUEST: ruleset.on_request(here),
            RuleStage.RESPONSE: ruleset.on_response(here, miss=miss, content_type="text/html"),
        }
        for stage, verdict in given_verdicts.items():
            known = {"miss": miss, "content_type": "text/html"} if stage is RuleStage.RESPONSE else {}
            fired = [step.rule.name for step in ruleset.explain(stage, here, **known) if step.fired]
            assert verdict.rule == (fired[0] if fired else "")
