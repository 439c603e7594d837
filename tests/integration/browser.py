"""Debian's Chromium, driven by playwright, behind the proxy under test, whose CA it trusts in a HOME of its own."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, sync_playwright

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # names such as school.test are the proxy's to resolve; without this Chromium asks the network about itself
    "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
]


@contextlib.contextmanager
def launched(
    path: str, home: Path, *, proxy: str | None = None, certutil: str = "", ca: Path | None = None
) -> Iterator[Browser]:
    """A fresh browser, in which each `new_context` is another person."""
    home.mkdir(parents=True, exist_ok=True)
    if ca is not None:
        _trust(certutil, home, ca)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=_FLAGS,
            env={**os.environ, "HOME": str(home)},
            proxy={"server": proxy, "bypass": "<-loopback>"} if proxy else None,
        )
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def chromium(
    path: str,
    home: Path,
    *,
    proxy: str | None = None,
    certutil: str = "",
    ca: Path | None = None,
    **options: object,
) -> Iterator[BrowserContext]:
    """A fresh browser; `options` go to playwright's new_context (locale, color_scheme, viewport, ...)."""
    with launched(path, home, proxy=proxy, certutil=certutil, ca=ca) as browser:
        yield browser.new_context(**options)


def _trust(certutil: str, home: Path, ca: Path) -> None:
    database = home / ".pki" / "nssdb"
    database.mkdir(parents=True, exist_ok=True)
    subprocess.run([certutil, "-N", "-d", f"sql:{database}", "--empty-password"], check=True)
    subprocess.run(
        [certutil, "-A", "-d", f"sql:{database}", "-n", "linkmend", "-t", "C,,", "-i", str(ca)], check=True
    )
