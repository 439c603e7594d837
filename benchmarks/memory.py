"""Memory of linkmend's processes at the start, after ten thousand and a million requests, and with large bodies.

    python -m benchmarks.memory [--requests N,N,...] [--workers N] [--json]

The requests are for stored pages, for pages under new addresses, for pages visited for the first time and soon again,
and for dead links; part of them over new connections, all from two hundred addresses. They come in portions, all
kinds at once, with new connections in each. Bounded memories should be full after the first ten thousand, so these
have more new addresses (FIRST below) than the rest (LATER), and linkmend has 16 MB for responses in memory, not 64.

Before that, a fresh linkmend forwards 300 MB without storing, then with storing, then serves them from the store. The
origin sends them at the speed of a gigabit line.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from benchmarks.figures import format_errors, markdown
from benchmarks.load import Load, begin, collect, measure_load
from benchmarks.origin import CACHEABLE, LARGE_CACHEABLE, LARGE_PASSING, PASSING
from benchmarks.processes import Program, demo, linkmend, origin, scratch

_SETTINGS = f"[cache]\nmemory_bytes = {16 * 1024**2}\n"
_STORED = 700
"""Pages of 20 KB that come from memory: 14 of its 16 MB."""
_CLIENTS = 200
_FIRST_PORTION, _PORTION = 2_500, 50_000
_PORTION_AT_MOST_S = 900.0
_LARGE_AT_MOST_S = 120.0
_LARGE_ATTEMPTS = 3
"""A disk that others keep busy may not keep up, and linkmend then rather does without storing than wait for it."""
_SYNCED_WITHIN_S = 3.0
"""The reader has all of a large body before the disk has, and only then is it stored."""

HIT, HIT_NEW = "stored pages", "stored pages, new connections"
PASS, PASS_NEW = "passed on, new addresses", "passed on, new addresses and connections"
VISIT, AGAIN, REPAIR = "first visits", "second visits", "repair pages"
FIRST = {HIT: 0.70, HIT_NEW: 0.02, PASS: 0.06, PASS_NEW: 0.02, VISIT: 0.08, AGAIN: 0.08, REPAIR: 0.04}
LATER = {HIT: 0.92, HIT_NEW: 0.01, PASS: 0.05, PASS_NEW: 0.01, VISIT: 0.003, AGAIN: 0.003, REPAIR: 0.004}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Resident memory of each process after so many requests, and the number of each kind."""

    requests: int
    resident_mb: dict[str, float]
    asked: dict[str, int]
    errors: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """The memory that one large download took in the process where it grew most."""

    name: str
    process: str
    before_mb: float
    peak_mb: float
    seconds: float
    errors: dict[str, int]


def by_process(values: Sequence[float]) -> dict[str, float]:
    """Values by the role of linkmend's processes."""
    names = ["supervisor", "backend", *(f"worker {number}" for number in range(1, len(values) - 1))]
    return dict(zip(names, values, strict=True))


class Asking:
    """Sends one portion of requests after the other, and keeps track of them."""

    def __init__(self, proxy: Program, web: Program) -> None:
        self._proxy, self._web = proxy, web
        self._begun_at = time.monotonic()
        self._portions = self._visited = 0
        self._asked: dict[str, int] = {}
        self._errors: dict[str, int] = {}

    def store(self) -> None:
        """Request each page once that should be a hit later."""
        path = f"{CACHEABLE}stored-{{n}}.html"
        self._ask({VISIT: self._load(VISIT, _STORED, path, says=";stored", salt="")})

    def portion(self, count: int, mix: dict[str, float]) -> None:
        self._portions += 1
        parts = {kind: round(count * part) for kind, part in mix.items()}
        # Pages of the last portion; there are none before the second.
        parts[AGAIN] = min(parts[AGAIN], self._visited)
        self._ask({kind: self._load_of(kind, part) for kind, part in parts.items() if part})
        self._visited = parts[VISIT]

    @property
    def done(self) -> int:
        return sum(self._asked.values())

    def held(self) -> Held:
        self._proxy.come_to_rest()
        return Held(
            requests=self.done,
            resident_mb=by_process(self._proxy.memory_mb()),
            asked=dict(self._asked),
            errors=dict(self._errors),
            seconds=time.monotonic() - self._begun_at,
        )

    def _ask(self, loads: dict[str, Load]) -> None:
        for kind, told in zip(loads, collect(begin(*loads.values()), *loads.values()), strict=True):
            self._asked[kind] = self._asked.get(kind, 0) + told.asked
            for reason, count in told.errors.items():
                self._errors[f"{kind}: {reason}"] = self._errors.get(f"{kind}: {reason}", 0) + count

    def _load_of(self, kind: str, count: int) -> Load:
        salt = f"{self._portions}-"
        if kind in (HIT, HIT_NEW):
            paths = [f"{CACHEABLE}stored-{number}.html" for number in range(_STORED)]
            return self._load(kind, count, *paths, says="linkmend;hit", salt=salt)
        if kind in (PASS, PASS_NEW):
            return self._load(kind, count, f"{PASSING}{kind[-5:]}{{n}}.html", says="fwd=", salt=salt)
        if kind in (VISIT, AGAIN):
            says, salt = (";stored", salt) if kind == VISIT else ("linkmend;hit", f"{self._portions - 1}-")
            return self._load(kind, count, f"{CACHEABLE}{{n}}.html", says=says, salt=salt)
        says = "Linkmend-Miss: not_found"
        return self._load(kind, count, "/water-cycle-{n}.html", says=says, salt=salt, status=404)

    def _load(self, kind: str, count: int, *paths: str, says: str, salt: str, status: int = 200) -> Load:
        return Load(
            port=self._proxy.port, site=f"127.0.0.1:{self._web.port}", paths=paths, salt=salt, says=says,
            status=status, renewed=kind in (HIT_NEW, PASS_NEW), connections=8, clients=_CLIENTS,
            seconds=_PORTION_AT_MOST_S, warm_up_s=0.0, requests=count,
        )  # fmt: skip


