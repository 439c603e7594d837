"""proxy.rules.history: edits that are checked, kept and undone."""

import stat
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import LinkmendError
from proxy.rules.history import DESK_FILE, RuleEdits, RulesConflict, mark
from proxy.rules.live import LiveRules
from proxy.rules.model import RulesError
from proxy.rules.writing import rule_text
from tests.make import A_MOMENT
from tests.unit.proxy.rules.books import asked

BLOCK = '[[rule]]\nname = "{}"\ndomain = "a.test"\naction = "block"\n'


@pytest.fixture
def edits(tmp_path):
    live = LiveRules(tmp_path / "rules.d")
    return RuleEdits(live, tmp_path / "history", keep=5, clock=lambda: A_MOMENT)


def names(edits):
    return [rule.name for rule in edits.live.ruleset.rules]


def test_a_saved_file_is_in_force_at_once_and_kept_as_a_version(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    assert names(edits) == ["a"]
    (version,) = edits.versions()
    assert (version.file, version.by, version.at, version.before) == ("10.toml", "admin", A_MOMENT, None)
    assert '+name = "a"' in version.diff


def test_a_text_that_is_not_good_changes_nothing(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    with pytest.raises(RulesError, match="10.toml:2: unknown key 'x'"):
        edits.save("10.toml", "[[rule]]\nx = 1\n", by="admin")
    assert edits.text("10.toml") == BLOCK.format("a")
    assert len(edits.versions()) == 1


def test_the_whole_folder_is_checked_with_the_new_text(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    with pytest.raises(RulesError, match="already used by the rule at 10.toml:1"):
        edits.save("20.toml", BLOCK.format("a"), by="admin")
    with pytest.raises(RulesError, match="10.toml:1: the name 'a' is already used by the rule at 05.toml:1"):
        edits.save("05.toml", BLOCK.format("a"), by="admin")


def test_two_files_that_were_spoilt_by_hand_can_be_mended_one_after_the_other(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    for name in ("10.toml", "20.toml"):
        (edits.live.folder / name).write_text("[[rule]]\nx = 1\n")
    edits.live.reload()
    edits.save("10.toml", BLOCK.format("b"), by="admin")
    assert "20.toml:2" in edits.fault
    assert names(edits) == ["a"]
    with pytest.raises(RulesError, match="20.toml:2"):
        edits.save("20.toml", "[[rule]]\nx = 1\n", by="admin")
    edits.save("20.toml", "", by="admin")
    assert edits.fault is None
    assert names(edits) == ["b"]


def test_a_file_changed_meanwhile_is_not_overwritten(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin", seen=mark(None))
    seen = mark(edits.text("10.toml"))
    edits.save("10.toml", BLOCK.format("b"), by="other", seen=seen)
    with pytest.raises(RulesConflict, match="someone else"):
        edits.save("10.toml", BLOCK.format("c"), by="admin", seen=seen)
    assert names(edits) == ["b"]


def test_edits_are_undone_one_after_the_other(edits):
    for name in ("a", "b"):
        edits.save("10.toml", BLOCK.format(name), by="admin")
    assert edits.undo(by="admin").undoes == 2
    assert names(edits) == ["a"]
    edits.undo(by="admin")
    assert edits.text("10.toml") is None
    with pytest.raises(LinkmendError, match="nothing to undo"):
        edits.undo(by="admin")


def test_an_undo_can_be_undone(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    undone = edits.undo(by="admin")
    edits.undo(undone.number, by="admin")
    assert names(edits) == ["a"]


def test_undo_does_not_overwrite_later_edits_by_hand(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    (edits.live.folder / "10.toml").write_text(BLOCK.format("by hand"))
    with pytest.raises(RulesConflict, match="changed since"):
        edits.undo(by="admin")


def test_only_so_many_versions_are_kept(edits):
    for number in range(8):
        edits.save("10.toml", BLOCK.format(number), by="admin")
    assert [version.number for version in edits.versions()] == [8, 7, 6, 5, 4]


def test_a_version_that_cannot_be_read_is_passed_over(edits, tmp_path):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    (tmp_path / "history" / "00000002.json").write_text("{")
    assert [version.number for version in edits.versions()] == [1]
    assert edits.save("10.toml", BLOCK.format("b"), by="admin").number == 3


@pytest.mark.parametrize(
    "name",
    [
        "../10.toml",
        "/etc/x.toml",
        "a/b.toml",
        ".toml",
        ".a.toml",
        "a.txt",
        "a.toml\n",
        "",
        "x" * 70 + ".toml",
        "a\0.toml",
    ],
)
def test_no_other_file_can_be_written_or_read(edits, name):
    with pytest.raises(RulesError, match="name such as"):
        edits.save(name, BLOCK.format("a"), by="admin")
    with pytest.raises(RulesError, match="name such as"):
        edits.text(name)


def test_a_new_file_is_private_and_an_old_one_keeps_its_permissions(edits):
    edits.save("10.toml", BLOCK.format("a"), by="admin")
    path = edits.live.folder / "10.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o664)
    edits.save("10.toml", BLOCK.format("b"), by="admin")
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    assert [each.name for each in edits.live.folder.iterdir()] == ["10.toml"]


def test_an_unwritable_folder_is_reported_in_one_line(edits):
    edits.live.folder.parent.joinpath("rules.d").write_text("a file, not a folder")
    with pytest.raises(LinkmendError, match="10.toml: cannot write the file"):
        edits.save("10.toml", BLOCK.format("a"), by="admin")
    assert edits.versions() == ()


def test_a_redirect_is_added_for_one_address_and_the_later_one_counts(edits):
    edits.add_redirect("http://a.test/x?y=1", "https://b.test/first", by="admin", reason='it "moved"')
    edits.add_redirect("http://a.test/x?y=1", "https://b.test/{braces}", by="admin")
    ruleset = edits.live.ruleset
    assert ruleset.on_request(asked("http://a.test/x?y=1")).redirect_to == "https://b.test/%7Bbraces%7D"
    assert ruleset.on_request(asked("http://a.test/x?y=2")).rule == ""
    assert edits.files() == (DESK_FILE,)
    edits.undo(by="admin")
    assert edits.live.ruleset.on_request(asked("http://a.test/x?y=1")).reason == 'it "moved"'


@pytest.mark.parametrize(
    ("url", "to"), [("http://a.test/", "javascript:x"), ("ftp://a.test/", "http://b.test/")]
)
def test_a_redirect_that_makes_no_sense_is_refused(edits, url, to):
    with pytest.raises(RulesError):
        edits.add_redirect(url, to, by="admin")
    assert edits.versions() == ()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_comes_back_out_of_a_rule(text):
    assert tomllib.loads(rule_text(reason=text))["rule"][0]["reason"] == text


def test_half_a_character_does_not_spoil_the_file():
    assert tomllib.loads(rule_text(reason="a\ud800"))["rule"][0]["reason"] == "a\ufffd"


def test_redirect_of_the_desk_is_known_and_taken_back(edits):
    edits.add_redirect("http://a.test/one", "http://b.test/{x}", by="admin")
    edits.add_redirect("http://a.test/two", "http://b.test/2", by="admin", reason="moved")
    assert edits.redirect_of("http://a.test/one") == "http://b.test/%7Bx%7D"
    assert edits.redirect_of("http://a.test/two") == "http://b.test/2"
    assert edits.redirect_of("http://a.test/") == ""
    edits.remove_redirect("http://a.test/two", by="admin")
    assert edits.redirect_of("http://a.test/two") == ""
    assert edits.redirect_of("http://a.test/one") == "http://b.test/%7Bx%7D"
    edits.remove_redirect("http://a.test/one", by="admin")
    assert edits.text(DESK_FILE) is None
    with pytest.raises(LinkmendError):
        edits.remove_redirect("http://a.test/one", by="admin")
