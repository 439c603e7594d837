"""`linkmend serve` as an admin runs it: starting, stopping, reloading, whom it serves, what it cannot do."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import ROOT, Running, eventually, free_port, linkmend, surroundings


def test_one_line_says_where_the_proxy_is_ready(start_linkmend):
    running = start_linkmend()
    assert running.wait_for_line("linkmend ready on ") == f"linkmend ready on {running.url}"


def test_a_port_that_is_taken_is_named_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = linkmend("serve", "--data", tmp_path, "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert done.stderr == f"linkmend: cannot listen on 127.0.0.1:{port}: [Errno 98] Address already in use\n"


def test_a_wrong_setting_is_named_in_one_line(tmp_path):
    config = tmp_path / "linkmend.toml"
    config.write_text("[cache]\nmax_bites = 1\n", encoding="utf-8")
    done = linkmend("serve", "--config", config, "--data", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("linkmend: linkmend.toml: cache.max_bites: unknown key")
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_mode_is_named(tmp_path):
    done = linkmend("serve", "--data", tmp_path, "--mode", "sideways", "--listen", f"127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert "sideways" in done.stderr.splitlines()[-1]


def test_an_answer_under_way_is_finished_before_the_proxy_stops(origin, start_linkmend):
    begun, go_on = threading.Event(), threading.Event()

    async def slowly(exchange):
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nha")
        begun.set()
        await asyncio.to_thread(go_on.wait, 20)
        await exchange.send(b"lf")

    origin.pages["/slow"] = slowly
    running = start_linkmend()
    answers = []
    reader = threading.Thread(
        target=lambda: answers.append(Client(running.url).open_page(origin.url + "/slow")), daemon=True
    )
    reader.start()
    assert begun.wait(20)
    running.process.send_signal(signal.SIGTERM)
    running.wait_for_line("stopping: 1 responses in flight")
    go_on.set()
    reader.join(20)
    assert running.stop() == 0
    assert [answer.body for answer in answers] == [b"half"]


def test_a_reload_changes_the_settings_and_a_bad_file_changes_nothing(origin, start_linkmend):
    origin.pages["/page"] = reply("<title>hello</title>", Cache_Control="no-store")
    running = start_linkmend()
    client = Client(running.url)
    assert client.open_page(origin.url + "/page").status == 200

    running.config.write_text("[proxy]\noffline = true\n", encoding="utf-8")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for_line("settings reloaded")
    assert client.open_page(origin.url + "/page").miss == "offline"

    running.config.write_text("[proxy]\noffline = 'perhaps'\n", encoding="utf-8")
    running.process.send_signal(signal.SIGHUP)
    line = running.wait_for_line("settings not reloaded")
    assert "proxy.offline: expected bool, got 'perhaps'" in line
    assert client.open_page(origin.url + "/page").miss == "offline"


def test_a_reload_can_move_the_proxy_to_another_port(tmp_path):
    config = tmp_path / "linkmend.toml"
    old, new = free_port(), free_port()
    config.write_text(f'[proxy]\nlisten = "127.0.0.1:{old}"\n', encoding="utf-8")
    running = Running(
        [sys.executable, "-m", "proxy.main", "serve", "--config", config, "--data", tmp_path / "data"]
    )
    try:
        running.wait_for_line("linkmend ready on ")
        config.write_text(f'[proxy]\nlisten = "127.0.0.1:{new}"\n', encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for_port(new)
        assert Client(f"http://127.0.0.1:{new}").open_page("http://linkmend.internal/").status == 200
    finally:
        assert running.stop() == 0


def test_a_client_from_another_network_is_refused(origin, start_linkmend):
    origin.pages["/page"] = reply("hello")
    running = start_linkmend(settings='[proxy]\nclients = ["192.0.2.0/24"]\n')
    address = ("127.0.0.1", running.port)
    with socket.create_connection(address, timeout=10) as stranger, contextlib.suppress(ConnectionError):
        stranger.sendall(f"GET {origin.url}/page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert stranger.recv(100) == b""
    assert not origin.asked


def test_reverse_mode_stands_in_front_of_one_site(origin, start_linkmend):
    origin.pages["/page"] = reply("<title>hello</title>", Cache_Control="max-age=60")
    running = start_linkmend("--mode", f"reverse:{origin.url}")
    client = Client("")
    assert client.open_page(f"{running.url}/page").text == "<title>hello</title>"
    assert "hit" in client.open_page(f"{running.url}/page").headers["Cache-Status"]
    assert client.open_page(f"{running.url}/missing").miss == "not_found"
    assert origin.asked["/page"] == 1


def test_the_same_addons_run_in_a_stock_mitmdump(origin, tmp_path, program):
    origin.pages["/page"] = reply("<title>hello</title>", Cache_Control="max-age=60")
    port = free_port()
    mitmdump = subprocess.Popen(
        [
            *(sys.executable, "-c", "from mitmproxy.tools.main import mitmdump; mitmdump()", "-q"),
            *(
                "-s",
                str(ROOT / "proxy" / "app" / "mitmdump.py"),
                "-p",
                str(port),
                "--listen-host",
                "127.0.0.1",
            ),
            *("--set", f"linkmend_data={tmp_path / 'data'}", "--set", f"confdir={tmp_path / 'ca'}"),
        ],
        cwd=ROOT,
        env={**os.environ, **surroundings()},
    )
    try:
        client = Client(f"http://127.0.0.1:{port}")
        eventually(lambda: _is_loaded(client), "the addons are not there")
        assert client.open_page(origin.url + "/page").status == 200
        assert "hit" in client.open_page(origin.url + "/page").headers["Cache-Status"]
        assert client.open_page(origin.url + "/missing").miss == "not_found"
        assert client.open_page("http://no-such-host.invalid/").miss == "unreachable"
    finally:
        mitmdump.terminate()
        mitmdump.wait(20)


def _is_loaded(client):
    """mitmdump opens its port before it has loaded its scripts; only linkmend knows the portal."""
    with contextlib.suppress(OSError):
        return client.open_page("http://linkmend.internal/").status == 200
    return False
