"""How fast linkmend is, in one table: beside bare mitmdump and other caches, and two workers beside one.

    python -m benchmarks.speed [--seconds N] [--rounds N] [--only WORD] [--before CHECKOUT] [--json]

Everything runs on loopback and is started and stopped here. All cases alternate in every round (turns.py), and
docs/performance.md explains them. With `--before` the linkmend of another checkout takes turns with this one, under
the same Python and packages. They share the cores in two ways:

- Comparing proxies: each has the first core, and the others are idle while it is measured; origin and loads have the
  other cores. Every answer is checked (load.py).
- One worker and two: both may use all cores, and so may the origin and the loads, at a higher priority. If installed,
  `wrk` requests the pages over kept http connections: it takes a fraction of the processor time of load.py and leaves
  the cores to linkmend. The content of the answers is checked in the calm part of each turn.
"""

import argparse
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.certificate import self_signed
from benchmarks.figures import markdown, ratios
from benchmarks.handshakes import RESUMED, SEEN, UNSEEN, measure_handshakes
from benchmarks.load import Load, measure_load
from benchmarks.origin import CACHEABLE, PASSING
from benchmarks.othercaches import (
    NGINX_HIT,
    NGINX_PASS,
    TRAFFIC_SERVER_HIT,
    TRAFFIC_SERVER_PASS,
    has_nginx,
    has_traffic_server,
    nginx,
    traffic_server,
)  # fmt: skip
from benchmarks.processes import (
    ROOT,
    Program,
    demo,
    linkmend,
    mitmdump,
    origin,
    scratch,
    split_cores,
    squid,
    squid_opens_https,
)  # fmt: skip
from benchmarks.rounds import Case, Line, compare, speed_table
from benchmarks.wrk import can_run, measure_by_wrk

_SETTINGS = "[proxy]\nverify_origins = false\n"
_PASS, _HIT, _REPAIR = "passes on", "hit in memory", "repair page"
_BASE = f"mitmdump, {_PASS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A kind of page: its path at the origin, and what proves that it was answered in the intended way."""

    path: str
    says: str
    status: int = 200


