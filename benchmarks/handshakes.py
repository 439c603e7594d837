"""Opens TLS connections through a proxy without sending requests, to measure what a handshake costs.

Runs as a process of its own, like load.py. A connection is to a known site, to a new one (a new name each time), or
resumed with the ticket of the last.
"""

import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict

from benchmarks.load import Load, Measured, context_of_a_client
from benchmarks.processes import ROOT, first_in_line

SEEN, UNSEEN, RESUMED = "a site seen before", "a site never seen", "resumed"
_AT_ONCE = 4


def measure_handshakes(load: Load, kind: str) -> Measured:
    """Measure in another process, on the cores this one may use; bounded in time. Only resumption sends a request."""
    command = [sys.executable, "-m", "benchmarks.handshakes", kind, json.dumps(asdict(load))]
    ended = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, timeout=load.warm_up_s + load.seconds + 60, check=True
    )
    return Measured(**json.loads(ended.stdout))


class _Run:
    """One measurement by several threads; each has its own ticket."""

    def __init__(self, load: Load, kind: str) -> None:
        self._load, self._kind = load, kind
        self._context = context_of_a_client()
        self._counted_from = time.perf_counter() + load.warm_up_s
        self._until = self._counted_from + load.seconds
        self._lock = threading.Lock()
        self._errors: Counter[str] = Counter()
        self._result = Measured(seconds=load.seconds)

    def measure(self) -> Measured:
        threads = [threading.Thread(target=self._keep_connecting, args=(n,)) for n in range(_AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._result.errors = dict(self._errors)
        return self._result

    def _keep_connecting(self, number: int) -> None:
        load, session, count = self._load, None, 0
        while (began_at := time.perf_counter()) < self._until:
            count += 1
            name = f"{load.salt}{number}-{count}.test" if self._kind == UNSEEN else "localhost"
            problem = ""
            try:
                with (
                    self._tunnel() as plain,
                    self._context.wrap_socket(plain, server_hostname=name, session=session) as secured,
                ):
                    if self._kind == RESUMED and session is None:
                        session = self._ticket(secured)
                    elif self._kind == RESUMED and not secured.session_reused:
                        problem = "not resumed"
            except OSError as error:
                problem = type(error).__name__
            self._note(began_at, problem)

    def _tunnel(self) -> socket.socket:
        site = self._load.site
        plain = socket.create_connection(("127.0.0.1", self._load.port), timeout=20)
        plain.sendall(f"CONNECT {site} HTTP/1.1\r\nHost: {site}\r\n\r\n".encode())
        plain.recv(65_536)
        return plain

    def _ticket(self, secured: ssl.SSLSocket) -> ssl.SSLSession | None:
        """The session ticket. In TLS 1.3 it follows the handshake: it is there after the first read."""
        secured.sendall(f"GET {self._load.paths[0]} HTTP/1.1\r\nHost: {self._load.site}\r\n\r\n".encode())
        secured.recv(1)
        return secured.session

    def _note(self, began_at: float, problem: str) -> None:
        now = time.perf_counter()
        with self._lock:
            self._result.asked += 1
            if problem:
                self._errors[problem] += 1
            elif began_at >= self._counted_from:
                self._result.latencies_ms.append(round((now - began_at) * 1000, 4))
            if self._counted_from <= now < self._until and not problem:
                self._result.in_time += 1


if __name__ == "__main__":
    first_in_line()
    run = _Run(Load(**json.loads(sys.argv[2])), sys.argv[1])
    json.dump(asdict(run.measure()), sys.stdout)
