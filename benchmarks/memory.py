"""What linkmend's processes hold at the start, after ten thousand and after a million requests; and large bodies.

    python -m benchmarks.memory [--requests N,N,...] [--workers N] [--json]

Asked are stored pages, pages passed on under new addresses, pages visited for the first time and soon again, and dead
links; part of it over new connections, all of it from two hundred addresses. It comes in portions, the kinds at once,
with new connections in each. What is bounded is to be full after the first ten thousand, so these have more that is
new (FIRST below) than the rest (LATER), and linkmend is given 16 MB for responses in memory instead of 64.

Before that, 300 MB are passed on, passed on and stored, and answered from the store, by another linkmend that has
done nothing yet. The origin sends them at a gigabit line's pace.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from benchmarks.figures import markdown, written
from benchmarks.load import Load, begin, ended, measured
from benchmarks.origin import CACHEABLE, LARGE_CACHEABLE, LARGE_PASSING, PASSING
from benchmarks.processes import Program, demo, linkmend, origin, scratch

_SETTINGS = f"[cache]\nmemory_bytes = {16 * 1024**2}\n"
_STORED = 700
"""Pages of 20 KB that come from memory: 14 of its 16 MB."""
_ONE_WORKER = ("worker 1", "keeper", "office")
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
    """What each process held once so many requests were answered, and how many of each kind that were."""

    requests: int
    resident_mb: dict[str, float]
    asked: dict[str, int]
    errors: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """What one large download cost the process that it cost most."""

    name: str
    process: str
    before_mb: float
    peak_mb: float
    seconds: float
    errors: dict[str, int]


def named(values: Sequence[float]) -> dict[str, float]:
    """By what linkmend's processes do; one worker has a keeper for its office, several have a supervisor."""
    names = ["supervisor", "office", *(f"worker {number}" for number in range(1, len(values) - 1))]
    if len(values) <= len(_ONE_WORKER):
        names = list(_ONE_WORKER[: len(values)])
    return dict(zip(names, values, strict=True))


class Asking:
    """Asks one portion after the other, and remembers what was asked."""

    def __init__(self, proxy: Program, web: Program) -> None:
        self._proxy, self._web = proxy, web
        self._begun_at = time.monotonic()
        self._portions = self._visited = 0
        self._asked: dict[str, int] = {}
        self._errors: dict[str, int] = {}

    def store(self) -> None:
        """The pages that are to be hits, each asked for once."""
        path = f"{CACHEABLE}stored-{{n}}.html"
        self._ask({VISIT: self._load(VISIT, _STORED, path, says=";stored", salt="")})

    def portion(self, count: int, mix: dict[str, float]) -> None:
        self._portions += 1
        parts = {kind: round(count * part) for kind, part in mix.items()}
        # Those of the last portion, which there are not before the second.
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
            resident_mb=named(self._proxy.memory_mb()),
            asked=dict(self._asked),
            errors=dict(self._errors),
            seconds=time.monotonic() - self._begun_at,
        )

    def _ask(self, loads: dict[str, Load]) -> None:
        for kind, told in zip(loads, ended(begin(*loads.values()), *loads.values()), strict=True):
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
    before = named(proxy.memory_mb())
    load = Load(
        port=proxy.port, site=f"127.0.0.1:{web.port}", paths=(path,), says=says, connections=1,
        seconds=_LARGE_AT_MOST_S, warm_up_s=0.0, requests=1,
    )  # fmt: skip
    done = measured(load)
    time.sleep(_SYNCED_WITHIN_S)
    proxy.come_to_rest()
    peak = named(proxy.peak_mb())
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
    errors = ("errors", *(written(each.errors) for each in held))
    seconds = ("seconds", *(f"{each.seconds:.0f}" for each in held))
    bodies = [
        (
            each.name, each.process, f"{each.before_mb:.1f} MB", f"{each.peak_mb:.1f} MB",
            f"{each.peak_mb - each.before_mb:.1f} MB", f"{each.seconds:.1f}", written(each.errors),
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