def after_requests(proxy: Program, web: Program, marks: Sequence[int]) -> list[Held]:
    proxy.come_to_rest()
    asking = Asking(proxy, web)
    found = [asking.held()]
    asking.store()
    for mark in marks:
        most, mix = (_PORTION, LATER) if found[-1].requests else (_FIRST_PORTION, FIRST)
        while (missing := mark - asking.done) > 0:
            asking.portion(min(missing, most), mix)
        found.append(asking.held())
        print(f"{found[-1].requests} requests, {found[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    return found


def large_bodies(proxy: Program, web: Program) -> list[Large]:
    found = [_large_body("passed on", proxy, web, f"{LARGE_PASSING}a", "fwd=")]
    for attempt in range(_LARGE_ATTEMPTS):
        path = f"{LARGE_CACHEABLE}{attempt}"
        stored = _large_body("passed on and stored", proxy, web, path, ";stored")
        again = _large_body("from the store", proxy, web, path, "linkmend;hit")
        if not again.errors:
            break
    return [*found, stored, again]


def _large_body(name: str, proxy: Program, web: Program, path: str, says: str) -> Large:
    proxy.come_to_rest()
    proxy.forget_peak()
    before = by_process(proxy.memory_mb())
    load = Load(
        port=proxy.port, site=f"127.0.0.1:{web.port}", paths=(path,), says=says, connections=1,
        seconds=_LARGE_AT_MOST_S, warm_up_s=0.0, requests=1,
    )  # fmt: skip
    done = measure_load(load)
    time.sleep(_SYNCED_WITHIN_S)
    proxy.come_to_rest()
    peak = by_process(proxy.peak_mb())
    most = max(before, key=lambda process: peak[process] - before[process])
    return Large(
        name=name,
        process=most,
        before_mb=before[most],
        peak_mb=peak[most],
        seconds=sum(done.latencies_ms) / 1000,
        errors=done.errors,
    )


def tables(held: Sequence[Held], large: Sequence[Large]) -> str:
    resident = [
        (process, *(f"{each.resident_mb[process]:.1f} MB" for each in held))
        for process in held[0].resident_mb
    ]
    kinds = [(kind, *(str(each.asked.get(kind, 0)) for each in held)) for kind in LATER]
    errors = ("errors", *(format_errors(each.errors) for each in held))
    seconds = ("seconds", *(f"{each.seconds:.0f}" for each in held))
    bodies = [
        (
            each.name, each.process, f"{each.before_mb:.1f} MB", f"{each.peak_mb:.1f} MB",
            f"{each.peak_mb - each.before_mb:.1f} MB", f"{each.seconds:.1f}", format_errors(each.errors),
        )
        for each in large
    ]  # fmt: skip
    heads = ("resident, after requests", *(str(each.requests) for each in held))
    return "\n\n".join(
        (
            markdown(heads, [*resident, *kinds, errors, seconds]),
            markdown(("300 MB", "in", "before", "peak", "more", "seconds", "errors"), bodies),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="what linkmend holds in memory")
    parser.add_argument("--requests", default="10000,100000,1000000", help="when to look")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    cores = os.sched_getaffinity(0)
    with ExitStack() as running:
        home = running.enter_context(scratch())
        web = running.enter_context(origin(home, cores))
        fresh = running.enter_context(linkmend(demo(home / "large"), cores, workers=asked.workers))
        large = large_bodies(fresh, web)
        proxy = running.enter_context(
            linkmend(demo(home / "usual"), cores, workers=asked.workers, settings=_SETTINGS)
        )
        held = after_requests(proxy, web, [int(mark) for mark in asked.requests.split(",")])
        complaints = proxy.complaints() + fresh.complaints()
    if asked.json:
        found = {"held": [asdict(each) for each in held], "large": [asdict(each) for each in large]}
        print(json.dumps({**found, "complaints": complaints}, indent=2))
        return
    print(tables(held, large))
    print(f"\n{complaints} complaints in linkmend's logs; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
