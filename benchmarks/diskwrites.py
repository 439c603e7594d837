"""How much linkmend writes to the disk in an hour of lessons, with the settings as they are and for an SD card.

    python -m benchmarks.diskwrites [--minutes N] [--json]

A class reads: every second a page that is in the cache, every four seconds a page that is new (it is cached, saved
and indexed), every twenty seconds a dead link. What the kernel has written for linkmend's processes (write_bytes in
/proc/PID/io, which counts a page of memory once however often it changes before it is written) is scaled to an hour.
Its log is counted apart: on a terminal or in systemd's journal it is not among these.
"""

import argparse
import json
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.figures import markdown
from benchmarks.origin import CACHEABLE
from benchmarks.processes import Program, linkmend, origin, scratch, split_cores
from proxy.setup.profiles import SD_CARD
from proxy.setup.settingsfile import settings_text
from proxy.setup.shipped import SETTINGS, shipped_file

_WARM_UP_S = 65.0  # longer than the longest pause between two commits
_NAVIGATION = {"Accept": "text/html", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """What was written, scaled to an hour, after a warm-up that counts for nothing."""

    settings: str
    megabytes_per_hour: float
    log_lines_per_hour: float
    minutes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = [
        measure("defaults", {}, given.minutes),
        measure("SD card", dict(SD_CARD), given.minutes),
    ]
    if given.json:
        print(json.dumps([asdict(each) for each in found]))
    else:
        rows = [
            (each.settings, f"{each.megabytes_per_hour:.0f}", f"{each.log_lines_per_hour:.0f}")
            for each in found
        ]
        print(markdown(("settings", "MB written per hour", "log lines per hour"), rows))


def measure(name: str, chosen: dict[str, object], minutes: float) -> Writes:
    template = shipped_file(SETTINGS).read_text(encoding="utf-8")
    ours, theirs = split_cores()
    with (
        scratch() as home,
        origin(home, theirs) as site,
        linkmend(home, ours, settings=settings_text(template, chosen)) as proxy,
    ):
        read(proxy, site, _WARM_UP_S, "warm")
        proxy.come_to_rest()
        before, lines = written(proxy), log_lines(home)
        read(proxy, site, minutes * 60, "new")
        proxy.come_to_rest()
        time.sleep(1.0)
        scale = 60 / minutes
        return Writes(
            settings=name,
            megabytes_per_hour=(written(proxy) - before) / 1000**2 * scale,
            log_lines_per_hour=(log_lines(home) - lines) * scale,
            minutes=minutes,
        )


def read(proxy: Program, site: Program, seconds: float, word: str) -> None:
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{proxy.port}"})
    )
    base, begun, number = f"http://127.0.0.1:{site.port}", time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        ask(opener, f"{base}{CACHEABLE}kept-{number % 20}.html")
        if number % 4 == 0:
            ask(opener, f"{base}{CACHEABLE}{word}-{number}.html")
        if number % 20 == 0:
            ask(opener, f"{base}/dead/{word}-{number}.html")
        number += 1
        time.sleep(max(0.0, begun + number - time.monotonic()))


def ask(opener: urllib.request.OpenerDirector, url: str) -> None:
    try:
        opener.open(urllib.request.Request(url, headers=_NAVIGATION), timeout=30).read()
    except urllib.error.HTTPError as error:
        error.read()


def written(proxy: Program) -> int:
    total = 0
    for pid in proxy.pids():
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))
    return total


def log_lines(home: Path) -> int:
    return sum(
        len(path.read_bytes().splitlines()) for path in home.glob("*.log") if "origin" not in path.name
    )


if __name__ == "__main__":
    main()
