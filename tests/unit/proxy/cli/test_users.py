"""`linkmend users`: accounts and class codes, set on the machine itself."""

import json
from datetime import UTC, datetime

from typer.testing import CliRunner

from proxy.admin.auth.passwords import Passwords
from proxy.admin.roles import Role
from proxy.errors import LinkmendError
from proxy.main import app


def run(tmp_path, *arguments, **more):
    return CliRunner().invoke(app, ["users", *arguments, "--data", str(tmp_path)], **more)


def account(tmp_path, name, secret):
    return Passwords(tmp_path / "desk.json").verify(name, secret, datetime.now(UTC))


def test_printed_password_logs_in_with_the_role(tmp_path):
    password = run(tmp_path, "add", "Mr B", "--role", "reviewer").stdout.strip()
    assert account(tmp_path, "Mr B", password).role is Role.REVIEWER


def test_password_can_come_from_standard_input(tmp_path):
    run(tmp_path, "add", "Mr B", "--stdin", input="correct horse battery\n")
    assert account(tmp_path, "Mr B", "correct horse battery")
    short = run(tmp_path, "add", "Mr C", "--stdin", input="short\n")
    assert isinstance(short.exception, LinkmendError)


def test_printed_code_logs_in_as_a_teacher(tmp_path):
    code = run(tmp_path, "code", "7b", "--days", "5").stdout.strip()
    assert account(tmp_path, "", code).role is Role.TEACHER


def test_accounts_are_listed_and_removed(tmp_path):
    run(tmp_path, "code", "7b")
    assert json.loads(run(tmp_path, "list", "--json").stdout)["name"] == "7b"
    assert "class code" in run(tmp_path, "list").stdout
    assert run(tmp_path, "remove", "7b").exit_code == 0
    assert run(tmp_path, "list").stdout == ""
    assert isinstance(run(tmp_path, "remove", "7b").exception, LinkmendError)


def test_log_shows_what_the_terminal_did(tmp_path):
    run(tmp_path, "code", "7b")
    run(tmp_path, "remove", "7b")
    assert [line.split("  ")[1:] for line in run(tmp_path, "log").stdout.splitlines()] == [
        ["terminal", "users remove 7b"],
        ["terminal", "users code 7b"],
    ]
    assert json.loads(run(tmp_path, "log", "--limit", "1", "--json").stdout)["action"] == "users remove"
