"""Peers that send too much, too slowly or too often are cut off, and nobody else notices."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import Linkmend, Running, eventually, free_port, linkmend

MEGABYTE = 1024 * 1024
MOST_MEGABYTES = 300


def endless(first, piece):
    """An origin that begins with `first` and repeats `piece` until it is cut off, or has sent 300 MB."""

    async def send(exchange):
        await exchange.send(first)
        for _ in range(MOST_MEGABYTES):
            await exchange.send(piece)
            send.megabytes += 1

    send.megabytes = 0
    return send


FLOODS = {
    "fields": endless(b"HTTP/1.1 200 OK\r\n", (b"X-A: " + b"a" * 1000 + b"\r\n") * 1000),
    "one field": endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"a" * MEGABYTE),
    "a chunk header": endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0" * MEGABYTE),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_from_an_origin_is_cut_off_and_becomes_a_page(flood, origin, start_linkmend):
    origin.pages["/flood"] = FLOODS[flood]
    origin.pages["/page"] = reply("<title>hello</title>")
    running = start_linkmend()
    client = Client(running.url)
    client.open_page(origin.url + "/page")
    before, began = running.peak_memory(), time.monotonic()
    answer = client.open_page(origin.url + "/flood")
    assert (answer.status, answer.miss) == (502, "unreachable")
    assert time.monotonic() - began < 5
    assert client.open_page(origin.url + "/page").status == 200
    assert running.peak_memory() - before < 50 * MEGABYTE
    assert FLOODS[flood].megabytes < MOST_MEGABYTES


def test_a_flood_of_interim_answers_is_cut_off_and_ends_in_a_page(origin, shared_linkmend):
    hints = endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 20_000)
    origin.pages["/flood"] = hints
    running = shared_linkmend()
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
        client.sendall(f"GET {origin.url}/flood HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n".encode())
        answer = b""
        while data := client.recv(65536):
            answer += data
    assert 0 < answer.count(b"HTTP/1.1 103 ") <= 10
    assert answer.count(b"HTTP/1.1 502 ") == 1
    assert b"http protocol error" in answer
    assert hints.megabytes < MOST_MEGABYTES


def test_a_flood_from_a_client_is_cut_off(origin, start_linkmend):
    origin.pages["/page"] = reply("hello")
    running = start_linkmend()
    client = Client(running.url)
    client.open_page(origin.url + "/page")
    before, sent = running.peak_memory(), 0
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as flood:
        try:
            flood.sendall(f"GET {origin.url}/page HTTP/1.1\r\nX: ".encode())
            while sent < MOST_MEGABYTES:
                flood.sendall(b"a" * MEGABYTE)
                sent += 1
        except OSError:
            pass
    assert sent < 50
    assert client.open_page(origin.url + "/page").status == 200
    assert running.peak_memory() - before < 50 * MEGABYTE


@pytest.mark.parametrize("value", [b"a\rb", b"a\0b"])
def test_control_characters_in_headers_go_neither_way(value, origin, shared_linkmend):
    origin.pages["/page"] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: " + value + b"\r\n\r\n"
    running = shared_linkmend()
    assert Client(running.url).open_page(origin.url + "/page").status == 502
    asked = origin.asked.total()
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as client:
        client.sendall(f"GET {origin.url}/page HTTP/1.1\r\nHost: a\r\nX: ".encode() + value + b"\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")
    assert origin.asked.total() == asked


def half_a_request(running):
    client = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    client.sendall(b"GET http://school.test/ HTTP/1.1\r\nHost: s")
    return client


def is_closed(client):
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_client_that_never_finishes_its_request_is_disconnected(shared_linkmend):
    running = shared_linkmend(settings="[proxy]\nrequest_timeout_s = 1.0\n")
    with half_a_request(running) as client:
        client.settimeout(10)
        assert client.recv(100) == b""


def tunnel_to(running, port):
    client = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert client.recv(1000).startswith(b"HTTP/1.1 200")
    return client


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00", b"GET / HT"], ids=["nothing", "tls", "http"])
def test_client_that_sends_no_complete_request_in_a_tunnel_is_disconnected(
    secure_origin, shared_linkmend, said
):
    running = shared_linkmend(settings="[proxy]\nrequest_timeout_s = 1.0\n")
    with tunnel_to(running, secure_origin.port) as client:
        client.sendall(said)
        client.settimeout(15)
        assert client.recv(100) == b""


def test_pass_through_tunnel_may_be_silent(start_linkmend, tmp_path):
    """The proxy does not know the protocol inside."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "a.toml").write_text('[[rule]]\ndomain = "127.0.0.1"\naction = "bypass"\n', encoding="utf-8")
    settings = f'[proxy]\nrequest_timeout_s = 1.0\n[rules]\nfolder = "{rules}"\n'
    with socket.create_server(("127.0.0.1", 0)) as server:
        running = start_linkmend(settings=settings)
        with tunnel_to(running, server.getsockname()[1]) as client:
            client.sendall(b"hello")
            there, _ = server.accept()
            with there:
                assert there.recv(5) == b"hello"
                time.sleep(2)  # past the limit for requests
                there.sendall(b"good day")
                assert client.recv(8) == b"good day"


