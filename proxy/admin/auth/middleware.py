"""Who gets to the desk, and what every answer of it goes out with: the one place that guards pages and calls.

In this order: the address under which the desk is asked (a name that somebody else may point at us is refused, or
any page could talk to the desk by rebinding its own name), the networks that may see it, who asks (a session's
cookie, or a program's token, which opens what its scopes say), and for a change the proof that the admin asked for
it: the browser says that the request comes from a page of the desk, and the form or the script shows the session's
own token.
"""

import asyncio
import hmac
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import quote

from aiohttp import web

from proxy.desk.api import problem_response
from proxy.desk.door import Door
from proxy.desk.frame import VISIT, Problem, Visit, form, render, visit_of
from proxy.desk.passwords import Passwords
from proxy.desk.scopes import refusal
from proxy.desk.sessions import Sessions
from proxy.errors import LinkmendError
from proxy.portal.helper import PORTAL_HOST
from proxy.settings import DeskSettings
from repair.errors import RepairError

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

API = "/admin/api/"
LOGIN = "/admin/login"
CSRF_HEADER = "Linkmend-CSRF"
_OF_PROXIES = ("Via", "Forwarded", "X-Forwarded-For")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: under that a browser sends `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    """The middlewares of the desk, and what they need to decide."""

    def __init__(
        self, settings: Callable[[], DeskSettings], passwords: Passwords, sessions: Sessions, door: Door
    ) -> None:
        self._settings = settings
        self._passwords = passwords
        self._sessions = sessions
        self._door = door
        self.open_to_all: set[str] = set()
        """Paths that are shown without a login."""

    async def arm(self, request: web.Request, response: web.StreamResponse) -> None:
        """What every answer carries (a signal of aiohttp, since a stream's headers leave before its middleware)."""
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.pop("Server", None)

    @web.middleware
    async def answer_all(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Whatever goes wrong becomes a page, or for a program a problem document."""
        try:
            self._meet(request)
            return await handler(request)
        except Problem as problem:
            return _told(request, problem)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            kept = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
            return _told(request, Problem(error.status, HTTPStatus(error.status).description, kept))
        except (LinkmendError, RepairError) as error:
            log.warning("the desk could not answer %s: %s", request.path, error)
            return _told(request, Problem(503, str(error)))
        except ConnectionError:
            return web.Response(status=400)  # whoever asked has left, and nobody reads this
        except TimeoutError:
            return _told(request, Problem(408, "the request took too long to arrive"))
        except Exception:
            log.exception("the desk failed on %s %s", request.method, request.path)
            return _told(request, Problem(500, "something went wrong; the log tells more"))

    @web.middleware
    async def let_in(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Only an admin passes; for a change, only one who asked for it."""
        visit = visit_of(request)
        await self._recognise(request, visit)
        for_all = request.path in self.open_to_all
        if not visit.is_admin and not for_all:
            return _to_login(request)
        if visit.by_token and not for_all:
            _check_scope(request, visit)
        if request.method not in _SAFE and not visit.by_token:
            _check_origin(request, visit)
            if not for_all:
                await _check_token(request, visit)
        return await handler(request)

    def _meet(self, request: web.Request) -> None:
        """Find out who asks, under which name. Raises Problem for those whom nothing is told."""
        passed = self._door.passed(request.headers)
        host = request.headers.get("Host", "")
        if passed is not None:
            visit = Visit(
                client=passed.client, origin=passed.origin, secure=passed.secure, through_proxy=True
            )
        else:
            relayed = any(name in request.headers for name in _OF_PROXIES)
            visit = Visit(client=request.remote or "", origin=f"http://{host}", relayed=relayed)
        request[VISIT] = visit
        settings = self._settings()
        if passed is None and not _own_name(host, settings.names):
            raise Problem(421, "the desk is not known by this name; see desk.names in the settings")
        if passed is not None and not settings.through_proxy:
            raise Problem(404, "the desk is not shown through the proxy")
        if settings.clients and not _within(visit.client, settings.clients):
            raise Problem(403, "the desk is not shown at this address; see desk.clients in the settings")

    async def _recognise(self, request: web.Request, visit: Visit) -> None:
        kept = await asyncio.to_thread(self._passwords.kept)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            scopes = await asyncio.to_thread(self._passwords.scopes_of, token.strip())
            visit.by_token, visit.scopes = scopes is not None, scopes or frozenset()
            return
        cookie = request.cookies.get(cookie_name(visit))
        if cookie and kept.password is not None:
            visit.session = self._sessions.find(
                cookie, generation=kept.generation, secure=visit.secure, now=time.monotonic()
            )


def cookie_name(visit: Visit) -> str:
    """The prefix makes a browser take it over https only, from this very host."""
    return "__Host-linkmend-desk" if visit.secure else "linkmend-desk"


def _own_name(host: str, names: tuple[str, ...]) -> bool:
    """An address cannot be rebound, a name can: only names that the admin listed count."""
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if name.lower() == "localhost" or name.lower() in names:
        return name.lower() != PORTAL_HOST
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _within(client: str, networks: tuple[str, ...]) -> bool:
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(network) for network in networks)


def _check_scope(request: web.Request, visit: Visit) -> None:
    """Raises Problem when a token does not open what is asked for."""
    resource = request.match_info.route.resource
    if resource is None:
        return  # there is no such address, or no such method of it, and the handler says so
    why = refusal(request.method, resource.canonical, visit.scopes)
    if why:
        raise Problem(403, why)


def _check_origin(request: web.Request, visit: Visit) -> None:
    """Every browser says where a change comes from. Raises Problem when that is not a page of the desk."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if (
        site not in (None, "same-origin")
        or origin not in (None, visit.origin)
        or (site is None and origin is None)
    ):
        raise Problem(403, "this change was not asked for on a page of the desk")


async def _check_token(request: web.Request, visit: Visit) -> None:
    shown = request.headers.get(CSRF_HEADER, "")
    if not shown and not request.path.startswith(API):
        shown = (await form(request)).get("csrf", "")
    expected = visit.session.csrf if visit.session else ""
    if not expected or not hmac.compare_digest(shown.encode("utf-8", "replace"), expected.encode()):
        raise Problem(403, "the form is out of date; open the page again and repeat what you did")


def _to_login(request: web.Request) -> web.StreamResponse:
    if request.path.startswith(API):
        raise Problem(401, "log in, or show a token of the desk", {"WWW-Authenticate": "Bearer"})
    wanted = f"?next={quote(request.path_qs, safe='')}" if request.method == "GET" else ""
    return web.Response(status=303, headers={"Location": LOGIN + wanted})


def _told(request: web.Request, problem: Problem) -> web.StreamResponse:
    if request.path.startswith(API):
        return problem_response(problem)
    response = render(
        request,
        "desk/problem.html.jinja",
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
    )
    response.headers.update(problem.headers)
    return response
