"""proxy.rules.folder: files in order, lists within the folder, every fault of all of them."""

from pathlib import Path

import pytest

from proxy.paths import folder_beside
from proxy.rules.folder import all_files, load, rules_folder
from proxy.rules.model import RulesError

BLOCK = '[[rule]]\ndomain = ".a.test"\naction = "block"\n'
EXAMPLE = Path(__file__).parents[4] / "deploy" / "rules.d"


def faults_of(folder, **options):
    with pytest.raises(RulesError) as caught:
        load(folder, **options)
    return [str(fault) for fault in caught.value.faults]


def test_the_example_that_ships_is_good():
    assert len(load(EXAMPLE).rules) >= 8


def test_files_are_read_in_the_order_of_their_names(tmp_path):
    for name in ("20-b.toml", "10-a.toml", ".hidden.toml", "notes.txt", "9.toml"):
        (tmp_path / name).write_text(f'[[rule]]\nname = "{name}"\naction = "pass"\n')
    assert [rule.name for rule in load(tmp_path).rules] == ["10-a.toml", "20-b.toml", "9.toml"]


def test_no_folder_means_no_rules(tmp_path):
    assert not load(tmp_path / "none")


def test_lists_are_found_within_the_folder(tmp_path):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "bad.txt").write_text("bad.test\n")
    (tmp_path / "10.toml").write_text(
        '[[rule]]\ndomain_list = "lists/bad.txt"\nlist_form = "e2guardian"\naction = "block"'
    )
    assert load(tmp_path).rules[0].when.domains.entries == {".bad.test"}


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "lists/../../secret", "none.txt", "."])
def test_no_list_is_read_from_elsewhere(tmp_path, name):
    (tmp_path / "secret").write_text("s3cret line\n")
    folder = tmp_path / "rules.d"
    folder.mkdir()
    (folder / "10.toml").write_text(f'[[rule]]\ndomain_list = "{name}"\naction = "block"')
    (fault,) = faults_of(folder)
    assert fault.startswith("10.toml:2: domain_list: ")
    assert "s3cret" not in fault


def test_faults_of_files_and_lists_have_their_places(tmp_path):
    (tmp_path / "list.txt").write_text("a.test\nb c\n")
    (tmp_path / "10.toml").write_text(
        '[[rule]]\ndomain_list = "list.txt"\naction = "block"\n[[rule]]\nx = 1\n'
    )
    (tmp_path / "20.toml").write_bytes(b"\xff")
    (tmp_path / "30.toml").write_text("[[rule")
    places = [fault.rsplit(": ", 1)[0].split(": ")[0] for fault in faults_of(tmp_path)]
    assert places == ["10.toml:5", "20.toml", "30.toml:1", "list.txt:2"]


def test_a_long_list_of_faults_is_cut_short(tmp_path):
    (tmp_path / "list.txt").write_text("a b\n" * 10_000)
    (tmp_path / "10.toml").write_text('[[rule]]\ndomain_list = "list.txt"\naction = "block"\n')
    assert len(faults_of(tmp_path)) == 20


def test_two_rules_of_one_name_are_a_fault(tmp_path):
    (tmp_path / "10.toml").write_text('[[rule]]\nname = "x"\naction = "pass"\n')
    (tmp_path / "20.toml").write_text('[[rule]]\nname = "x"\naction = "pass"\n')
    assert faults_of(tmp_path) == ["20.toml:1: the name 'x' is already used by the rule at 10.toml:1"]


def test_a_text_may_stand_in_for_a_file(tmp_path):
    (tmp_path / "10.toml").write_text(BLOCK)
    assert len(load(tmp_path, instead={"20.toml": BLOCK}).rules) == 2
    assert len(load(tmp_path, instead={"10.toml": None}).rules) == 0
    assert faults_of(tmp_path, instead={"10.toml": "x"})


def test_a_file_that_is_too_large_is_a_fault(tmp_path):
    (tmp_path / "10.toml").write_bytes(b"#" * (4 * 1024**2 + 1))
    assert "larger" in faults_of(tmp_path)[0]


def test_the_folder_is_the_one_named_or_found_beside_the_settings_or_in_the_data(tmp_path):
    settings, data = tmp_path / "linkmend.toml", tmp_path / "data"
    assert folder_beside("", settings) == ""
    assert rules_folder(folder_beside("", settings), data) == data / "rules.d"
    (tmp_path / "rules.d").mkdir()
    assert rules_folder(folder_beside("", settings), data) == tmp_path / "rules.d"
    assert rules_folder(folder_beside("mine", settings), data) == tmp_path / "mine"
    assert folder_beside("/etc/rules", settings) == "/etc/rules"
    assert rules_folder(folder_beside("", None), data) == data / "rules.d"


def test_only_so_many_files_are_looked_at(tmp_path):
    for number in range(1010):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x").touch()
    assert len(all_files(tmp_path)) == 1000