def test_one_address_cannot_take_every_connection(origin, start_linkmend):
    origin.pages["/page"] = reply("hello", Cache_Control="no-store")
    running = start_linkmend(settings="[proxy]\nconnections_per_client = 20\n")
    crowd = [half_a_request(running) for _ in range(40)]
    eventually(lambda: sum(map(is_closed, crowd)) == 20, "twenty too many are still there")
    other = Client(running.url, source="127.0.0.2")
    assert other.open_page(origin.url + "/page").status == 200
    for client in crowd:
        client.close()
    mine = Client(running.url)
    assert eventually(lambda: _answers(mine, origin.url + "/page"), "still refused")
    assert running.output.count("connection limit: client refused") == 1


def _answers(client, url):
    try:
        return client.open_page(url).status == 200
    except OSError:
        return False


def test_low_file_limit_leaves_connections_for_other_clients(origin, tmp_path):
    """A hard limit of its own, by way of a shell: ours cannot be raised again."""
    origin.pages["/page"] = reply("hello", Cache_Control="no-store")
    port = free_port()
    serve = f"exec {sys.executable} -m proxy.main serve --data {tmp_path / 'data'} --listen 127.0.0.1:{port}"
    running = Running(["sh", "-c", f"ulimit -n 300; {serve}"])
    running.port = port
    try:
        running.wait_for_line("linkmend ready on ")
        running.wait_for_line("open-file limit: 300")
        crowd = [half_a_request(running) for _ in range(400)]
        other = Client(f"http://127.0.0.1:{port}", source="127.0.0.2")
        assert other.open_page(origin.url + "/page").status == 200
        for client in crowd:
            client.close()
    finally:
        running.stop()
    assert "Traceback" not in running.output
    assert len(running.output.splitlines()) < 20


def test_damaged_ca_is_reported_in_one_line(start_linkmend):
    running = start_linkmend()
    running.stop()
    key = running.data / "ca" / "mitmproxy-ca.pem"
    for damage in (b"", b"\x00\xff" * 1000, key.read_bytes()[:500]):
        key.write_bytes(damage)
        done = linkmend("serve", "--data", running.data, "--listen", f"127.0.0.1:{free_port()}")
        assert done.returncode == 1
        *log, reason = done.stderr.splitlines()
        assert reason.startswith(f"linkmend: {key}: no valid CA certificate and key")
        assert not any("Traceback" in line for line in log)
        assert "ready" not in done.stdout


