"""proxy.rules.pushed: a district's rules below a school's own."""

import asyncio

import pytest

from proxy.rules.live import LiveRules
from proxy.rules.model import RulesError
from proxy.rules.parse import rules_of
from proxy.rules.pushed import MAX_PUSHED, SOURCE, parse_pushed, replaced, with_pushed
from proxy.rules.ruleset import RuleSet
from tests.unit.proxy.rules.test_live import BLOCK, becomes, watched


def own(*names):
    rules, faults = rules_of("\n".join(map(BLOCK.format, names)), "10.toml", lambda name, form: frozenset())
    assert not faults
    return RuleSet(rules)


def names(ruleset):
    return [(rule.file, rule.name) for rule in ruleset.rules]


def test_own_rules_come_first_and_take_the_place_of_those_of_the_same_name():
    pushed = parse_pushed(BLOCK.format("games") + BLOCK.format("ads"))
    together = with_pushed(own("games", "first"), pushed)
    assert names(together) == [("10.toml", "games"), ("10.toml", "first"), (SOURCE, "ads")]
    assert replaced(together, pushed) == ("games",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BLOCK.format("x") + BLOCK.format("x"), "district:5.*already used"),
        (
            '[[rule]]\nname = "x"\ndomain_list = "/etc/passwd"\naction = "block"\n',
            "district:3.*no list files",
        ),
        ("[[rule]]\nname = 7\n", "district:2"),
        ("not toml", "district:1"),
        ("#" * (MAX_PUSHED + 1), "longer"),
    ],
)
def test_faults_are_told_with_their_lines(text, told):
    with pytest.raises(RulesError, match=told):
        parse_pushed(text)


async def test_live_rules_follow_the_district_s_file_and_never_lose_the_own_by_it(tmp_path):
    folder, below = tmp_path / "rules.d", tmp_path / "district" / "rules.toml"
    folder.mkdir()
    below.parent.mkdir()
    (folder / "10.toml").write_text(BLOCK.format("first"))
    live = LiveRules(folder, below=below, look_every_s=0.02)
    async with watched(live):
        below.write_text(BLOCK.format("games"))
        await becomes(live, ["first", "games"], within_s=20.0)
        below.write_text("damaged")
        await becomes(live, ["first"], within_s=20.0)
        below.write_text(BLOCK.format("games"))
        await becomes(live, ["first", "games"], within_s=20.0)
        (folder / "10.toml").write_text(BLOCK.format("games"))
        await becomes(live, ["games"], within_s=20.0)
    await asyncio.sleep(0)
