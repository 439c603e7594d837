"""proxy.rules.describe: rules in words."""

from proxy.rules.describe import describe_rule
from proxy.rules.domains import DomainList
from proxy.rules.model import Matchers, Rule
from tests.unit.proxy.rules.books import a_book


def test_a_rule_is_described_in_full():
    rule = a_book(
        """
        [[rule]]
        name = "x"
        domain = [".b.test", "a.test"]
        url = "a.test/*"
        client = "10.0.0.0/8"
        time = "08:00-12:00"
        weekday = ["tue", "mon"]
        miss = ["not_found", "gone"]
        content_type = "text/*"
        auto_follow = 0.5
        archive = "off"
        reason = "why"
        """
    ).rules[0]
    told = describe_rule(7, rule)
    assert (told.number, told.name, told.file, told.line) == (7, "x", "10.toml", 2)
    assert told.when == (
        "domain .b.test, a.test",
        "address a.test/*",
        "client 10.0.0.0/8",
        "time 08:00-12:00",
        "on mon, tue",
        "dead link gone, not_found",
        "content type text/*",
    )
    assert told.does == ("archive off", "auto_follow 0.5")
    assert told.reason == "why"


def test_a_long_list_is_described_by_its_first_entries():
    entries = DomainList(frozenset(f"d{number:05}.test" for number in range(10_000)))
    rule = Rule(name="x", file="10.toml", line=1, when=Matchers(domains=entries))
    (condition,) = describe_rule(1, rule).when
    assert condition == "domain d00000.test, d00001.test, d00002.test, d00003.test and 9,996 more"


def test_an_empty_list_and_no_condition_are_described_too():
    rule = Rule(name="x", file="10.toml", line=1, when=Matchers(domains=DomainList(frozenset())))
    assert describe_rule(1, rule).when == ("domain (empty list)",)
    assert describe_rule(1, Rule(name="x", file="10.toml", line=1)).when == ()
