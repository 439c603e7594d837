"""`linkmend rules`: checks the rules, and shows which one applies."""

import json

import pytest
from typer.testing import CliRunner

from proxy.main import app
from proxy.rules.model import RulesError

RULES = """[[rule]]
name = "bank"
domain = ".bank.test"
action = "bypass"

[[rule]]
name = "moved"
url = "old.test/*"
client = "10.0.0.0/8"
time = "08:00-12:00"
miss = "not_found"
action = "redirect"
to = "https://new.test{path}"
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "rules.d"
    place.mkdir()
    (place / "10.toml").write_text(RULES)
    (tmp_path / "linkmend.toml").touch()
    return place


def run(folder, *words):
    settings = folder.parent / "linkmend.toml"
    data = folder.parent / "data"
    return CliRunner().invoke(app, ["rules", *words, "--config", str(settings), "--data", str(data)])


def trials_of(folder, *words):
    result = run(folder, "test", *words, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_good_rules_are_found_beside_the_settings_and_counted(folder):
    result = run(folder, "check")
    assert result.exit_code == 0
    assert result.stdout == f"{folder}: 2 rules, no errors\n"


def test_every_error_is_a_line_with_its_place_and_the_command_fails(folder):
    (folder / "20.toml").write_text("[[rule]]\nacton = 'pass'\n[[rule]]\naction = 'no'\n")
    result = run(folder, "check")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "20.toml:2: unknown key 'acton', did you mean 'action'?"
    assert lines[1].startswith("20.toml:4: action: expected one of")


def test_faults_come_as_json_too(folder):
    (folder / "20.toml").write_text("[[rule")
    told = json.loads(run(folder, "check", "--json").stdout)
    assert told["faults"][0]["file"] == "20.toml"
    assert told["faults"][0]["line"] == 1
    assert told["faults"][0]["reason"].startswith("not valid TOML")


def test_applied_rule_is_shown_with_what_matched(folder):
    result = run(folder, "test", "https://www.bank.test/login")
    assert result.exit_code == 0
    assert result.stdout.startswith("connect: bypass\n  fires  bank (10.toml:1): domain matches .bank.test\n")


def test_client_time_and_miss_are_used_in_the_trial(folder):
    words = ("http://old.test/a", "--client", "10.1.2.3", "--time", "2026-11-16T10:30", "--miss", "not_found")
    connect, request, response = trials_of(folder, *words)
    assert connect["outcome"] is None
    assert request["rules"][1]["why"] == "is checked later, at stage response"
    assert response["outcome"]["redirect_to"] == "https://new.test/a"
    assert response["rules"][1]["why"] == (
        "miss matches not_found; client matches 10.0.0.0/8; time matches 08:00-12:00; url matches old.test/*"
    )
    assert trials_of(folder, *words[:-4], "--time", "13:00", *words[-2:])[2]["outcome"] is None
    assert trials_of(folder, words[0], "--client", "192.0.2.1", *words[3:])[2]["outcome"] is None


@pytest.mark.parametrize("words", [("old.test/x",), ("http://old.test/", "--time", "noon")])
def test_invalid_trial_is_a_usage_error(folder, words):
    assert run(folder, "test", *words).exit_code == 2


def test_bad_rules_cannot_be_tried(folder):
    (folder / "20.toml").write_text("[[rule")
    result = run(folder, "test", "http://old.test/")
    assert isinstance(result.exception, RulesError)


def test_further_rules_are_only_counted(folder):
    (folder / "00.toml").write_text("[[rule]]\ndomain = 'a.test'\naction = 'block'\n" * 3)
    result = run(folder, "test", "https://www.bank.test/", "--limit", "1")
    assert "  not    2 more rules" in result.stdout
    assert "fires  bank" in result.stdout
