"""Authentication and authorisation of the admin server, and the security headers of its responses.

The middleware checks, in this order: the Host header (it refuses a name that somebody else may point at us, because
any page could reach the admin server by DNS rebinding); the client's network; the session cookie or API token,
which allows what its role or scopes say; and for a change, CSRF protection: the browser's Origin must be the admin
server, and the form or script must send the CSRF token of the session. Changes go into the audit log.
"""

import asyncio
import hmac
import ipaddress
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import quote

from aiohttp import web

from proxy.admin.apihandlers import problem_response
from proxy.admin.auditlog import AuditLog
from proxy.admin.auth.passwords import Passwords
from proxy.admin.auth.scopes import refusal
from proxy.admin.gateway import forwarded_client
from proxy.admin.roles import TEACH, Role, may
from proxy.admin.routing import VISIT, ApiProblem, PageRequest, form, page_request_of, render
from proxy.admin.sessions import Sessions
from proxy.errors import LinkmendError
from proxy.pages.desktexts import tr
from proxy.portal.addresses import PORTAL_HOST
from proxy.settings import Settings
from repair.errors import RepairError

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
IsGateway = Callable[[web.Request], bool]

API = "/admin/api/"
LOGIN = "/admin/login"
TEACH_LOGIN = f"{TEACH}/login"
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
    # Not no-referrer: with it a browser sends `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


_PHRASES = {
    400: tr("Bad Request"),
    403: tr("Forbidden"),
    404: tr("Not Found"),
    405: tr("Method Not Allowed"),
    408: tr("Request Timeout"),
    409: tr("Conflict"),
    413: tr("Request Entity Too Large"),
    421: tr("Misdirected Request"),
    429: tr("Too Many Requests"),
    500: tr("Internal Server Error"),
    503: tr("Service Unavailable"),
}


