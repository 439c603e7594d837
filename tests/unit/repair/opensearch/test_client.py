import contextlib
import json
import socketserver
import threading
import time

import pytest

from repair.opensearch.client import OpenSearchClient, SearchUnavailable


@contextlib.contextmanager
def node(answer):
    """Something on loopback that takes a request and answers by `answer(socket)`; counts its connections."""
    asked = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            asked.append(self.request.recv(65536))
            with contextlib.suppress(OSError):
                answer(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


def reply(body, *, status="200 OK"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode()
    return lambda socket: socket.sendall(head + data)


def drip(socket):
    socket.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        time.sleep(0.05)
        socket.sendall(b"x")


def test_another_node_answers_for_one_that_is_down():
    with node(reply({"took": 1})) as (url, _):
        client = OpenSearchClient(["http://127.0.0.1:1", url])
        for _ in range(3):
            assert client.ask("GET", "/", within_s=5) == {"took": 1}
        assert not client.is_resting()


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"<html>not JSON</html>"),
        reply([1]),
        reply({}, status="503 Unavailable"),
        reply(b"[" * 100_000),
        lambda socket: socket.sendall(b"\x00\xff garbage\r\n\r\n"),
        lambda socket: None,
        drip,
    ],
    ids=["HTML", "a list", "503", "nested", "bytes", "nothing", "a byte now and then"],
)
def test_a_node_that_answers_garbage_is_left_alone_for_a_while(answer):
    with node(answer) as (url, asked):
        client = OpenSearchClient([url])
        with pytest.raises(SearchUnavailable):
            client.ask("GET", "/", within_s=1.0)
        assert client.is_resting()
        with pytest.raises(SearchUnavailable, match="a moment ago"):
            client.ask("GET", "/", within_s=1.0)
        assert len(asked) == 1


def test_a_node_is_asked_again_when_it_has_rested():
    now = [100.0]
    with node(reply({}, status="503 Unavailable")) as (url, asked):
        client = OpenSearchClient([url], clock=lambda: now[0])
        for step in (0.0, 6.0, 1.0):
            now[0] += step
            with pytest.raises(SearchUnavailable):
                client.ask("GET", "/", within_s=5)
    assert len(asked) == 2


def test_an_answer_without_an_end_is_cut(monkeypatch):
    monkeypatch.setattr("repair.opensearch.client._MAX_BYTES", 1000)
    with (
        node(reply(b'{"a":"' + b"x" * 5000 + b'"}')) as (url, _),
        pytest.raises(SearchUnavailable, match="too long"),
    ):
        OpenSearchClient([url]).ask("GET", "/", within_s=5)


def test_a_wrong_question_does_not_put_a_node_to_rest():
    with node(reply({"error": "no such index"}, status="404 Not Found")) as (url, _):
        client = OpenSearchClient([url])
        with pytest.raises(SearchUnavailable, match="404"):
            client.ask("GET", "/", within_s=5)
        assert not client.is_resting()
        assert client.ask("GET", "/", within_s=5, allowed=(404,))["error"]


def test_the_password_is_sent_and_never_told():
    with node(reply(b"no")) as (url, asked):
        client = OpenSearchClient([url], user="school", password="s3cret-word")
        with pytest.raises(SearchUnavailable) as caught:
            client.ask("GET", "/", within_s=5)
        assert b"Authorization: Basic c2Nob29sOnMzY3JldC13b3Jk" in asked[0]
        assert "s3cret" not in str(caught.value)


def test_a_question_on_a_used_connection_is_not_asked_again_when_its_time_is_up():
    def answer_once(socket):
        socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        socket.recv(65536)
        while True:  # never an answer, and never silent for as long as the socket waits
            time.sleep(0.02)
            socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    with node(answer_once) as (url, asked):
        client = OpenSearchClient([url])
        assert client.ask("GET", "/", within_s=30) == {}
        with pytest.raises(SearchUnavailable):
            client.ask("GET", "/", within_s=0.3)
        assert len(asked) == 1