def test_reload_to_an_unusable_listen_address_changes_nothing(origin, tmp_path):
    origin.pages["/page"] = reply("<title>hello</title>", Cache_Control="no-store")
    config, port = tmp_path / "linkmend.toml", free_port()
    config.write_text(f'[proxy]\nlisten = "127.0.0.1:{port}"\n', encoding="utf-8")
    running = Running(
        [sys.executable, "-m", "proxy.main", "serve", "--config", config, "--data", tmp_path / "data"]
    )
    try:
        running.wait_for_line("linkmend ready on ")
        changed = f'[proxy]\nlisten = "127.0.0.1:{origin.port}"\noffline = true\n'  # a port that is taken
        config.write_text(changed, encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        line = running.wait_for_line("settings not reloaded")
        assert f"cannot listen on 127.0.0.1:{origin.port}: [Errno 98]" in line
        assert Client(f"http://127.0.0.1:{port}").open_page(origin.url + "/page").status == 200
        assert "settings reloaded" not in running.output

        config.write_text(f'[proxy]\nlisten = "127.0.0.1:{port}"\noffline = true\n', encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for_line("settings reloaded")
        assert Client(f"http://127.0.0.1:{port}").open_page(origin.url + "/page").miss == "offline"
    finally:
        assert running.stop() == 0
    assert "Traceback" not in running.output


SLOW_NAMES = """
import socket, sys, time
ask = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if isinstance(name, str) and name.endswith(".slow.example"):
        time.sleep(6)
        raise socket.gaierror(-3, "Temporary failure in name resolution")
    return ask("127.0.0.1" if name == "quick.example" else host, *rest, **more)
socket.getaddrinfo = getaddrinfo
from proxy.main import run
run()
"""


def test_slow_dns_lookups_delay_no_other_requests(origin, tmp_path):
    origin.pages["/page"] = reply("<title>hello</title>", Cache_Control="no-store")
    port = free_port()
    running = Running(
        [
            *(sys.executable, "-c", SLOW_NAMES, "serve"),
            *("--data", tmp_path / "data", "--listen", f"127.0.0.1:{port}"),
        ]
    )
    try:
        running.wait_for_line("linkmend ready on ")
        crowd = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(150)]
        for number, client in enumerate(crowd):
            client.sendall(f"GET http://h{number}.slow.example/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        time.sleep(0.5)
        began = time.monotonic()
        answer = Client(f"http://127.0.0.1:{port}").open_page(f"http://quick.example:{origin.port}/page")
        assert answer.status == 200
        assert time.monotonic() - began < 3
        for client in crowd:
            client.close()
    finally:
        running.stop()


def test_shutdown_does_not_wait_for_a_client_gone_during_the_origin_handshake(start_linkmend):
    """The origin accepts connections and sends nothing; a stop must not wait for responses that nobody reads."""
    running: Linkmend = start_linkmend()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/page"
        with pytest.raises(TimeoutError):
            Client(running.url, running.ca).get(url, timeout_s=1.0)
        time.sleep(4)  # a request whose client has left is carried on for two seconds, and no longer
        running.process.send_signal(signal.SIGTERM)
        running.wait_for_line("stopping: 0 responses in flight")


def test_an_endless_body_of_a_get_is_refused_before_it_fills_the_memory(origin, start_linkmend):
    running = start_linkmend()
    before = running.peak_memory()
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as client:
        host = f"127.0.0.1:{origin.port}"
        head = f"GET http://{host}/page HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.sendall(head.encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(3200):  # 200 MB, of which little is taken
                client.sendall(chunk)
        with contextlib.suppress(ConnectionError):
            assert b" 413 " in client.recv(100)
    assert not origin.asked
    assert running.peak_memory() - before < 100 * 1024 * 1024


def test_raw_tunnel_uses_bounded_memory_and_closes_cleanly_on_stop(start_linkmend):
    running = start_linkmend()
    with (
        socket.create_server(("127.0.0.1", 0)) as sink,
        socket.create_connection(("127.0.0.1", running.port)) as client,
    ):
        place = f"127.0.0.1:{sink.getsockname()[1]}"
        client.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(b"\x00 no page at all")
        taken, _ = sink.accept()
        eater = threading.Thread(target=lambda: all(iter(lambda: taken.recv(MEGABYTE), b"")), daemon=True)
        eater.start()
        before = running.peak_memory()
        for _ in range(100):
            client.sendall(os.urandom(MEGABYTE))
        assert running.peak_memory() - before < 40 * MEGABYTE
        assert running.stop() == 0
        assert "Traceback" not in running.output
        taken.close()


def test_raw_tunnel_to_a_blocked_host_is_refused(start_linkmend, tmp_path):
    (tmp_path / "data" / "rules.d").mkdir(parents=True)
    rule = '[[rule]]\ndomain = "127.0.0.1"\naction = "block"\n'
    (tmp_path / "data" / "rules.d" / "10.toml").write_text(rule, encoding="utf-8")
    running = start_linkmend()
    with (
        socket.create_server(("127.0.0.1", 0)) as sink,
        socket.create_connection(("127.0.0.1", running.port)) as client,
    ):
        place = f"127.0.0.1:{sink.getsockname()[1]}"
        client.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(b"\x00 no page at all")
        client.settimeout(10)
        assert client.recv(1000) == b""
