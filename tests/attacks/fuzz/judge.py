"""Sends hostile requests through a real linkmend and judges what others get afterwards.

Two judgements. *Nobody is poisoned*: whatever an attacker sent, another user who asks for the same pages gets what
the site says to an ordinary request. *Both paths agree*: a request for a page in the store gets the same answer in
one piece, which the fast path may take, and in two, which it never takes.
"""

import contextlib
import itertools
import re
import socket
import zlib
from dataclasses import dataclass, field
from uuid import uuid4

from tests.attacks.fuzz.origin import SMUGGLED, CarelessOrigin, expected_body
from tests.attacks.fuzz.requests import MARK, HostileRequest
from tests.integration.processes import Linkmend

_ATTACKER, _VICTIM = "127.0.1.66", "127.0.2.77"
_SILENCE_S = 0.15
_CHANGING = re.compile(rb"(?im)^(?:age|date|cache-status|expires): .*\r\n")
_ORDINARY = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
    "Accept: */*",
    "Accept-Encoding: gzip, deflate, br",
    "Accept-Language: en",
)


class Complaint(AssertionError):
    """Somebody got what they must not get."""

    def __init__(self, what: str, *, sent: bytes, got: bytes) -> None:
        super().__init__(f"{what}\nsent: {sent!r}\ngot:  {got!r}")


@dataclass(slots=True)
class Judge:
    """One linkmend between one careless origin and those who ask; `counts` says what was tried."""

    running: Linkmend
    origin: CarelessOrigin
    counts: dict[str, int] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _log_read: int = 0
    _run: str = field(default_factory=lambda: uuid4().hex[:6])

    def judge_poisoning(self, request: HostileRequest) -> None:
        """Raises Complaint when a user is given what another one's request made of a page."""
        data, paths = request.for_site(self.origin.authority, self._fresh())
        pieces = (data[: request.cut_at], data[request.cut_at :]) if request.cut_at else (data,)
        answered = self._send(pieces, _ATTACKER, tunnel=request.tunnel)
        self._count("attacks", "attacks answered" if answered else "attacks refused without a word")
        for path in paths:
            # A fragment is no part of what is asked for.
            self._judge_victim(path.partition("#")[0], data)

    def judge_agreement(self, request: HostileRequest) -> None:
        """Raises Complaint when the fast and the slow path answer one request differently."""
        data, paths = request.for_site(self.origin.authority, self._fresh())
        for path in paths:
            self._judge_victim(path.partition("#")[0], b"")
        for patience_s in (_SILENCE_S, 1.0, 5.0):  # what differs because the machine is busy is no finding
            whole = self._send((data,), _VICTIM, timeout_s=patience_s)
            parted = self._send(
                (data[: request.cut_at], data[request.cut_at :]), _VICTIM, timeout_s=patience_s
            )
            if _lasting(whole) == _lasting(parted):
                break
        else:
            raise Complaint("the fast path differs", sent=data, got=whole + b"\n--- slow ---\n" + parted)
        self._count(
            "comparisons", "comparisons with a hit" if b"linkmend;hit" in whole else "comparisons without"
        )

    def judge_log(self) -> None:
        """Raises Complaint when linkmend ended, or failed inside since it was last asked."""
        log, self._log_read = self.running.output[self._log_read :], len(self.running.output)
        if self.running.process.poll() is not None or "Traceback" in log:
            raise Complaint("linkmend failed", sent=b"", got=log[log.find("Traceback") :][:9000].encode())

    def _judge_victim(self, path: str, attack: bytes) -> None:
        lines = (
            f"GET http://{self.origin.authority}{path} HTTP/1.1",
            f"Host: {self.origin.authority}",
            *_ORDINARY,
        )
        asked = "\r\n".join((*lines, "Connection: close", "", "")).encode("latin-1")
        got = self._send((asked,), _VICTIM, timeout_s=10)
        self._count("pages asked for by others")
        head, _, body = got.partition(b"\r\n\r\n")
        if b"ontent-encoding: gzip" in head.lower():
            with contextlib.suppress(zlib.error):
                body = zlib.decompress(_unchunked(head, body), 31)
        bad = MARK.encode() in got or SMUGGLED in got or expected_body(path) not in body
        if bad or b"default site" in body or not head.startswith(b"HTTP/1.1 "):
            raise Complaint(f"another user got a wrong page for {path}", sent=attack, got=got)

    def _send(
        self, pieces: tuple[bytes, ...], source: str, *, tunnel: bool = False, timeout_s: float = _SILENCE_S
    ) -> bytes:
        address = ("127.0.0.1", self.running.port)
        with socket.create_connection(address, timeout=10, source_address=(source, 0)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tunnel:
                connection.sendall(f"CONNECT {self.origin.authority} HTTP/1.1\r\n\r\n".encode())
                connection.recv(65536)
            got = b""
            connection.settimeout(timeout_s)
            with contextlib.suppress(OSError):
                for piece in pieces:
                    connection.sendall(piece)
                while piece := connection.recv(65536):
                    got += piece
                    if _is_whole(got, pieces[0]):
                        connection.settimeout(0.005 if len(pieces) > 1 or timeout_s < 10 else timeout_s)
            return got

    def _fresh(self) -> str:
        return f"{self._run}{next(self._numbers)}"

    def _count(self, *names: str) -> None:
        for name in names:
            self.counts[name] = self.counts.get(name, 0) + 1


def _is_whole(got: bytes, asked: bytes) -> bool:
    head, end, body = got.partition(b"\r\n\r\n")
    if end and asked.startswith(b"HEAD"):
        return True
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def _lasting(answer: bytes) -> bytes:
    return _CHANGING.sub(b"", answer)


def _unchunked(head: bytes, body: bytes) -> bytes:
    if b"chunked" not in head.lower():
        return body
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        whole, body = whole + body[:length], body[length + 2 :]
    return whole