PLAIN = Asked(path=f"{PASSING}a.html", says="")
SQUID, TRAFFIC_SERVER, NGINX = "Squid", "Traffic Server", "nginx"
MARKS = {
    SQUID: ("MISS from", "HIT from"),
    TRAFFIC_SERVER: (TRAFFIC_SERVER_PASS, TRAFFIC_SERVER_HIT),
    NGINX: (NGINX_PASS, NGINX_HIT),
}
"""What the answers of other caches say of a miss, and of a hit."""
OURS = {
    _PASS: Asked(path=f"{PASSING}a.html", says="fwd="),
    _HIT: Asked(path=f"{CACHEABLE}a.html", says="linkmend;hit"),
    _REPAIR: Asked(path="/water-cycle-{n}.html", says="Linkmend-Miss: not_found", status=404),
}
FURTHER = {
    "passes on, new URLs": Asked(path=f"{PASSING}{{n}}.html", says="fwd="),
    "first visit": Asked(path=f"{CACHEABLE}{{n}}.html", says=";stored"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How requests are sent: over http or https, over kept connections or a new one each."""

    https: bool
    renewed: bool

    def __str__(self) -> str:
        return f"{'https' if self.https else 'http'}, {'new' if self.renewed else 'kept'}"


WAYS = tuple(Way(https=https, renewed=renewed) for https in (False, True) for renewed in (False, True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The origins, and the cores of the loads."""

    web: Program
    secure: Program
    cores: set[int]

    def origin(self, way: Way) -> Program:
        return self.secure if way.https else self.web

    def load(self, program: Program, way: Way, asked: Asked) -> Load:
        return Load(
            port=program.port,
            site=f"127.0.0.1:{self.origin(way).port}",
            paths=(asked.path,),
            says=asked.says,
            status=asked.status,
            https=way.https,
            renewed=way.renewed,
            clients=16,
        )


def beside_others(programs: dict[str, Program], stage: Stage) -> Iterator[Case]:
    """linkmend with one worker, mitmdump, Squid and the origin, with the same requests in all ways."""
    for way in WAYS:
        for who, program, asked in _who_is_asked(programs, stage, way):
            load = stage.load(program, way, asked)
            base = f"{way}: {_BASE}"
            yield Case(name=f"{way}: {who}", against=base, program=program, load=load, cores=stage.cores)


def _who_is_asked(
    programs: dict[str, Program], stage: Stage, way: Way
) -> Iterator[tuple[str, Program, Asked]]:
    yield _BASE, programs["mitmdump"], PLAIN
    yield "the origin itself", stage.origin(way), PLAIN
    for who, (miss, hit) in MARKS.items():
        if who in programs and (not way.https or (who == SQUID and squid_opens_https())):
            yield f"{who}, {_PASS}", programs[who], Asked(path=f"{PASSING}a.html", says=miss)
            yield f"{who}, {_HIT}", programs[who], Asked(path=f"{CACHEABLE}a.html", says=hit)
    further = FURTHER if way == WAYS[0] else {}
    for who in ("linkmend", "linkmend before"):
        if who in programs:
            yield from (
                (f"{who}, {name}", programs[who], asked) for name, asked in {**OURS, **further}.items()
            )
    if way == WAYS[0]:
        yield "linkmend, hit on disk", programs["disk"], OURS[_HIT]


def handshakes(programs: dict[str, Program], stage: Stage) -> Iterator[Case]:
    """TLS handshakes without requests; mitmdump connects lazily, so it does no more than that either."""
    for kind in (SEEN, UNSEEN, RESUMED):
        for who, program in ("mitmdump, lazy", programs["lazy"]), ("linkmend", programs["linkmend"]):
            yield Case(
                name=f"TLS, {kind}: {who}",
                against=f"TLS, {kind}: mitmdump, lazy",
                program=program,
                load=stage.load(program, WAYS[-1], OURS[_HIT]),
                cores=stage.cores,
                busy=partial(measure_handshakes, kind=kind),
                calm=None,
            )


def one_and_two(one: Program, two: Program, stage: Stage) -> Iterator[Case]:
    """The same linkmend with one worker and with two."""
    for way in WAYS:
        for name, asked in OURS.items():
            for who, program in ("one worker", one), ("two workers", two):
                load = stage.load(program, way, asked)
                yield Case(
                    name=f"{way}, {who}: {name}",
                    against=f"{way}, one worker: {name}",
                    program=program,
                    load=load,
                    cores=stage.cores,
                    busy=measure_by_wrk if can_run(load) else measure_load,
                )


# The goals: the first case relative to the second.
GOALS = (
    (f"http, kept: linkmend, {_PASS}", f"http, kept: {_BASE}", 2.0),
    (f"http, kept: linkmend, {_HIT}", f"http, kept: {_BASE}", 10.0),
    (f"http, kept: linkmend, {_HIT}", f"http, kept: Squid, {_HIT}", 1.5),
    (f"https, kept: linkmend, {_HIT}", f"https, kept: {_BASE}", 6.0),
    (f"https, kept: linkmend, {_HIT}", f"https, kept: Squid, {_HIT}", 1.0),
    (f"https, new: linkmend, {_HIT}", f"https, new: Squid, {_HIT}", 1.2),
    ("http, kept: linkmend, passes on, new URLs", f"http, kept: {_BASE}", 2.0),
    ("http, kept: linkmend, first visit", f"http, kept: {_BASE}", 1.5),
    ("http, kept: linkmend, hit on disk", f"http, kept: {_BASE}", 8.0),
    (f"http, kept, two workers: {_PASS}", f"http, kept, one worker: {_PASS}", 1.4),
    (f"http, kept, two workers: {_HIT}", f"http, kept, one worker: {_HIT}", 1.4),
)


def goals_table(told: Sequence[Line]) -> str:
    rounds = {line.name: line.rounds for line in told}
    rows = [
        (name, other, f"{wanted}", str(ratios(rounds[name], rounds[other])))
        for name, other, wanted in GOALS
        if name in rounds and other in rounds
    ]
    return markdown(("case", "beside", "wanted", "ratio (least - most)"), rows)


def wanted_cases(cases: Sequence[Case], word: str) -> list[Case]:
    """The cases whose names contain the word, and those they are compared with."""
    named = [case for case in cases if word in case.name]
    beside = {case.against for case in named}
    return [case for case in cases if case in named or case.name in beside]


def all_cases(running: ExitStack, home: Path, before: Path | None) -> tuple[list[Case], list[Program]]:
    """Start everything; the cases, and the linkmend programs."""
    proxy_cores, other_cores = split_cores()
    every_core = proxy_cores | other_cores
    pem = self_signed(home / "origin.pem")

    def started(program: Program) -> Program:
        return running.enter_context(program)

    def ours(
        name: str, cores: set[int], *, workers: int = 1, settings: str = "", checkout: Path = ROOT
    ) -> Program:
        data = demo(home / name, checkout=checkout)
        return started(
            linkmend(data, cores, workers=workers, settings=_SETTINGS + settings, checkout=checkout)
        )

    def stage(cores: set[int]) -> Stage:
        web, secure = started(origin(home, cores)), started(origin(home, cores, pem=pem))
        return Stage(web=web, secure=secure, cores=cores)

    programs = {
        "mitmdump": started(mitmdump(home, proxy_cores, "--ssl-insecure")),
        "lazy": started(mitmdump(home, proxy_cores, "--ssl-insecure", "--set", "connection_strategy=lazy")),
        "linkmend": ours("usual", proxy_cores),
        "disk": ours("disk", proxy_cores, settings="[cache]\nmemory_bytes = 0\n"),
    }
    if before:
        programs["linkmend before"] = ours("before", proxy_cores, checkout=before)
    if shutil.which("squid"):
        programs[SQUID] = started(squid(home, proxy_cores, pem=pem))
    if has_traffic_server():
        programs[TRAFFIC_SERVER] = started(traffic_server(home, proxy_cores))
    if has_nginx():
        programs[NGINX] = started(nginx(home, proxy_cores))
    one, two = ours("one", every_core), ours("two", every_core, workers=2)
    apart, together = stage(other_cores), stage(every_core)
    cases = [
        *beside_others(programs, apart),
        *handshakes(programs, apart),
        *one_and_two(one, two, together),
    ]
    return cases, [programs["linkmend"], programs["disk"], one, two]


def main() -> None:
    parser = argparse.ArgumentParser(description="linkmend beside bare mitmdump and other caches")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one turn of a case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose names hold this, and what they are beside")
    parser.add_argument("--before", type=Path, help="an earlier checkout of linkmend to compare with")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with ExitStack() as running:
        home = running.enter_context(scratch())
        cases, linkmends = all_cases(running, home, asked.before)
        cases = wanted_cases(cases, asked.only)
        if not cases:
            parser.error(f"no case is named like {asked.only!r}")
        told = compare(cases, rounds=asked.rounds, seconds=asked.seconds)
        complaints = sum(program.complaints() for program in linkmends)
    if asked.json:
        print(json.dumps({"cases": [asdict(line) for line in told], "complaints": complaints}, indent=2))
        return
    print(speed_table(told), goals_table(told), sep="\n\n")
    by = "wrk" if shutil.which("wrk") else "benchmarks.load, as there is no wrk"
    print(f"\nPages of one worker and two over kept http asked for by {by}; {complaints} complaints in")
    print(
        f"linkmend's logs; {asked.rounds} rounds of {asked.seconds} s; load average {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
