"""How fifty concurrent repairs affect users of ordinary pages, and how long a repair page takes.

    python -m benchmarks.crowd [--collection DIR] [--workers N] [--seconds N] [--rounds N] [--state WORD]
                               [--checkout DIR] [--json]

Twenty users, each with their own connection and address, request a page five times a second: half of the pages come
from the origin, half from the cache. There are five states: users alone; fifty connections that request one dead link
after the other; fifty dead links at once every two seconds; one dead link after the other without users; and thirty
clients that request the same dead link at once every two seconds, without users. The states alternate in every round,
and results are ratios within a round. `--state` takes those whose name holds a word, and one dead link after the
other, beside which they are.

The users are one process, the dead links another. They and the origin get a higher priority, if we may (as root),
since in a school they have machines of their own. Delays that remain are measured too, by users that ask the origin
directly, and are in the table.

--collection is a data folder with a collection in it (`linkmend import --data DIR ...`), or such a collection itself,
as `benchmarks.ranking --work` leaves them. It is copied, not changed; without it the demo collection is used.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.deadlinks import DeadLink, dead_links
from benchmarks.figures import Spread, format_errors, markdown, quantile, ratios, spread
from benchmarks.load import Load, Measured, begin, collect
from benchmarks.origin import CACHEABLE, PASSING
from benchmarks.processes import ROOT, Program, demo, linkmend, origin, scratch
from repair.collection.collection import DATABASE

_READERS = 20
_READER_EVERY_S = 0.2
_CROWD, _CLASS = 50, 30
_BURST_EVERY_S = 2.0
_DEAD_LINKS = 6_000
_READING = ("all", "passed on", "stored", "the origin itself")
ALONE, KEPT_BUSY, IN_BURSTS, ONE_BY_ONE, ONE_LINK = (
    "readers alone",
    "fifty repairs all the time",
    "fifty at once every 2 s",
    "one",
    "thirty at one dead link every 2 s",
)
_AT_ONCE = {IN_BURSTS: _CROWD, ONE_LINK: _CLASS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Latencies of one turn by kind of page, repairs a second, and how many repair pages list something.

    `cpu_ms` is the processor time of all processes for each repair page, where no users take part of it.
    """

    reading: dict[str, list[float]]
    repairs_ms: list[float]
    repairs_a_second: float
    listing: float
    cpu_ms: float
    errors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """Latency quantiles of one kind of page, and their ratios to those of users alone."""

    pages: str
    counted: int
    p50_ms: Spread
    p95_ms: Spread
    p99_ms: Spread
    p50_ratio: Spread
    p95_ratio: Spread
    p99_ratio: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """How long repair pages took; `listing` is the share of them that offers pages.

    `last_ms` is how long the last of those requested at once took, and `last_ratio` that beside the p50 of one alone.
    """

    counted: int
    p50_ms: Spread
    p95_ms: Spread
    a_second: Spread
    listing: Spread
    cpu_ms: Spread | None = None
    last_ms: Spread | None = None
    last_ratio: Spread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All results of one state."""

    state: str
    noticed: list[Noticed]
    repairs: Repairs | None
    errors: dict[str, int]


class Scene:
    """The proxy, the site and the dead links; each link is requested once before any is repeated."""

    def __init__(self, proxy: Program, web: Program, links: Sequence[DeadLink]) -> None:
        self._proxy, self._web, self._links = proxy, web, list(links)

    def turn(self, state: str, seconds: float) -> Turn:
        readers = self._readers(seconds) if state not in (ONE_BY_ONE, ONE_LINK) else []
        crowd = self._crowd(state, seconds) if state != ALONE else []
        before_s = self._proxy.cpu_s()
        running = [(begin(*loads), loads) for loads in (readers, crowd) if loads]
        results = [each for process, loads in running for each in collect(process, *loads)]
        self._proxy.come_to_rest()
        read, repaired = results[: len(readers)], results[len(readers) :]
        latencies = [each.latencies_ms for each in read]
        reading = dict(zip(_READING, [latencies[0] + latencies[1], *latencies], strict=True)) if read else {}
        for each in repaired:
            used = each.asked if state != ONE_LINK else -(-each.asked // _CLASS)
            self._links = self._links[used:] + self._links[:used]
        return Turn(
            reading=reading,
            repairs_ms=[ms for each in repaired for ms in each.latencies_ms],
            repairs_a_second=sum(each.per_second for each in repaired),
            listing=_listing(repaired),
            cpu_ms=(self._proxy.cpu_s() - before_s) * 1000 / max(sum(each.asked for each in repaired), 1),
            errors=_errors(results),
        )

    def _readers(self, seconds: float) -> list[Load]:
        site = f"127.0.0.1:{self._web.port}"

        def load(port: int, path: str, says: str, connections: int) -> Load:
            return Load(
                port=port, site=site, paths=(path,), says=says, connections=connections, clients=connections,
                every_s=_READER_EVERY_S, seconds=seconds,
            )  # fmt: skip

        return [
            load(self._proxy.port, f"{PASSING}a.html", "fwd=", _READERS // 2),
            load(self._proxy.port, f"{CACHEABLE}a.html", "linkmend;hit", _READERS // 2),
            load(self._web.port, f"{PASSING}a.html", "", _READERS // 2),
        ]

    def _crowd(self, state: str, seconds: float) -> list[Load]:
        connections = {ONE_BY_ONE: 1, ONE_LINK: _CLASS}.get(state, _CROWD)
        links = self._links if state != ONE_LINK else [link for link in self._links for _ in range(_CLASS)]
        return [
            Load(
                port=self._proxy.port,
                site=f"127.0.0.1:{self._web.port}",
                paths=[link.path for link in links],
                referers=[link.source_url for link in links],
                status=404,
                says="Linkmend-Miss: not_found",
                shows="<li data-url=",
                connections=connections,
                clients=connections,
                every_s=_BURST_EVERY_S if state in _AT_ONCE else 0.0,
                together=True,
                seconds=seconds,
            )
        ]


def _listing(repaired: Sequence[Measured]) -> float:
    answered = sum(len(each.latencies_ms) for each in repaired)
    return sum(each.shown for each in repaired) / answered if answered else 0.0


def _errors(results: Sequence[Measured]) -> dict[str, int]:
    reasons = {reason for each in results for reason in each.errors}
    return {reason: sum(each.errors.get(reason, 0) for each in results) for reason in sorted(reasons)}


def measure_states(scene: Scene, *, rounds: int, seconds: float, word: str = "") -> list[Told]:
    beside = (ONE_BY_ONE, ALONE)
    states = tuple(
        state
        for state in (ONE_BY_ONE, ONE_LINK, ALONE, KEPT_BUSY, IN_BURSTS)
        if state in beside or word in state
    )
    turns: dict[str, list[Turn]] = {state: [] for state in states}
    for state in (
        ONE_BY_ONE,
        ALONE,
        KEPT_BUSY,
    ):  # warm-up: everything is loaded, and the cache is filled
        scene.turn(state, 1.0)
    for number in range(rounds):
        for state in states if number % 2 == 0 else reversed(states):
            turns[state].append(scene.turn(state, seconds))
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return [_summarise(state, turns) for state in states]


def _summarise(state: str, all_turns: dict[str, list[Turn]]) -> Told:
    turns = all_turns[state]
    return Told(
        state=state,
        noticed=[_noticed(pages, turns, all_turns[ALONE]) for pages in turns[0].reading],
        repairs=_repairs(state, turns, all_turns[ONE_BY_ONE]) if state != ALONE else None,
        errors={
            reason: sum(turn.errors.get(reason, 0) for turn in turns)
            for reason in sorted({reason for turn in turns for reason in turn.errors})
        },
    )


def _noticed(pages: str, turns: Sequence[Turn], alone: Sequence[Turn]) -> Noticed:
    def quantiles(part: float, among: Sequence[Turn]) -> list[float]:
        return [quantile(turn.reading[pages], part) for turn in among]

    def ratio(part: float) -> Spread:
        return ratios(quantiles(part, turns), quantiles(part, alone))

    return Noticed(
        pages=pages,
        counted=sum(len(turn.reading[pages]) for turn in turns),
        p50_ms=spread(quantiles(0.5, turns)),
        p95_ms=spread(quantiles(0.95, turns)),
        p99_ms=spread(quantiles(0.99, turns)),
        p50_ratio=ratio(0.5),
        p95_ratio=ratio(0.95),
        p99_ratio=ratio(0.99),
    )


def _last_ms(turn: Turn, at_once: int) -> float:
    """How long the last of those requested at once took, in the median of all times."""
    latencies = turn.repairs_ms
    bursts = [latencies[start : start + at_once] for start in range(0, len(latencies), at_once)]
    return quantile([max(each) for each in bursts], 0.5)


def _repairs(state: str, turns: Sequence[Turn], alone: Sequence[Turn]) -> Repairs:
    last_ms = [_last_ms(turn, _AT_ONCE[state]) for turn in turns] if state in _AT_ONCE else []
    one_ms = [quantile(turn.repairs_ms, 0.5) for turn in alone]
    return Repairs(
        cpu_ms=spread([turn.cpu_ms for turn in turns]) if state in (ONE_BY_ONE, ONE_LINK) else None,
        last_ms=spread(last_ms) if last_ms else None,
        last_ratio=ratios(last_ms, one_ms) if last_ms else None,
        counted=sum(len(turn.repairs_ms) for turn in turns),
        p50_ms=spread([quantile(turn.repairs_ms, 0.5) for turn in turns]),
        p95_ms=spread([quantile(turn.repairs_ms, 0.95) for turn in turns]),
        a_second=spread([turn.repairs_a_second for turn in turns]),
        listing=spread([turn.listing for turn in turns]),
    )


def tables(results: Sequence[Told]) -> str:
    readers = [
        (
            each.state,
            kind.pages,
            f"{kind.p50_ms.median:.2f} / {kind.p95_ms.median:.2f} / {kind.p99_ms} ms",
            *(str(ratio) for ratio in (kind.p50_ratio, kind.p95_ratio, kind.p99_ratio)),
            str(kind.counted),
            format_errors(each.errors),
        )
        for each in results
        for kind in each.noticed
    ]
    repairs = [
        (
            "one at a time, nobody else there" if each.state == ONE_BY_ONE else each.state,
            f"{each.repairs.p50_ms} ms",
            f"{each.repairs.p95_ms} ms",
            f"{each.repairs.a_second.median:.1f}",
            f"{each.repairs.listing.median:.1%}",
            f"{each.repairs.cpu_ms} ms" if each.repairs.cpu_ms else "",
            f"{each.repairs.last_ms} ms" if each.repairs.last_ms else "",
            str(each.repairs.last_ratio or ""),
            str(each.repairs.counted),
            format_errors(each.errors),
        )
        for each in results
        if each.repairs
    ]
    beside = ("p50 beside alone", "p95 beside alone", "p99 beside alone")
    last = ("CPU each", "the last", "beside one alone")
    return "\n\n".join(
        (
            markdown(("while", "pages", "p50 / p95 / p99", *beside, "counted", "errors"), readers),
            markdown(
                ("repairs", "p50", "p95", "a second", "with a list", *last, "counted", "errors"), repairs
            ),
        )
    )


def copy_collection(collection: Path, home: Path) -> Path:
    """A new data folder with a copy of the collection and nothing else."""
    data = home / "data"
    data.mkdir()
    inner, target = collection / "collection", data / "collection"
    source = inner if inner.is_dir() else collection
    # The file system copies files of a gigabyte at once where it can.
    subprocess.run(["cp", "-r", "--reflink=auto", source, target], check=True)
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description="readers of ordinary pages, and fifty repairs")
    parser.add_argument("--collection", type=Path, help="a data folder with a collection, or that itself")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of one turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--state", default="", help="states whose names hold this")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="another checkout of linkmend to measure")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.collection and not list(asked.collection.rglob(DATABASE)):
        parser.error(f"{asked.collection}: there is no collection in it")
    cores = os.sched_getaffinity(0)
    with ExitStack() as running:
        home = running.enter_context(scratch())
        data = copy_collection(asked.collection, home) if asked.collection else demo(home / "data")
        web = running.enter_context(origin(home, cores))
        links = dead_links(data, f"127.0.0.1:{web.port}", _DEAD_LINKS)
        proxy = running.enter_context(linkmend(data, cores, workers=asked.workers, checkout=asked.checkout))
        proxy.come_to_rest()
        results = measure_states(
            Scene(proxy, web, links), rounds=asked.rounds, seconds=asked.seconds, word=asked.state
        )
        complaints = proxy.complaints()
    if asked.json:
        print(json.dumps({"states": [asdict(each) for each in results], "complaints": complaints}, indent=2))
        return
    print(tables(results))
    print(
        f"\n{asked.workers} workers, {complaints} complaints in the log, load average {os.getloadavg()[0]:.1f};"
    )
    print(f"median (least - most) of {asked.rounds} rounds")


if __name__ == "__main__":
    main()
