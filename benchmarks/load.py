"""A load generator: sends requests through a proxy, over http or https, and measures the latency of the answers.

It runs as a process of its own (`measure_load`, or `begin` and `collect`), so that it costs the measured programs
nothing; several loads can share one process. Every answer is checked: its status, its length, and words in its head
or body that prove that it was answered in the intended way.
"""

import asyncio
import functools
import json
import socket
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from benchmarks.processes import ROOT, first_in_line

_FIELDS = (
    # What a browser sends when a person opens a page.
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
)
_CONNECTED_S = 20.0
_LAST_ANSWERS_S = 10.0
_WRITTEN_OUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to request, from which server and how. Paths are used in turn; `{n}` becomes salt and number."""

    port: int
    site: str
    """Host and port of the origin; asked there itself if `port` is the origin's own."""
    paths: Sequence[str]
    referers: Sequence[str] = ()
    """The page each path was found on; none for no such field."""
    salt: str = ""
    https: bool = False
    status: int = 200
    says: str = ""
    """What the answer's head must hold."""
    shows: str = ""
    """What its body should hold; those that do are counted, the others are no errors."""
    connections: int = 16
    clients: int = 1
    """Addresses of loopback that the connections come from, in turn."""
    renewed: bool = False
    """A connection of its own for each request; the time it takes to open counts as well."""
    every_s: float = 0.0
    """How often each connection asks; 0 for as soon as it has the last answer."""
    together: bool = False
    """Paced connections ask at the same moments, halfway in between, rather than spread over the time."""
    seconds: float = 3.0
    warm_up_s: float = 0.3
    requests: int | None = None
    """Stop after so many; None: when the time is over."""

    @property
    def is_direct(self) -> bool:
        return self.site.endswith(f":{self.port}")


@dataclass(slots=True, kw_only=True)
class Measured:
    """Results. `asked` counts all requests; `in_time` and `latencies_ms` are of answers after the warm-up."""

    asked: int = 0
    in_time: int = 0
    seconds: float = 0.0
    shown: int = 0
    latencies_ms: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.in_time / self.seconds if self.seconds else 0.0


def measure_load(load: Load) -> Measured:
    """Run one load in another process, on the cores this one may use; bounded in time."""
    return collect(begin(load), load)[0]


def begin(*loads: Load) -> subprocess.Popen[bytes]:
    """Start loads together in one process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(json.dumps([asdict(load) for load in loads]).encode())
    process.stdin.close()
    process.stdin = None
    return process


def collect(process: subprocess.Popen[bytes], *loads: Load) -> list[Measured]:
    """Wait for a process that was begun with these loads; its results."""
    around_s = _CONNECTED_S + _LAST_ANSWERS_S + _WRITTEN_OUT_S
    limit_s = max(load.seconds + load.warm_up_s for load in loads) + around_s
    try:
        told, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    if process.returncode:
        raise SystemExit("a load failed")
    return [Measured(**each) for each in json.loads(told)]


def head_of(load: Load, number: int = 0) -> str:
    """The request head for the path of that number."""
    path = load.paths[number % len(load.paths)]
    target = path if load.is_direct or load.https else f"http://{load.site}{path}"
    referer = f"Referer: {load.referers[number % len(load.referers)]}\r\n" if load.referers else ""
    # A body that is checked must not be compressed.
    fields = _FIELDS.replace("gzip, deflate", "identity") if load.shows else _FIELDS
    return f"GET {target} HTTP/1.1\r\nHost: {load.site}\r\n{fields}{referer}\r\n"


class _Run:
    """The state that all connections of a load share."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.begun_at = time.perf_counter()
        self.begun = self.connected = 0
        # Kept connections count once all of them are open.
        self._is_to_connect = not load.renewed and load.requests is None
        self._count_from(self.begun_at + (_CONNECTED_S if self._is_to_connect else 0.0))
        self.told = Measured()
        self.errors: Counter[str] = Counter()
        self._says, self.shows = load.says.lower().encode(), load.shows.encode()
        self._head = head_of(load)

    def has_connected(self) -> None:
        self.connected += 1
        if self._is_to_connect and self.connected == self.load.connections:
            self._count_from(time.perf_counter())

    def _count_from(self, moment: float) -> None:
        self.counted_from = moment + self.load.warm_up_s
        self.until = self.counted_from + self.load.seconds

    @property
    def over(self) -> bool:
        limit = self.load.requests
        return time.perf_counter() >= self.until or (limit is not None and self.told.asked >= limit)

    def next_request(self) -> bytes:
        load, number = self.load, self.told.asked
        self.told.asked += 1
        if len(load.paths) == 1 and not load.referers:
            return self._head.replace("{n}", f"{load.salt}{number}").encode()
        return head_of(load, number).replace("{n}", f"{load.salt}{number}").encode()

    def note(self, asked_at: float, head: bytes, *, extra_bytes: int, shown: bool) -> None:
        """Count an answer, right or wrong."""
        now = time.perf_counter()
        problem = "too long" if extra_bytes else self._problem(head)
        if problem:
            self.errors[problem] += 1
        elif asked_at >= self.counted_from:
            self.told.latencies_ms.append(round((now - asked_at) * 1000, 4))
            self.told.shown += shown
        if self.counted_from <= now < self.until and not problem:
            self.told.in_time += 1

    def _problem(self, head: bytes) -> str:
        status = head[9:12].decode("latin-1")
        if status != str(self.load.status):
            return f"status {status}"
        return "" if self._says in head.lower() else f"without {self.load.says!r}"


