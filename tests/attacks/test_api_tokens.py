"""An API token allows what it was made for: no other call, no page, and above all no other token."""

import json
import re
import urllib.request
from urllib.error import HTTPError

import pytest

from proxy.admin.auth.passwords import Passwords
from proxy.admin.auth.scopes import ALL
from tests.integration.processes import linkmend, serving

JSON = {"Content-Type": "application/json"}
# What each scope allows besides reading, as method and path with a body.
CHANGES = {
    ("POST", "/admin/api/misses/marks"): ("review", {"url": "http://a.test/", "mark": "ignored"}),
    ("POST", "/admin/api/misses/pins"): ("review", {"url": "http://a.test/", "target": "http://b.test/"}),
    ("POST", "/admin/api/misses/redirects"): ("rules", {"url": "http://a.test/x", "to": "http://b.test/"}),
    ("POST", "/admin/api/misses/erase"): ("remove", {"url": "http://a.test/"}),
    ("DELETE", "/admin/api/collection/page?url=http://a.test/"): ("remove", None),
    ("POST", "/admin/api/fetches"): ("fetch", {"urls": ["http://a.test/"]}),
    ("POST", "/admin/api/topics"): ("fetch", {"name": "Volcanoes"}),
    ("DELETE", "/admin/api/topics/topic?name=None"): ("fetch", None),
    ("PUT", "/admin/api/rules/files/10.toml"): ("rules", {"text": "", "before": ""}),
    ("POST", "/admin/api/rules/undo"): ("rules", {}),
}
READS = ("/admin/api/health", "/admin/api/misses/summary", "/admin/api/rules", "/admin/api/openapi.json")


class Program:
    """Calls the admin API with a token."""

    def __init__(self, desk, token):
        self.desk, self.token = desk, token

    def ask(self, method, path, body=None, **headers):
        """The status and the response."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {
            "Authorization": f"Bearer {self.token}",
            **(JSON if isinstance(body, dict) else {}),
            **headers,
        }
        request = urllib.request.Request(self.desk + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.build_opener(_NoRedirects()).open(request, timeout=20) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    data = tmp_path_factory.mktemp("tokens") / "data"
    with serving(data, "--offline") as proxy:
        proxy.wait_for_line("linkmend desk on ")
        yield proxy


@pytest.fixture(scope="module")
def program(running):
    """A program whose token has these scopes."""
    desk = re.search(r"linkmend desk on (http://\S+)", running.output)[1]

    def of(*scopes):
        token = Passwords(running.data / "desk.json").new_token("-".join(scopes), scopes)
        return Program(desk, token)

    return of


def is_refused(status, said):
    return status == 403 and "scope" in said


def test_token_allows_only_its_scopes(program):
    for scope in ALL:
        one = program(scope)
        for path in READS:
            assert (one.ask("GET", path)[0] == 200) == (scope == "read"), (scope, path)
        for (method, path), (needed, body) in CHANGES.items():
            status, said = one.ask(method, path, body)
            assert is_refused(status, said) == (scope != needed), (scope, method, path, status, said)


def test_every_documented_call_needs_its_scope(program):
    described = json.loads(program("read").ask("GET", "/admin/api/openapi.json")[1])
    listed = 0
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            (token, _) = operation["security"]
            (needed,) = token["token"]
            others = [each for each in ALL if each != needed]
            where = re.sub(r"\{\w+\}", "1", path)
            status, said = program(*others).ask(method.upper(), where, None if method == "get" else {})
            assert is_refused(status, said), (method, path, status)
            listed += 1
    assert listed > 25


@pytest.mark.parametrize("scopes", [ALL, ("read",)], ids=["all", "read"])
def test_a_token_makes_and_removes_no_tokens(running, program, scopes):
    one = program(*scopes)
    before = {each.name for each in Passwords(running.data / "desk.json").load().tokens}
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": one.desk}
    for path, body in (
        ("/admin/access/token", b"name=mine&scope-read=1"),
        ("/admin/access/token/remove", b"name=read"),
        ("/admin/access/password", b"old=x&password=correct+horse&again=correct+horse"),
        ("/admin/rules/undo", b""),
        ("/admin/collection/remove", b"url=http://a.test/"),
    ):
        assert one.ask("POST", path, body, **form)[0] == 403, path
    assert one.ask("GET", "/admin/access")[0] == 403
    assert {each.name for each in Passwords(running.data / "desk.json").load().tokens} == before
    assert one.ask("GET", "/admin/api/health")[0] == 200


def test_token_from_before_scopes_still_works_and_makes_no_tokens(running, program):
    one = program("read")
    file = running.data / "desk.json"
    kept = json.loads(file.read_text())
    for token in kept["tokens"]:
        del token["scopes"]
    file.write_text(json.dumps(kept))
    assert one.ask("GET", "/admin/api/health")[0] == 200
    path = "/admin/api/misses/marks"
    assert one.ask("POST", path, {"url": "http://a.test/", "mark": "ignored"})[0] in (200, 204)
    assert one.ask("POST", "/admin/access/token", b"name=mine&scope-read=1")[0] == 403


def test_token_made_on_the_command_line_is_read_only_by_default(running, program):
    made = linkmend("desk", "token", "plain", "--data", running.data)
    assert made.returncode == 0, made.stderr
    one = Program(program("read").desk, made.stdout.strip())
    assert one.ask("GET", "/admin/api/health")[0] == 200
    assert is_refused(*one.ask("POST", "/admin/api/rules/undo", {}))
