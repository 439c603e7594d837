"""Hashes of the password and of tokens, and their file."""

import stat

import pytest

from proxy.admin.auth.passwords import Passwords, hash_password, matches, password_problem
from proxy.errors import StoreError
from tests.desks import cheap_passwords


@pytest.fixture
def passwords(tmp_path):
    return cheap_passwords(tmp_path / "data")


def test_a_password_matches_its_own_hash_and_no_other():
    kept = hash_password("correct horse battery")
    assert matches("correct horse battery", kept)
    assert not matches("correct horse batterz", kept)


def test_each_guess_costs_32_megabytes_and_a_tenth_of_a_second(tmp_path):
    passwords = Passwords(tmp_path / "desk.json")
    passwords.set_first_password("correct horse battery")
    first = passwords.load().password
    passwords.set_password("another horse battery")
    for kept in (first, passwords.load().password):
        assert (kept.n, kept.r, kept.p) == (2**15, 8, 1)


def test_the_same_password_is_hashed_differently_each_time():
    assert hash_password("correct horse battery").digest != hash_password("correct horse battery").digest


@pytest.mark.parametrize("password", ["short", "x" * 201, "aaaaaaaaaaaaaa"])
def test_unsuitable_password_is_refused(password):
    assert password_problem(password, password)


def test_password_must_be_repeated_equally():
    assert "do not match" in password_problem("correct horse battery", "correct horse batterz")
    assert password_problem("correct horse battery", "correct horse battery") == ""


def test_file_contains_only_hashes_and_is_private(passwords, tmp_path):
    passwords.set_password("correct horse battery")
    token = passwords.new_token("backup")
    file = tmp_path / "data" / "desk.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"horse" not in file.read_bytes()
    assert token.encode() not in file.read_bytes()
    assert [path.name for path in file.parent.iterdir()] == ["desk.json"]


def test_changes_by_another_process_are_seen_at_once(passwords, tmp_path):
    assert passwords.load().password is None
    cheap_passwords(tmp_path / "data").set_password("correct horse battery")
    assert matches("correct horse battery", passwords.load().password)


def test_a_new_password_begins_a_new_generation_and_keeps_the_tokens(passwords):
    passwords.set_password("correct horse battery")
    before, token = passwords.load().generation, passwords.new_token("backup")
    passwords.set_password("another horse battery")
    assert passwords.load().generation != before
    assert passwords.find_token(token)


def test_first_password_is_not_replaced_by_a_second(passwords):
    assert passwords.set_first_password("correct horse battery")
    assert not passwords.set_first_password("the password of a thief")
    assert matches("correct horse battery", passwords.load().password)


def test_token_is_valid_until_it_is_removed(passwords):
    token = passwords.new_token("backup")
    assert passwords.find_token(token)
    assert not passwords.find_token(token + "x")
    assert passwords.remove_token("backup")
    assert not passwords.find_token(token)
    assert not passwords.remove_token("backup")


def test_token_of_the_same_name_replaces_the_old_one(passwords):
    old, new = passwords.new_token("backup"), passwords.new_token("backup")
    assert not passwords.find_token(old)
    assert passwords.find_token(new)


def test_tokens_are_bounded(passwords):
    for number in range(50):
        passwords.new_token(str(number))
    with pytest.raises(StoreError):
        passwords.new_token("one more")


def test_a_damaged_file_lets_nobody_in_and_says_so(passwords, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "desk.json").write_text('{"password": 5}', encoding="utf-8")
    with pytest.raises(StoreError, match="desk.json"):
        passwords.load()
