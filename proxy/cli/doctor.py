"""`linkmend doctor`: checks the installation. `linkmend status`: how the running linkmend is doing."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from proxy.cli.options import Config, Data, Json, print_json, print_line, settings_from
from proxy.doctor.model import Finding, FindingLevel, fail, has_failed
from proxy.errors import LinkmendError, SettingsError
from proxy.runningmark import read_mark
from proxy.settings import Settings, default_data

_STYLES = {FindingLevel.OK: "green", FindingLevel.WARN: "yellow", FindingLevel.FAIL: "bold red"}


def doctor(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Check the installation, and say what to do about each problem. Changes nothing; exits with 1 on a failure."""
    try:
        settings = settings_from(config)
    except SettingsError as error:
        findings = [
            fail("settings", str(error), "correct the settings file; deploy/linkmend.toml lists all keys")
        ]
    else:
        findings = examine_now(settings, data or default_data())
    if as_json:
        for finding in findings:
            print_json({name: str(value) for name, value in asdict(finding).items()})
    else:
        print_findings(findings)
    if has_failed(findings):
        raise typer.Exit(1)


def examine_now(settings: Settings, data: Path) -> list[Finding]:
    from proxy.admin.auth.passwordcheck import check_password
    from proxy.doctor.examine import examine

    return asyncio.run(examine(settings, data.absolute(), (check_password,)))


def print_findings(findings: list[Finding]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        line = Text(f"{finding.level.upper():4} ", style=_STYLES[finding.level])
        console.print(line.append(f"{finding.check:{width}}  {finding.found}", style="default"))
        if finding.advice:
            console.print(Text(f"{'':{width + 7}}→ {finding.advice}"))
    counts = {level: sum(finding.level is level for finding in findings) for level in FindingLevel}
    console.print(
        f"{counts[FindingLevel.OK]} ok, {counts[FindingLevel.WARN]} warnings, {counts[FindingLevel.FAIL]} failures"
    )


def status(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Show how the running linkmend is doing. Exits with 1 if it does not run, or does not serve users."""
    from proxy.doctor.runningstatus import RunningStatus, status_of

    settings = settings_from(config)
    mark = read_mark(data or default_data())
    settings = mark.applied_to(settings) if mark is not None else settings
    if not settings.metrics.enabled:
        raise LinkmendError("metrics.enabled is off: only the desk can tell (page Health)")
    found: RunningStatus | None = asyncio.run(status_of(settings))
    if found is None:
        raise LinkmendError(
            f"not running: nobody answers at http://{settings.metrics.listen} (metrics.listen)"
        )
    if as_json:
        print_json(found)
    else:
        for name, value in _lines(found):
            print_line(f"{name + ':':22} {value}")
    if not found.ready:
        raise typer.Exit(1)


def _lines(found: Any) -> list[tuple[str, str]]:
    from proxy.sizes import size

    requests = sum(found.requests.values())
    ratio = "–" if found.hit_ratio is None else f"{found.hit_ratio * 100:.0f} %"
    return [
        ("state", "ready" if found.ready else found.state),
        ("requests since start", f"{requests:,}"),
        ("cache hits", ratio),
        ("bandwidth saved", size(found.saved_bytes)),
        ("downloaded", size(found.fetched_bytes)),
        ("repair pages", f"{sum(found.repaired.values()):,}"),
        ("open connections", f"{found.open_connections:,}"),
        ("queues", ", ".join(f"{name} {length}" for name, length in sorted(found.queues.items())) or "empty"),
        ("log entries lost", f"{found.lost_records:,}"),
        ("memory", size(found.resident_bytes)),
    ]
