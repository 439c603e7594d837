"""The way out and in: names, the parent, web archives, and pages through the running proxy."""

import asyncio
import ssl
from pathlib import Path

import aiohttp

from proxy.doctor.model import Finding, Installation, fail, ok, warn
from proxy.errors import LinkmendError, SettingsError
from proxy.http.parentprobe import ParentState, probe_parent
from proxy.portal.addresses import PORTAL_HOST
from proxy.settings import Settings, split_address
from repair.memento.archive import parse_archives

_WITHIN_S = 8.0
_TEST_HOST = "example.org"
_NO_PARENT = "start it, or correct proxy.parent; until then no page comes in from outside"
_NO_INTERNET = "without the internet, users get what is saved; check cable, router and /etc/resolv.conf"


async def check_names(installation: Installation) -> list[Finding]:
    if (why := _needs_no_internet(installation.settings)) is not None:
        return [ok("dns", why)]
    try:
        async with asyncio.timeout(_WITHIN_S):
            await asyncio.get_running_loop().getaddrinfo(_TEST_HOST, 443)
    except (OSError, TimeoutError) as error:
        return [warn("dns", f"{_TEST_HOST} has no address here ({_reason(error)})", _NO_INTERNET)]
    return [ok("dns", f"{_TEST_HOST} has an address")]


def _needs_no_internet(settings: Settings) -> str | None:
    if settings.proxy.offline:
        return "not needed: proxy.offline is set"
    return "left to the parent" if settings.proxy.parent else None


async def check_parent(installation: Installation) -> list[Finding]:
    parent = installation.settings.proxy.parent
    if not parent:
        return [ok("parent", "none set: sites are asked directly")]
    probe = await probe_parent(parent)
    match probe.state:
        case ParentState.UP:
            return [ok("parent", f"{parent} answers")]
        case ParentState.DENIED:
            advice = "if pages do not come, allow this machine in the parent's http_access rules"
            return [warn("parent", f"{parent}: {probe.detail}", advice)]
        case ParentState.WRONG:
            return [fail("parent", f"{parent} is no HTTP proxy: {probe.detail}", _NO_PARENT)]
    return [fail("parent", f"{parent} does not answer ({probe.detail})", _NO_PARENT)]


async def check_district(installation: Installation) -> list[Finding]:
    """Whether the district's database takes this school's login."""
    settings = installation.settings.district
    if not settings.database:
        return [ok("district", "no database is set: nothing is shared with other schools")]
    try:
        from proxy.district.membership import status
    except ImportError as error:
        return [
            fail(
                "district",
                f"linkmend[district] is not installed: {error}",
                "install it, or clear the setting",
            )
        ]
    try:
        found = await asyncio.to_thread(status, settings, installation.data)
    except SettingsError as error:
        return [fail("district", str(error), "docs/district.md says how a school joins")]
    except LinkmendError as error:
        return [
            warn(
                "district",
                str(error),
                "until then what is to be shared waits, and users get this school's own",
            )
        ]
    if found.has_left:
        return [ok("district", "this school has left; `linkmend district join` takes part again")]
    told = f"{found.school}; {found.waiting} changes wait, {found.taking_part} schools take part"
    return [ok("district", told)]


async def check_archives(installation: Installation) -> list[Finding]:
    settings = installation.settings
    if not settings.archives.enabled:
        return [ok("archives", "switched off (archives.enabled)")]
    if (why := _needs_no_internet(settings)) is not None:
        return [ok("archives", why)]
    hosts = sorted({host for archive in parse_archives(settings.archives.list) for host in archive.hosts})
    silent = [
        host
        for host, reached in zip(hosts, await asyncio.gather(*map(_is_reached, hosts)), strict=True)
        if not reached
    ]
    if not silent:
        return [ok("archives", f"{len(hosts)} hosts can be reached")]
    return [
        warn(
            "archives",
            f"cannot be reached: {', '.join(silent)}",
            "repair pages work without; " + _NO_INTERNET,
        )
    ]


async def _is_reached(host: str) -> bool:
    name, _, port = host.partition(":")
    try:
        async with asyncio.timeout(_WITHIN_S):
            _, writer = await asyncio.open_connection(name, int(port or 443))
            writer.close()
    except (OSError, TimeoutError):
        return False
    return True


async def check_pages(installation: Installation) -> list[Finding]:
    """One page over http and one over https, of linkmend itself: that needs no internet."""
    settings = installation.settings.proxy
    if not installation.running:
        return [
            warn(
                "pages",
                "linkmend is not running here, so no page was fetched",
                "start it, and run this again",
            )
        ]
    if settings.mode not in ("regular", "upstream") and not settings.mode.startswith("upstream:"):
        return [ok("pages", f"not tried in mode {settings.mode}: browsers do not know the proxy")]
    host, port = split_address(settings.listen)
    reached = host if host not in ("", "0.0.0.0", "::") else "127.0.0.1"  # noqa: S104
    proxy = f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
    authority = installation.data / "ca" / "mitmproxy-ca-cert.pem"
    return [await _page("http", proxy, None), await _page("https", proxy, authority)]


async def _page(scheme: str, proxy: str, authority: Path | None) -> Finding:
    check, url = f"page ({scheme})", f"{scheme}://{PORTAL_HOST}/"
    try:
        context = ssl.create_default_context(cafile=str(authority)) if authority else None
        limit = aiohttp.ClientTimeout(total=_WITHIN_S)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(url, proxy=proxy, ssl=context or True, headers={"Accept": "text/html"}) as response,
        ):
            status = response.status
    except (aiohttp.ClientError, ssl.SSLError, OSError, TimeoutError) as error:
        advice = "look into linkmend's log"
        if scheme == "https":
            advice += (
                "; if http works, the certificate in the data folder is not the one in use: restart linkmend"
            )
        return fail(check, f"{url} through {proxy}: {_reason(error)}", advice)
    if status != 200:
        return fail(
            check, f"{url} through {proxy}: status {status}", "this machine may be outside proxy.clients"
        )
    return ok(check, f"{url} through {proxy}")


def _reason(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error  # its own text names objects
    return (str(error) or "no answer in time").partition("\n")[0][:200]