class _Connection(asyncio.Protocol):
    """Sends one request at a time; the next as soon as an answer is complete, or at its scheduled time."""

    def __init__(self, run: _Run, *, first_at: float, begun_at: float | None) -> None:
        """`begun_at` is when connecting began, if that counts."""
        self._run, self._load = run, run.load
        self._due_at = first_at
        self._begun_at = begun_at
        self._head = b""
        self._missing: int | None = None
        self._body: list[bytes] = []
        self._waiting = False
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask_when_due()

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting:
            self._run.errors["closed"] += 1
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._missing is not None:
            self._missing -= len(data)
            if self._run.shows:
                self._body.append(data)
        else:
            self._head += data
            self._read_head()
        if self._missing is not None and self._missing <= 0:
            self._waiting = False
            shown = bool(self._run.shows) and self._run.shows in b"".join(self._body)
            self._run.note(self._asked_at, self._head, extra_bytes=-self._missing, shown=shown)
            if self._load.renewed:
                self._transport.close()
            else:
                self._ask_when_due()

    def _ask_when_due(self) -> None:
        if self._load.every_s:
            wait_s = self._due_at - time.perf_counter()
            self._due_at = max(self._due_at, time.perf_counter()) + self._load.every_s
            if wait_s > 0:
                asyncio.get_running_loop().call_later(wait_s, self._ask)
                return
        self._ask()

    def _ask(self) -> None:
        if self._run.over:
            self._transport.close()
            return
        self._head, self._missing, self._waiting = b"", None, True
        self._body.clear()
        self._asked_at = time.perf_counter() if self._begun_at is None else self._begun_at
        self._transport.write(self._run.next_request())

    def _read_head(self) -> None:
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            return
        body = self._head[end + 4 :]
        self._head = self._head[: end + 2]
        length = self._head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0].strip()
        if not length.isdigit():
            self._run.errors["no length"] += 1
            self._waiting = False
            self._transport.abort()
            return
        self._missing = int(length) - len(body)
        if self._run.shows:
            self._body.append(body)


async def _keep_asking(run: _Run, number: int) -> None:
    """Use one connection, or one after the other."""
    load = run.load
    offset_s = load.every_s * (0.5 if load.together else number / load.connections)
    due_at = run.begun_at + offset_s
    while not run.over:
        begun_at = time.perf_counter()

        def connection(due_at: float = due_at, begun_at: float = begun_at) -> _Connection:
            return _Connection(run, first_at=due_at, begun_at=begun_at if load.renewed else None)

        try:
            asking = await _connect(run, connection)
        except OSError as error:
            run.errors[f"no connection: {type(error).__name__}"] += 1
            await asyncio.sleep(0.1)
            continue
        await asyncio.wait([asking.closed], timeout=run.until + _LAST_ANSWERS_S - time.perf_counter())
        if not asking.closed.done():
            run.errors["no answer"] += 1
            return
        due_at = time.perf_counter()


async def _connect(run: _Run, connection: Callable[[], _Connection]) -> _Connection:
    loop, load = asyncio.get_running_loop(), run.load
    client = run.begun % load.clients
    run.begun += 1
    plain = socket.socket()
    plain.setblocking(False)
    try:
        # Else the kernel chooses the port before connecting, and needs one that is unused with any server.
        plain.setsockopt(socket.IPPROTO_IP, socket.IP_BIND_ADDRESS_NO_PORT, 1)
        plain.bind((f"127.0.{1 + client // 250}.{1 + client % 250}", 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await loop.sock_connect(plain, ("127.0.0.1", load.port))
        if load.https and not load.is_direct:
            await loop.sock_sendall(
                plain, f"CONNECT {load.site} HTTP/1.1\r\nHost: {load.site}\r\n\r\n".encode()
            )
            answer = await loop.sock_recv(plain, 4096)
            if b" 200 " not in answer.partition(b"\r\n")[0]:
                raise ConnectionError("no tunnel")
        context = context_of_a_client() if load.https else None
        name = load.site.partition(":")[0] if load.https else None
        _, asking = await loop.create_connection(connection, sock=plain, ssl=context, server_hostname=name)
        run.has_connected()
    except BaseException:
        plain.close()
        raise
    return asking


@functools.cache
def context_of_a_client() -> ssl.SSLContext:
    """A TLS context for all connections. It verifies nothing: the client is not what is measured."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def _run_load(load: Load) -> Measured:
    run = _Run(load)
    await asyncio.gather(*(_keep_asking(run, number) for number in range(load.connections)))
    run.told.seconds = min(time.perf_counter(), run.until) - run.counted_from
    run.told.errors = dict(run.errors)
    if load.requests is not None and run.told.asked < load.requests:
        run.told.errors["not finished in time"] = 1
    return run.told


async def _run_loads(loads: Sequence[Load]) -> list[Measured]:
    return list(await asyncio.gather(*map(_run_load, loads)))


if __name__ == "__main__":
    first_in_line()
    asked = [Load(**each) for each in json.load(sys.stdin)]
    json.dump([asdict(each) for each in asyncio.run(_run_loads(asked))], sys.stdout)
