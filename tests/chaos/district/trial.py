"""One trial: three schools and one that is alone browse while the district breaks; then all must come together."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from proxy.district.roles import DistrictLogin
from repair.opensearch.pagedocument import INDEX
from tests.chaos.district.engines import NODES, Database, Squids
from tests.chaos.district.line import Line
from tests.chaos.district.schools import FEW, Findings, Readers, School, serve_pages
from tests.chaos.district.trouble import Trouble
from tests.integration.opensearch.cluster import Cluster
from tests.integration.origin import Origin
from tests.integration.processes import eventually

SCHOOLS = 3
_HEALED_S = 300.0
_MISSES = """
SELECT schools.role, url, day::text, kind, times FROM linkmend.misses JOIN linkmend.schools ON school = schools.id
"""
_ALONE = '[proxy]\nparent = "http://127.0.0.1:{squid}"\n[report]\nfew = {few}\n'
_TOGETHER = """
[district]
search = {search}
database = "{database}"
database_user = "{user}"
database_password_file = "{password}"
"""


@dataclass(kw_only=True)
class DistrictReport:
    """What a trial found; without complaints it went well."""

    seed: int
    seconds: float
    complaints: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    trouble: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    p50_ms: dict[str, float] = field(default_factory=dict)
    p95_ms: dict[str, float] = field(default_factory=dict)
    healed_s: float = 0.0

    def __str__(self) -> str:
        lines = [
            f"seed {self.seed}, {self.seconds:.0f} s; healed {self.healed_s:.0f} s after the last trouble",
            f"  trouble: {_listed(self.trouble)}",
            f"  seen: {_listed(self.counts)}",
            *(
                f"  {name}: {self.times[name]}, p50 / p95 {self.p50_ms[name]:.0f} / {value:.0f} ms"
                f"{self._against_alone(name)}"
                for name, value in sorted(self.p95_ms.items())
            ),
            *(f"  BROKEN: {complaint}" for complaint in self.complaints[:20]),
        ]
        return "\n".join(lines)

    def _against_alone(self, name: str) -> str:
        lone = f"alone, {name.partition(', ')[2]}"
        if name == lone or not self.p95_ms.get(lone):
            return ""
        ratios = (values[name] / values[lone] for values in (self.p50_ms, self.p95_ms))
        return " ({:.2f} / {:.2f} of alone)".format(*ratios)


def _quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(share * (len(times) - 1))] * 1000


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "nothing"


@dataclass(frozen=True, kw_only=True)
class _District:
    cluster: Cluster
    database: Database
    squids: Squids
    origin: Origin
    schools: list[School]
    alone: School


def run(
    seed: int,
    seconds: float,
    folder: Path,
    say: Callable[[str], None] = lambda line: None,
    *,
    calm: bool = False,
) -> DistrictReport:
    """Run a trial in an empty folder; a `calm` one without any trouble.

    Raises NoOpenSearch and NoPostgres where they cannot be had.
    """
    report = DistrictReport(seed=seed, seconds=seconds)
    luck = random.Random(seed)
    with _opened(folder, say) as district:
        findings = Findings(complaints=report.complaints)
        lines = [school.line for school in district.schools if school.line is not None]
        readers = [
            Readers(
                school,
                district.alone if at == 0 else None,
                district.origin,
                findings,
                random.Random(luck.random()),
            )
            for at, school in enumerate(district.schools)
        ]
        trouble = Trouble(
            district.cluster,
            district.database,
            district.squids,
            lines,
            random.Random(luck.random()),
            longest_cut_s=max(5.0, seconds / 16),
            longest_pause_s=max(2.0, seconds / 80),
        )
        _check_pages(district, findings)  # from here on the district helps, until it breaks
        for reader in readers:
            reader.start()
        if not calm:
            trouble.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and trouble.error is None:
            time.sleep(min(30.0, max(0.1, end - time.monotonic())))
            say(f"{_listed(trouble.made)}; {_listed(findings.counts)}; broken: {report.complaints[-1:]}")
        if not calm:
            trouble.stop()
        for reader in readers:
            reader.stop()
        if trouble.error is not None:
            raise trouble.error
        began = time.monotonic()
        findings.judge_worse()
        for school in district.schools:
            findings.counts["repairs without the district"] += school.running.output.count(
                "ranked without it"
            )
        report.trouble, report.counts = dict(trouble.made), dict(findings.counts)
        report.times = {name: len(times) for name, times in findings.repairs_s.items()}
        report.p50_ms = {name: _quantile(times, 0.5) for name, times in findings.repairs_s.items()}
        report.p95_ms = {name: _quantile(times, 0.95) for name, times in findings.repairs_s.items()}
        for school in (*district.schools, district.alone):
            (folder / f"{school.name}.log").write_text(school.running.output, encoding="utf-8")
        _check_pages(district, findings)
        _check_misses(district, findings)
        report.counts = dict(findings.counts)
        report.healed_s = time.monotonic() - began
    return report


def _check_pages(district: _District, findings: Findings) -> None:
    """Every page that a school saved is in OpenSearch, exactly once."""
    district.cluster.wait_for("green", NODES)

    def found() -> Counter[str]:
        district.cluster.ask("POST", f"/{INDEX}/_refresh")
        answer = district.cluster.ask("POST", f"/{INDEX}/_search", {"size": 2000, "_source": ["url"]}) or {}
        sources = (hit["_source"] for hit in answer.get("hits", {}).get("hits", []))
        return Counter(source["url"] for source in sources if "url" in source)  # the rest is about sites

    wanted: set[str] = set()
    for school in district.schools:
        wanted |= set(school.own)
    opened = findings.news

    def is_complete() -> bool:
        return wanted <= set(found()) and opened <= set(found())

    try:
        eventually(is_complete, "pages are missing", timeout_s=_HEALED_S)
    except AssertionError:
        missing = (wanted | opened) - set(found())
        findings.complain(f"{len(missing)} pages are not in the district: {sorted(missing)[:5]}")
    findings.counts["pages in the district"] = len(found())
    twice = {url: count for url, count in found().items() if count > 1}
    if twice:
        findings.complain(f"in the district more than once: {twice}")


def _check_misses(district: _District, findings: Findings) -> None:
    """What was missed often is in PostgreSQL, exactly as often as each school's own log says."""

    def told() -> dict[str, set[tuple[str, str, str, int]]]:
        found: dict[str, set[tuple[str, str, str, int]]] = {
            school.login: set() for school in district.schools
        }
        for login, url, day, kind, times in district.database.rows(_MISSES):
            found.setdefault(login, set()).add((url, day, kind, times))
        return found

    def own() -> dict[str, set[tuple[str, str, str, int]]]:
        return {school.login: school.often_missed() for school in district.schools}

    with suppress(AssertionError):
        eventually(lambda: told() == own(), "misses differ", timeout_s=_HEALED_S)
    here, there = own(), told()
    if here != there:
        differ = {login: here.get(login, set()) ^ there.get(login, set()) for login in here | there}
        findings.complain(f"misses differ: { ({login: sorted(each)[:4] for login, each in differ.items()}) }")
    findings.counts["often missed, told once"] = sum(len(each & there[login]) for login, each in here.items())