class AuthMiddleware:
    """The middlewares of the admin server, and what they need to decide."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        passwords: Passwords,
        sessions: Sessions,
        is_gateway: IsGateway,
        audit: AuditLog,
    ) -> None:
        self._settings = settings
        self._passwords = passwords
        self._sessions = sessions
        self._is_gateway = is_gateway
        self._audit = audit
        self.open_to_all: set[str] = set()
        """Paths that need no login, as they are declared."""
        self.body_limits: dict[str, int] = {}
        """How large a body may be where it may be larger than that of a form."""

    async def arm(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add the security headers. A signal of aiohttp, because the headers of a stream are sent before its
        middleware returns.
        """
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.pop("Server", None)

    @web.middleware
    async def answer_all(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn every error into a page, or for a program into a problem document."""
        try:
            self._meet(request)
            return await handler(request)
        except ApiProblem as problem:
            return _problem_page(request, problem)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            kept = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
            return _problem_page(
                request, ApiProblem(error.status, _PHRASES.get(error.status, error.reason), kept)
            )
        except (LinkmendError, RepairError) as error:
            log.warning("desk: request failed for %s: %s", request.path, error)
            return _problem_page(request, ApiProblem(503, str(error)))
        except ConnectionError:
            return web.Response(status=400)  # the client has disconnected, nobody reads this
        except TimeoutError:
            return _problem_page(request, ApiProblem(408, tr("the request took too long to arrive")))
        except Exception:
            log.exception("desk: internal error for %s %s", request.method, request.path)
            return _problem_page(
                request, ApiProblem(500, tr("something went wrong; see the log for details"))
            )

    @web.middleware
    async def let_in(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let only those pass whose role allows it, and for a change only with a valid CSRF token."""
        visit = page_request_of(request)
        await self._recognise(request, visit)
        path = _declared_path(request)
        for_all = path in self.open_to_all
        if not visit.is_logged_in and not for_all:
            return _to_login(request)
        if not for_all and path:
            _check_role(request.method, path, visit)
        if request.method in _SAFE:
            return await handler(request)
        if not visit.by_token:
            _check_origin(request, visit)
        if not for_all and path in self.body_limits:
            request = request.clone(client_max_size=self.body_limits[path])
        if not visit.by_token and not for_all:
            await _check_token(request, visit)
        response = await handler(request)
        if not for_all:  # a login notes itself
            await asyncio.to_thread(
                self._audit.note,
                f"{request.method} {path}",
                who=visit.account,
                role=visit.role or "",
                about=visit.about,
                status=response.status,
            )
        return response

    def _meet(self, request: web.Request) -> None:
        """Find out which client sends a request, and to which host name. Raises ApiProblem if it may not."""
        passed = forwarded_client(request.headers) if self._is_gateway(request) else None
        host = request.headers.get("Host", "")
        if passed is not None:
            visit = PageRequest(
                client=passed.client, origin=passed.origin, secure=passed.secure, through_proxy=True
            )
        else:
            relayed = any(name in request.headers for name in _OF_PROXIES)
            visit = PageRequest(client=request.remote or "", origin=f"http://{host}", relayed=relayed)
        request[VISIT] = visit
        settings = self._settings().desk
        if passed is None and not _own_name(host, settings.names):
            raise ApiProblem(
                421, tr("the desk does not answer to this host name; add it to desk.names in the settings")
            )
        if is_teaching(request.path):
            if not self._settings().teach.enabled:
                raise ApiProblem(
                    404, tr("there are no pages for teachers here; see teach.enabled in the settings")
                )
            return
        if passed is not None and not settings.through_proxy:
            raise ApiProblem(404, tr("the desk is not available through the proxy"))
        if settings.clients and not _within(visit.client, settings.clients):
            raise ApiProblem(403, tr("your address may not open the desk; see desk.clients in the settings"))

    async def _recognise(self, request: web.Request, visit: PageRequest) -> None:
        kept = await asyncio.to_thread(self._passwords.load)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            known = await asyncio.to_thread(self._passwords.find_token, token.strip())
            if known is not None:
                visit.by_token, visit.scopes, visit.token_name = True, frozenset(known.scopes), known.name
            return
        cookie = request.cookies.get(cookie_name(visit))
        if cookie:
            today = datetime.now(UTC)
            visit.session = self._sessions.find(
                cookie,
                generation_of=lambda name: kept.generation_of(name, today),
                secure=visit.secure,
                now=time.monotonic(),
            )


def is_teaching(path: str) -> bool:
    """Whether a path is one of teachers and lessons, who need not be where the desk may be opened."""
    return path == TEACH or path.startswith((f"{TEACH}/", "/l/"))


def is_gateway(request: web.Request) -> bool:
    """Whether a request came by the unix socket that only linkmend's own user can open."""
    accepted = request.transport.get_extra_info("socket") if request.transport is not None else None
    return accepted is not None and accepted.family == socket.AF_UNIX


def cookie_name(visit: PageRequest) -> str:
    """The `__Host-` prefix makes a browser accept the cookie over https only, and from this host only."""
    return "__Host-linkmend-desk" if visit.secure else "linkmend-desk"


def _own_name(host: str, names: tuple[str, ...]) -> bool:
    """An IP address cannot be rebound, a name can: only names that the admin listed are accepted."""
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


def _declared_path(request: web.Request) -> str:
    """The path as it was declared; "" when there is no such address or method, and the handler says so."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else ""


def _check_role(method: str, path: str, visit: PageRequest) -> None:
    """Raises ApiProblem when the role, or the scopes of the token, do not allow what the request wants."""
    if visit.by_token:
        why = refusal(method, path, visit.scopes)
    else:
        allowed = visit.role is not None and may(visit.role, method, path)
        why = "" if allowed else tr("your account may not do this; ask the admin")
    if why:
        raise ApiProblem(403, why)


def _check_origin(request: web.Request, visit: PageRequest) -> None:
    """Every browser sends the origin of a change. Raises ApiProblem when that is not the admin server."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if (
        site not in (None, "same-origin")
        or origin not in (None, visit.origin)
        or (site is None and origin is None)
    ):
        raise ApiProblem(403, tr("rejected: this request did not come from a page of the desk"))


async def _check_token(request: web.Request, visit: PageRequest) -> None:
    shown = request.headers.get(CSRF_HEADER, "")
    if not shown and not request.path.startswith(API):
        shown = (await form(request)).get("csrf", "")
    expected = visit.session.csrf if visit.session else ""
    if not expected or not hmac.compare_digest(shown.encode("utf-8", "replace"), expected.encode()):
        raise ApiProblem(403, tr("this form has expired; reload the page and try again"))


def _to_login(request: web.Request) -> web.StreamResponse:
    if request.path.startswith(API):
        raise ApiProblem(401, tr("log in, or send a desk token"), {"WWW-Authenticate": "Bearer"})
    wanted = f"?next={quote(request.path_qs, safe='')}" if request.method == "GET" else ""
    at = TEACH_LOGIN if is_teaching(request.path) else LOGIN
    return web.Response(status=303, headers={"Location": at + wanted})


def _problem_page(request: web.Request, problem: ApiProblem) -> web.StreamResponse:
    if request.path.startswith(API):
        return problem_response(problem)
    response = render(
        request,
        "desk/problem.html.jinja",
        title=_PHRASES.get(problem.status, HTTPStatus(problem.status).phrase),
        status=problem.status,
        detail=problem.detail,
        home=TEACH
        if is_teaching(request.path) or page_request_of(request).role is Role.TEACHER
        else "/admin",
    )
    response.headers.update(problem.headers)
    return response
