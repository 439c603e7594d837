"""`linkmend desk`: the password and the tokens, set on the machine itself."""

import json

from typer.testing import CliRunner

from proxy.admin.auth.passwords import Passwords, matches
from proxy.errors import LinkmendError
from proxy.main import app


def run(tmp_path, *arguments, **more):
    return CliRunner().invoke(app, ["desk", *arguments, "--data", str(tmp_path)], **more)


def test_the_password_is_read_from_standard_input(tmp_path):
    result = run(tmp_path, "password", input="correct horse battery\n")
    assert result.exit_code == 0, result.output
    assert matches("correct horse battery", Passwords(tmp_path / "desk.json").load().password)


def test_unsuitable_password_is_refused_and_nothing_changes(tmp_path):
    result = run(tmp_path, "password", input="short\n")
    assert isinstance(result.exception, LinkmendError)
    assert not (tmp_path / "desk.json").exists()


def test_token_is_printed_once_and_is_valid(tmp_path):
    token = run(tmp_path, "token", "backup").stdout.strip()
    assert Passwords(tmp_path / "desk.json").find_token(token)
    listed = json.loads(run(tmp_path, "tokens", "--json").stdout)
    assert listed["name"] == "backup"
    assert token not in run(tmp_path, "tokens").stdout


def test_a_token_can_be_removed(tmp_path):
    token = run(tmp_path, "token", "backup").stdout.strip()
    assert run(tmp_path, "token", "backup", "--remove").exit_code == 0
    assert not Passwords(tmp_path / "desk.json").find_token(token)
    again = run(tmp_path, "token", "backup", "--remove")
    assert isinstance(again.exception, LinkmendError)
