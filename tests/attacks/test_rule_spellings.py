"""What a rule blocks is blocked however its path is spelt: lenient servers read these as the same page."""

import contextlib
import socket
import time

import pytest

from tests.attacks.attackers import connection_to, send_raw
from tests.attacks.rawservers import HeadsOnly, page
from tests.integration.origin import reply
from tests.integration.processes import serving

SPELLINGS = (
    *("/admin/a", "/%61dmin/a", "/./admin/a", "//admin/a", "/x/../admin/a", "/x/%2e%2e/admin/a"),
    *("/admin%2fa", "/%2Fadmin/a", "/admin%252fa", "/%5cadmin/a", "/\\admin/a", "/admin\\a"),
    *("/admin;x/a", "/admin;x=1/a;y", "/;/admin/a", "/x/..%2fadmin/a", "/x/..;/admin/a", "/x//..//admin/a"),
    *("/secret.html", "/secret%2ehtml", "/secret.html;x", "/secret.html%00.png", "//secret.html"),
    "/%61dmin/" + "a" * 9_000,
)


@pytest.fixture(scope="module")
def running(tmp_path_factory, site):
    data = tmp_path_factory.mktemp("attacks") / "data"
    (data / "rules.d").mkdir(parents=True)
    blocked = f'url = ["{site.url}/admin/*", "{site.url}/secret.html", "*/kept-out/*"]'
    (data / "rules.d" / "10.toml").write_text(f'[[rule]]\n{blocked}\naction = "block"\n', encoding="utf-8")
    with serving(data) as proxy:
        yield proxy


def status_of(running, site, path):
    place = f"127.0.0.1:{site.port}"
    asked = f"GET http://{place}{path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
    return send_raw(running, asked.encode()).split(b" ")[1]


def test_a_blocked_path_is_blocked_in_every_spelling(running, site):
    site.seen.clear()
    passed = [path[:40] for path in SPELLINGS if status_of(running, site, path) not in (b"403", b"400")]
    assert passed == []
    assert site.seen == []


def test_other_paths_are_not_blocked_for_their_spelling(running, site):
    for path in ("/a//b;c/%2f", "/administration;x/a", "/x/admin%2fa", "/q?to=//admin/a", "/secret.html5;x"):
        site.pages[path] = reply("there")
        assert status_of(running, site, path) == b"200", path


@pytest.mark.parametrize(
    "beginning",
    [
        *(b"\r\nGET ", b"\nGET ", b"\r\n" * 300 + b"GET ", b"\r\n" * 3000 + b"GET "),
        *(b" GET ", b"M-SEARCH ", b"G\tET ", b"1-" + b"A" * 300 + b" ", b"G ", b"get "),
    ],
    ids=lambda beginning: beginning[:12],
)
@pytest.mark.parametrize("cut_at", [0, 1, 2])
def test_what_servers_read_as_http_is_not_passed_on_unread_in_a_tunnel(running, beginning, cut_at):
    with (
        HeadsOnly(lambda head: page("kept out")) as lenient,
        connection_to(running, timeout_s=5) as connection,
    ):
        place = lenient.host
        connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        assert b" 200 " in connection.recv(65536)
        asked = beginning + f"/kept-out/a HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()
        with contextlib.suppress(ConnectionError):
            for piece in (asked[:cut_at], asked[cut_at:]) if cut_at else (asked,):
                connection.sendall(piece)
                time.sleep(0.05 if cut_at else 0)
            answer = connection.recv(65536)
            assert not answer or answer.split(b" ")[1] in (b"400", b"403", b"431", b"501"), answer[:200]
        assert lenient.heads == []


def test_other_protocols_pass_through_a_tunnel(running):
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        with connection_to(running, timeout_s=5) as connection:
            connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
            assert b" 200 " in connection.recv(65536)
            connection.sendall(b"SSH-2.0-OpenSSH_9.6 a comment\r\n")
            other, _ = server.accept()
            with other:
                assert other.recv(65536) == b"SSH-2.0-OpenSSH_9.6 a comment\r\n"
