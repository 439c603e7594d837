"""What an admin should put right: the cheap checks of `linkmend doctor`, and what the running proxy sees."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proxy.doctor.files import check_certificate
from proxy.doctor.machine import check_clock, check_disk, check_memory
from proxy.doctor.model import Check, Finding, FindingLevel, Installation, fail, warn
from proxy.monitoring.health import HealthReport
from proxy.pages.desktexts import tr
from proxy.settings import Settings
from proxy.version import installed_at

_CHECKS: tuple[Check, ...] = (check_clock, check_disk, check_memory, check_certificate)
CHECK_NAMES = {
    "clock": tr("Clock"),
    "disk": tr("Disk"),
    "memory": tr("Memory"),
    "certificate": tr("Certificate"),
    "rules": tr("Rules"),
    "parent": tr("Parent proxy"),
    "internet": tr("Internet"),
    "archives": tr("Web archives"),
    "collection": tr("Collection"),
    "log": tr("Log"),
    "updates": tr("Updates"),
}
_OLD = timedelta(days=365)
_ENOUGH_DEVICES = 5
_TRUSTING = 0.6


async def setup_warnings(settings: Settings, data: Path, report: HealthReport) -> list[Finding]:
    """All that needs attention, failures first."""
    installation = Installation(settings=settings, data=data, running=True)
    found = [
        *await asyncio.to_thread(_check, installation),
        *running_warnings(report),
        *age_warnings(await asyncio.to_thread(installed_at), datetime.now(UTC)),
    ]
    attention = [each for each in found if each.level is not FindingLevel.OK]
    return sorted(attention, key=lambda each: each.level is not FindingLevel.FAIL)


def _check(installation: Installation) -> list[Finding]:
    """In a thread of their own, since they read files."""

    async def check_all() -> list[Finding]:
        return [finding for check in _CHECKS for finding in await check(installation)]

    return asyncio.run(check_all())


def running_warnings(report: HealthReport) -> list[Finding]:
    """What only the running proxy knows (pure)."""
    return [
        *_rules(report),
        *_parent(report),
        *_internet(report),
        *_trust(report),
        *_archives(report),
        *_collection(report),
        *_lost_records(report),
    ]


def _rules(report: HealthReport) -> list[Finding]:
    if not report.rules_fault:
        return []
    advice = tr("correct them under Rules; until then the last valid rules stay in force")
    return [fail("rules", report.rules_fault, advice)]


def _parent(report: HealthReport) -> list[Finding]:
    if not report.parent_fault:
        return []
    advice = tr("start it, or correct proxy.parent; until then users get only what is saved")
    return [fail("parent", report.parent_fault, advice)]


def _internet(report: HealthReport) -> list[Finding]:
    if report.line != "down" or report.parent_fault:
        return []
    advice = tr("check the line; users get saved copies until it is back")
    return [fail("internet", tr("no site answers"), advice)]


def _trust(report: HealthReport) -> list[Finding]:
    devices, trusting = report.trust.devices, report.trust.trusting
    if devices < _ENOUGH_DEVICES or trusting / devices >= _TRUSTING:
        return []
    found = tr(
        "{trusting} of the {devices} devices that used https today trust the certificate",
        trusting=trusting,
        devices=devices,
    )
    return [
        warn("certificate", found, tr("install it on the others: they find it at http://linkmend.internal/"))
    ]


def _archives(report: HealthReport) -> list[Finding]:
    if not report.archives or any(archive.state == "asked" for archive in report.archives):
        return []
    if all(archive.state == "off" for archive in report.archives):
        return []
    return [
        warn(
            "archives",
            tr("no web archive answers"),
            tr("nothing to do if that is short; else see archives.endpoints"),
        )
    ]


def _collection(report: HealthReport) -> list[Finding]:
    if report.held_pages:
        return []
    advice = tr("pages come in as users read; linkmend import and linkmend crawl bring more")
    return [warn("collection", tr("no page is saved yet, so none can be suggested"), advice)]


def age_warnings(installed: datetime | None, now: datetime) -> list[Finding]:
    """Whether this version has been here for too long (pure). linkmend asks nobody whether there is a newer one."""
    if installed is None or now - installed < _OLD:
        return []
    found = tr("linkmend has not been updated for {days} days", days=(now - installed).days)
    return [warn("updates", found, tr("see whether there is a newer version, and update"))]


def _lost_records(report: HealthReport) -> list[Finding]:
    if not report.lost_records:
        return []
    found = tr("{count} entries of the dead link log were lost", count=report.lost_records)
    return [
        warn("log", found, tr("see the warnings below: a full disk, or one network with very many misses"))
    ]
