"""All checks, in the order in which an admin would look."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from proxy.doctor.files import check_certificate, check_data, check_rules, check_stores
from proxy.doctor.machine import check_clock, check_disk, check_memory, check_ports, check_python
from proxy.doctor.model import Check, Finding, Installation, fail
from proxy.doctor.network import check_archives, check_district, check_names, check_pages, check_parent
from proxy.runningmark import read_mark
from proxy.settings import Settings

CHECKS: tuple[Check, ...] = (
    check_python,
    check_clock,
    check_memory,
    check_data,
    check_disk,
    check_stores,
    check_certificate,
    check_rules,
    check_ports,
    check_names,
    check_parent,
    check_archives,
    check_district,
    check_pages,
)


async def examine(settings: Settings, data: Path, further: Sequence[Check] = ()) -> list[Finding]:
    """The findings of all checks, and of `further` ones; a check that fails itself is a failure too."""
    checks = (*CHECKS, *further)
    mark = await asyncio.to_thread(read_mark, data)
    settings = mark.applied_to(settings) if mark is not None else settings
    running = mark is not None or await is_running(settings)
    installation = Installation(settings=settings, data=data, running=running)
    answers = await asyncio.gather(*(check(installation) for check in checks), return_exceptions=True)
    findings: list[Finding] = []
    for check, answer in zip(checks, answers, strict=True):
        if isinstance(answer, Exception):
            name = check.__name__.removeprefix("check_")
            findings.append(
                fail(name, f"cannot be checked: {answer!r}", "run this as the user who runs linkmend")
            )
        elif isinstance(answer, BaseException):
            raise answer
        else:
            findings += answer
    return findings


async def is_running(settings: Settings) -> bool:
    """Whether a linkmend with these settings answers on the port for monitoring."""
    if not settings.metrics.enabled:
        return False
    try:
        limit = aiohttp.ClientTimeout(total=5)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(f"http://{settings.metrics.listen}/healthz") as response,
        ):
            return await response.text() == "ok\n"
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return False
