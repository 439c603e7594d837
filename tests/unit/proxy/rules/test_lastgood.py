"""proxy.rules.lastgood: what a start goes on with after a bad edit."""

import pytest

from proxy.rules import live
from proxy.rules.live import LiveRules

RULE = '[[rule]]\nname = "exam"\ndomain_list = "lists/games.txt"\naction = "block"\n'


@pytest.fixture
def folder(tmp_path):
    lists = tmp_path / "rules.d" / "lists"
    lists.mkdir(parents=True)
    (lists / "games.txt").write_text(".games.test\n", encoding="utf-8")
    (lists.parent / "10.toml").write_text(RULE, encoding="utf-8")
    return lists.parent


@pytest.mark.parametrize("edit", [b"[[rule", b"\xff\xfe", None], ids=["not TOML", "not UTF-8", "gone"])
def test_rules_that_are_edited_while_they_are_taken_over_are_kept_as_they_were(
    folder, tmp_path, monkeypatch, edit
):
    file, loaded = folder / "10.toml", live.load

    def load_and_edit(*asked, **options):
        ruleset = loaded(*asked, **options)
        file.unlink() if edit is None else file.write_bytes(edit)
        return ruleset

    monkeypatch.setattr(live, "load", load_and_edit)
    LiveRules(folder, kept=tmp_path / "kept")
    monkeypatch.undo()
    file.write_bytes(b"[[rule")
    again = LiveRules(folder, kept=tmp_path / "kept")
    assert again.fault
    assert [rule.name for rule in again.ruleset.rules] == ["exam"]