@contextmanager
def _opened(folder: Path, say: Callable[[str], None]) -> Iterator[_District]:
    with ExitStack() as stack:
        origin = stack.enter_context(Origin())
        serve_pages(origin)
        squids = Squids(folder / "squid", origin.port)
        stack.callback(squids.stop)
        starting = stack.enter_context(ThreadPoolExecutor())  # each waits for its engine most of the time
        coming = starting.submit(Cluster, folder / "opensearch", nodes=NODES, apart=True, heap="384m")
        stack.callback(lambda: coming.exception() or coming.result().stop())
        database = Database()
        stack.callback(database.stop)
        say("PostgreSQL and Squid are there")
        cluster = coming.result()
        say("OpenSearch is there")
        settings, lines, logins = [_ALONE.format(squid=squids.port, few=FEW)], [None], [""]
        for at in range(SCHOOLS):
            line, login = _line(cluster, database), database.invite(f"School {at + 1}")
            stack.callback(line.close)
            settings.append(_settings(folder, login, squids, database, line))
            lines.append(line)
            logins.append(login.user)

        def start(number: int) -> School:
            school = School(
                f"school {number}" if number else "alone",
                folder,
                part=max(0, number - 1),
                parts=SCHOOLS,
                settings=settings[number],
                login=logins[number],
                line=lines[number],
            )
            stack.callback(school.running.stop)
            return school

        alone, *schools = starting.map(start, range(SCHOOLS + 1))
        say("the schools are there")
        yield _District(
            cluster=cluster, database=database, squids=squids, origin=origin, schools=schools, alone=alone
        )


def _line(cluster: Cluster, database: Database) -> Line:
    nodes = {f"node {at}": lambda at=at: urlsplit(cluster.urls[at]).port or 0 for at in range(NODES)}
    servers = {f"server {at}": lambda at=at: database.servers[at].port for at in range(2)}
    return Line({**nodes, **servers})


def _settings(folder: Path, login: DistrictLogin, squids: Squids, database: Database, line: Line) -> str:
    password = folder / login.user
    password.write_text(login.password, encoding="utf-8")
    hosts = ",".join(f"127.0.0.1:{line.ports[f'server {server}']}" for server in range(2))
    return _ALONE.format(squid=squids.port, few=FEW) + _TOGETHER.format(
        search=json.dumps([f"http://127.0.0.1:{line.ports[f'node {node}']}" for node in range(NODES)]),
        database=f"postgresql://{hosts}{urlsplit(database.settings.database).path}",
        user=login.user,
        password=password,
    )
