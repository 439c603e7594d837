"""Rules by form: each template writes a rule that is in force at once, and mistakes lose nothing."""

from datetime import datetime

import pytest

from proxy.rules.history import DESK_FILE, RuleEdits
from proxy.rules.live import LiveRules
from proxy.rules.trial import trials
from tests.desks import a_desk, an_admin

PATH = "/admin/rules/new"
MONDAY, SUNDAY = datetime(2026, 5, 4, 9).astimezone(), datetime(2026, 5, 3, 9).astimezone()


@pytest.fixture
def edits(tmp_path):
    return RuleEdits(LiveRules(tmp_path / "rules.d", kept=tmp_path / "in-force"), tmp_path / "history")


@pytest.fixture
async def browser(tmp_path, edits):
    async with a_desk(tmp_path, rules=edits) as desk, an_admin(desk) as browser:
        yield browser


def decides(edits, url, at=MONDAY, client="10.0.5.7"):
    found = trials(edits.live.ruleset, url=url, client=client, at=at, miss=None, content_type="", shown=5)
    return {trial.outcome.action.value for trial in found if trial.outcome is not None}


async def test_site_is_blocked_with_its_reason_for_a_network(browser, edits):
    given = {
        "template": "block",
        "domain": "https://games.example/play, .toys.example",
        "client": "10.0.5.0/24",
        "reason": 'Not "now"',
        "name": "No games",
    }
    response = await browser.post(PATH, given)
    assert response.status == 303, await response.text()
    assert "block" in decides(edits, "http://games.example/x")
    assert "block" in decides(edits, "http://www.toys.example/")
    assert "block" not in decides(edits, "http://games.example/x", client="10.0.6.7")
    assert "No games" in await browser.text("/admin/rules")


async def test_lessons_have_hours_and_days(browser, edits):
    assert 'value="08:00-13:00"' in await browser.text(f"{PATH}?template=lessons")
    given = [("template", "lessons"), ("domain", "games.example"), ("time", "08:00-13:00")]
    await browser.post(PATH, [*given, ("weekday", "mon"), ("weekday", "tue")])
    assert "block" in decides(edits, "http://games.example/")
    assert "block" not in decides(edits, "http://games.example/", at=SUNDAY)


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"template": "redirect", "url": "http://a.test/old/*", "to": "http://b.test/"}, "redirect"),
        ({"template": "pass", "domain": "a.test"}, "pass"),
        ({"template": "bypass", "domain": "a.test"}, "bypass"),
    ],
)
async def test_each_template_writes_its_action(browser, edits, given, action):
    assert (await browser.post(PATH, given)).status == 303
    assert action in decides(edits, "http://a.test/old/page")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"template": "block", "domain": " "}, "Fill in the first field."),
        ({"template": "redirect", "url": "http://a.test/", "to": "nowhere"}, "to"),
        ({"template": "lessons", "domain": "a.test", "time": "early"}, "time"),
    ],
)
async def test_mistake_comes_back_with_what_was_typed(browser, edits, given, words):
    response = await browser.post(PATH, {**given, "name": "A name"})
    text = await response.text()
    assert response.status == 422
    assert words in text
    assert "A name" in text
    assert edits.text(DESK_FILE) is None


async def test_unknown_template_is_not_found(browser):
    assert (await browser.get(f"{PATH}?template=nothing")).status == 404
