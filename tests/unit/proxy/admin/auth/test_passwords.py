"""Hashes of the password and of tokens, and the file they are kept in."""

import stat

import pytest

from proxy.desk.passwords import Passwords, complaint, hashed, matches
from proxy.errors import StoreError


@pytest.fixture
def passwords(tmp_path):
    return Passwords(tmp_path / "data" / "desk.json")


def test_a_password_matches_its_own_hash_and_no_other():
    kept = hashed("correct horse battery")
    assert matches("correct horse battery", kept)
    assert not matches("correct horse batterz", kept)


def test_the_same_password_is_hashed_differently_each_time():
    assert hashed("correct horse battery").digest != hashed("correct horse battery").digest


@pytest.mark.parametrize("password", ["short", "x" * 201, "aaaaaaaaaaaaaa"])
def test_a_password_that_is_no_good_is_not_taken(password):
    assert complaint(password, password)


def test_a_password_must_be_typed_alike_twice():
    assert "differ" in complaint("correct horse battery", "correct horse batterz")
    assert complaint("correct horse battery", "correct horse battery") == ""


def test_the_file_holds_neither_password_nor_token_and_is_nobody_elses(passwords, tmp_path):
    passwords.set_password("correct horse battery")
    token = passwords.new_token("backup")
    file = tmp_path / "data" / "desk.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"horse" not in file.read_bytes()
    assert token.encode() not in file.read_bytes()
    assert [path.name for path in file.parent.iterdir()] == ["desk.json"]


def test_what_another_process_wrote_is_known_at_once(passwords, tmp_path):
    assert passwords.kept().password is None
    Passwords(tmp_path / "data" / "desk.json").set_password("correct horse battery")
    assert matches("correct horse battery", passwords.kept().password)


def test_a_new_password_begins_a_new_generation_and_keeps_the_tokens(passwords):
    passwords.set_password("correct horse battery")
    before, token = passwords.kept().generation, passwords.new_token("backup")
    passwords.set_password("another horse battery")
    assert passwords.kept().generation != before
    assert passwords.knows_token(token)


def test_of_two_first_passwords_the_earlier_counts(passwords):
    assert passwords.set_first_password("correct horse battery")
    assert not passwords.set_first_password("the password of a thief")
    assert matches("correct horse battery", passwords.kept().password)


def test_a_token_is_known_until_it_is_removed(passwords):
    token = passwords.new_token("backup")
    assert passwords.knows_token(token)
    assert not passwords.knows_token(token + "x")
    assert passwords.remove_token("backup")
    assert not passwords.knows_token(token)
    assert not passwords.remove_token("backup")


def test_a_token_of_the_same_name_takes_the_place_of_the_old_one(passwords):
    old, new = passwords.new_token("backup"), passwords.new_token("backup")
    assert not passwords.knows_token(old)
    assert passwords.knows_token(new)


def test_tokens_are_bounded(passwords):
    for number in range(50):
        passwords.new_token(str(number))
    with pytest.raises(StoreError):
        passwords.new_token("one more")


def test_a_damaged_file_lets_nobody_in_and_says_so(passwords, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "desk.json").write_text('{"password": 5}', encoding="utf-8")
    with pytest.raises(StoreError, match="desk.json"):
        passwords.kept()
