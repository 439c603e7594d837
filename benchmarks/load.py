"""Asks for a URL again and again over a few kept-alive connections, and tells how quickly the answers came.

Run as a process of its own (`measured`), so that asking costs the programs that answer nothing. Every answer is
checked: its status, its length, and what its head must say to be what we believe we measure.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

FIELDS = (
    # What a browser sends when a person opens a page.
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to ask for. `{n}` in `target` becomes the request's number; `says` must occur in the answer's head."""

    port: int
    host: str
    target: str
    status: int = 200
    says: str = ""
    connections: int = 16
    seconds: float = 3.0
    warm_up_s: float = 0.5
    requests: int | None = None
    """Stop after so many; None: when the time is over."""


@dataclass(slots=True, kw_only=True)
class Measured:
    """What came of it; latencies are those after the warm-up, `asked` counts the warm-up's requests too."""

    asked: int = 0
    seconds: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / self.seconds if self.seconds else 0.0


def measured(load: Load) -> Measured:
    """Run a load in another process, on the cores this one may use; bounded in time."""
    command = [sys.executable, __file__, json.dumps(asdict(load))]
    limit_s = load.seconds + load.warm_up_s + 30
    ended = subprocess.run(command, capture_output=True, timeout=limit_s, check=True)
    return Measured(**json.loads(ended.stdout))


class _Run:
    """The state that all connections share."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.counted_from = time.perf_counter() + load.warm_up_s
        self.asked = 0
        self.latencies_ms: list[float] = []
        self.errors: Counter[str] = Counter()
        self.over = asyncio.Event()

    def next_request(self) -> bytes:
        self.asked += 1
        target = self.load.target.replace("{n}", str(self.asked))
        return f"GET {target} HTTP/1.1\r\nHost: {self.load.host}\r\n{FIELDS}".encode()

    def note(self, asked_at: float, problem: str) -> None:
        """One answer has come, right or wrong."""
        now = time.perf_counter()
        if problem:
            self.errors[problem] += 1
        elif now >= self.counted_from:
            self.latencies_ms.append((now - asked_at) * 1000)
        if self.load.requests is not None and self.asked >= self.load.requests:
            self.over.set()

    def problem(self, head: bytes) -> str:
        status = head[9:12].decode("latin-1")
        if status != str(self.load.status):
            return f"status {status}"
        return "" if self.load.says.encode() in head else f"without {self.load.says!r}"


class _Connection(asyncio.Protocol):
    """One request at a time; the next as soon as an answer is whole."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._head = b""
        self._missing: int | None = None
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set()

    def data_received(self, data: bytes) -> None:
        if self._missing is not None:
            self._missing -= len(data)
        else:
            self._head += data
            self._read_head()
        if self._missing is not None and self._missing <= 0:
            problem = "too long" if self._missing < 0 else self._run.problem(self._head)
            self._run.note(self._asked_at, problem)
            if not self._run.over.is_set():
                self._ask()

    def _ask(self) -> None:
        self._head, self._missing = b"", None
        self._asked_at = time.perf_counter()
        self._transport.write(self._run.next_request())

    def _read_head(self) -> None:
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            return
        body_bytes = len(self._head) - end - 4
        self._head = self._head[: end + 2]
        _, _, rest = self._head.lower().partition(b"\r\ncontent-length:")
        length = rest.partition(b"\r\n")[0].strip()
        if not length.isdigit():
            self._run.errors["no length"] += 1
            self._transport.abort()
            return
        self._missing = int(length) - body_bytes


async def _keep_asking(run: _Run) -> None:
    loop = asyncio.get_running_loop()
    while not run.over.is_set():
        try:
            transport, connection = await loop.create_connection(
                lambda: _Connection(run), "127.0.0.1", run.load.port
            )
        except OSError:
            run.errors["no connection"] += 1
            await asyncio.sleep(0.1)
            continue
        await asyncio.wait(
            [asyncio.create_task(run.over.wait()), asyncio.create_task(connection.closed.wait())],
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not run.over.is_set():
            run.errors["closed"] += 1
        transport.abort()


async def _carry_out(load: Load) -> Measured:
    run = _Run(load)
    loop = asyncio.get_running_loop()
    loop.call_later(load.seconds + load.warm_up_s, run.over.set)
    await asyncio.gather(*(_keep_asking(run) for _ in range(load.connections)))
    seconds = time.perf_counter() - run.counted_from
    if load.requests is not None and len(run.latencies_ms) < load.requests:
        run.errors["not finished in time"] += 1
    return Measured(asked=run.asked, seconds=seconds, latencies_ms=run.latencies_ms, errors=dict(run.errors))


if __name__ == "__main__":
    json.dump(asdict(asyncio.run(_carry_out(Load(**json.loads(sys.argv[1]))))), sys.stdout)
