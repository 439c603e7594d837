"""proxy.rules.verdictcache: a verdict holds for a minute and for these rules, no longer."""

from datetime import UTC, datetime, timedelta

import pytest

from proxy.rules.live import LiveRules
from proxy.rules.model import NO_RULE, RuleAction
from proxy.rules.verdictcache import VerdictCache
from repair.model import MissKind

START = datetime(2026, 5, 4, 8, 59, tzinfo=UTC)
ASKED = ("http://a.test/", "a.test", "10.0.0.1")


class School:
    def __init__(self, folder):
        self.folder = folder
        self.now = START
        self.live = LiveRules(folder)
        self.verdicts = VerdictCache(self.live, local=lambda: self.now, clock=lambda: self.now.timestamp())

    def rules(self, text):
        (self.folder / "10.toml").write_text(text, encoding="utf-8")
        assert self.live.reload(), self.live.fault


@pytest.fixture
def school(tmp_path):
    return School(tmp_path)


def test_without_rules_there_is_nothing_to_ask(school):
    assert not school.verdicts
    assert school.verdicts.on_request(*ASKED) is NO_RULE


def test_new_rules_count_at_once(school):
    school.rules('[[rule]]\ndomain = "b.test"\naction = "block"\n')
    assert school.verdicts.on_request(*ASKED) is NO_RULE
    school.rules('[[rule]]\ndomain = "a.test"\naction = "block"\n')
    assert school.verdicts.on_request(*ASKED).action is RuleAction.BLOCK


def test_a_rule_for_some_hours_begins_and_ends_with_its_minute(school):
    school.rules('[[rule]]\ntime = "09:00-09:01"\naction = "block"\n')
    said = []
    for _ in range(3):
        said.append(school.verdicts.on_request(*ASKED).action is RuleAction.BLOCK)
        school.now += timedelta(minutes=1)
    assert said == [False, True, False]


def test_clients_kinds_of_misses_and_content_types_have_separate_verdicts(school):
    school.rules(
        '[[rule]]\nclient = "10.0.0.2"\naction = "block"\n'
        '[[rule]]\nmiss = ["gone"]\naction = "pass"\n'
        '[[rule]]\ncontent_type = "video/*"\naction = "no-cache"\n'
    )

    def said(client="10.0.0.1", miss=None, content_type="text/html"):
        return school.verdicts.on_response(*ASKED[:2], client, miss=miss, content_type=content_type).action

    for _ in range(2):
        assert said() is RuleAction.REPAIR
        assert said(client="10.0.0.2") is RuleAction.BLOCK
        assert said(miss=MissKind.GONE) is RuleAction.PASS
        assert said(content_type="video/mp4") is RuleAction.NO_CACHE
        assert school.verdicts.on_stored(ASKED[0], "10.0.0.1", "video/mp4").action is RuleAction.NO_CACHE
        assert school.verdicts.on_stored(ASKED[0], "10.0.0.2", "video/mp4").action is RuleAction.BLOCK


def test_only_so_many_are_remembered(school):
    school.rules('[[rule]]\ndomain = "b.test"\naction = "block"\n')
    for number in range(25_000):
        school.verdicts.on_request(f"http://a.test/{number}", "a.test", "10.0.0.1")
    assert len(school.verdicts._known) <= 10_000
