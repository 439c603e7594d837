"""How fast stored pages come, and how fast TLS is set up: linkmend beside bare mitmdump and Squid's memory hits.

    python benchmarks/hits.py [--seconds N] [--rounds N] [--only WORD] [--json]

Like proxy.py: loopback only, cases take turns, ratios within a round. mitmdump passes the page on, since it stores
none; in the cases of TLS set-up it is told to connect to the origin only when asked (`connection_strategy=lazy`), as
linkmend does, and so to do no more than the handshake. Without a Squid those lines are missing.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from figures import Figures, Tally, figures, speed_table
from load import Load, Measured, measured
from origin import CACHEABLE, PASSING
from processes import Program, linkmend, origin, split_cores, squid, stock_mitmdump
from tlsload import TlsLoad, measured_tls

_SETTINGS = "[proxy]\nworkers = 1\nverify_origins = false\n"
_HANDSHAKES = (("seen", "a site seen before"), ("unseen", "a site never seen"), ("resumed", "resumed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`ask` makes one turn of so many seconds; `against` is the case that this one is compared with."""

    name: str
    program: Program
    ask: Callable[[float, str], Measured]
    against: str


def http_case(
    name: str, program: Program, web: Program, path: str, says: str, against: str, *, status: int = 200
) -> Case:
    host = f"127.0.0.1:{web.port}"
    target = path if program is web else f"http://{host}{path}"

    def ask(seconds: float, salt: str) -> Measured:
        named = target.replace("{n}", f"{salt}-{{n}}") if "{n}" in target else target
        return measured(
            Load(port=program.port, host=host, target=named, status=status, says=says, seconds=seconds)
        )

    return Case(name=name, program=program, ask=ask, against=against)


def tls_case(name: str, program: Program, web: Program, load: TlsLoad, against: str) -> Case:
    def ask(seconds: float, salt: str) -> Measured:
        known = {**asdict(load), "port": program.port, "site": f"127.0.0.1:{web.port}"}
        return measured_tls(TlsLoad(**{**known, "seconds": seconds, "salt": salt}))

    return Case(name=name, program=program, ask=ask, against=against)


def cases_of(programs: dict[str, Program]) -> list[Case]:
    stock, ours, web, secure = (programs[name] for name in ("stock", "linkmend", "web", "secure"))
    base, secure_base = "http: mitmdump -q", "https: mitmdump -q"
    passing, stored = f"{PASSING}a.html", f"{CACHEABLE}a.html"
    cases = [
        http_case(base, stock, web, passing, "", base),
        http_case("http: the origin itself", web, web, passing, "", base),
    ]
    if "squid" in programs:
        cases += [
            http_case("http: Squid, passes on", programs["squid"], web, passing, "MISS", base),
            http_case("http: Squid, hit in memory", programs["squid"], web, stored, "HIT", base),
        ]
    kept = TlsLoad(port=0, site="", path=stored, says="linkmend;hit")
    passed = TlsLoad(port=0, site="", path=passing)
    cases += [
        http_case("http: linkmend, passes on", ours, web, passing, "fwd=", base),
        http_case("http: linkmend, hit in memory", ours, web, stored, "linkmend;hit", base),
        http_case(
            "http: linkmend, repair page", ours, web, "/water-cycle-{n}.html", "text/html", base, status=404
        ),
        tls_case(secure_base, stock, secure, passed, secure_base),
        tls_case("https: linkmend, passes on", ours, secure, passed, secure_base),
        tls_case("https: linkmend, hit in memory", ours, secure, kept, secure_base),
    ]
    for connect, words in _HANDSHAKES:
        load = TlsLoad(port=0, site="", path=f"{CACHEABLE}a.html", connect=connect)
        against = f"TLS, {words}: mitmdump -q"
        cases.append(tls_case(against, programs["lazy"], secure, load, against))
        cases.append(tls_case(f"TLS, {words}: linkmend", ours, secure, load, against))
    return cases


def add_turn(tally: Tally, case: Case, *, turn: int, seconds: float) -> None:
    before_s = case.program.cpu_s()
    done = case.ask(seconds, f"turn{turn}")
    case.program.come_to_rest(at_most_s=5)
    tally.per_second.append(done.asked / done.seconds)
    tally.cpu_us.append((case.program.cpu_s() - before_s) / max(done.asked, 1) * 1e6)
    tally.latencies_ms += done.latencies_ms
    tally.errors.update(done.errors)


def compare(cases: Sequence[Case], *, rounds: int, seconds: float) -> list[Figures]:
    tallies = {case.name: Tally() for case in cases}
    for case in cases:  # once for nothing: what is to be a hit is stored, and looked at
        for _ in range(2):
            case.ask(0.3, "warm")
    for turn in range(rounds):
        for case in cases if turn % 2 == 0 else reversed(cases):
            add_turn(tallies[case.name], case, turn=turn, seconds=seconds)
        print(f"round {turn + 1} of {rounds} done", file=sys.stderr)
    return [figures(case.name, tallies[case.name], tallies[case.against], (0.0,)) for case in cases]


def own_certificate(home: Path) -> Path:
    """A key and a self-signed certificate for the origin."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
    shown = builder.not_valid_after(now + timedelta(days=2)).sign(key, hashes.SHA256())
    pem = home / "origin.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem.write_bytes(private + shown.public_bytes(Encoding.PEM))
    return pem


def main() -> None:
    parser = argparse.ArgumentParser(description="stored pages and TLS set-up")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one turn of a case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", default="", help="cases whose names hold this word, and what they are compared with"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    proxy_cores, other_cores = split_cores()
    os.sched_setaffinity(0, other_cores)  # and with us the loads, which we start
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="linkmend-benchmark-")))
        started = {
            "web": origin(home, other_cores),
            "secure": origin(home, other_cores, pem=own_certificate(home)),
            "stock": stock_mitmdump(home, proxy_cores, "--ssl-insecure"),
            "linkmend": linkmend(home, "usual", proxy_cores, settings=_SETTINGS),
        }
        lazy = ("--ssl-insecure", "--set", "connection_strategy=lazy")
        started["lazy"] = stock_mitmdump(home, proxy_cores, *lazy)
        if shutil.which("squid"):
            started["squid"] = squid(home, proxy_cores)
        programs = {name: running.enter_context(program) for name, program in started.items()}
        cases = cases_of(programs)
        wanted = {case.against for case in cases if asked.only in case.name} if asked.only else set()
        cases = [case for case in cases if asked.only in case.name or case.name in wanted]
        told = compare(cases, rounds=asked.rounds, seconds=asked.seconds)
    if asked.json:
        print(json.dumps([asdict(line) for line in told], indent=2))
    else:
        print(speed_table(told))
        print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
