"""How teachers log in: over https, with a name and password or a class code; and how their pages are rendered."""

from aiohttp import web

from proxy.admin.auth.middleware import TEACH_LOGIN
from proxy.admin.auth.signin import SignIn, is_local
from proxy.admin.roles import TEACH
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    Handler,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.pages.language import Catalogue, choose
from proxy.portal.addresses import PORTAL, PORTAL_HOST

SECURE_TEACH = f"https://{PORTAL_HOST}{TEACH}"


def texts_for(request: web.Request) -> Catalogue:
    """The texts in the language that the browser asks for."""
    return choose(request.headers.get("Accept-Language"))


def render_teach(
    request: web.Request, template: str, *, title: str, status: int = 200, **values: object
) -> web.Response:
    """Render a page of teachers or pupils; its template also gets the texts as `t`."""
    response = render(
        request, template, title=title, status=status, t=texts_for(request), portal=f"{PORTAL}/", **values
    )
    response.headers["Vary"] = "Accept-Language"
    return response


class TeachAccess:
    """The login of teachers."""

    def __init__(self, admin: AdminContext, sign_in: SignIn) -> None:
        self._admin = admin
        self._sign_in = sign_in

    def routes(self) -> list[Route]:
        return [
            AdminPage(path=TEACH_LOGIN, handler=self._show, open_to_all=True),
            AdminPage(path=TEACH_LOGIN, handler=self._log_in, method="POST", open_to_all=True),
            AdminPage(path=f"{TEACH}/logout", handler=self._log_out, method="POST"),
        ]

    def over_https(self, handler: Handler) -> Handler:
        """The handler, for requests that nobody on the network can read; others are shown the way to https."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return self._lead_to_https(request) if self._is_exposed(request) else await handler(request)

        return handle

    def _is_exposed(self, request: web.Request) -> bool:
        visit = page_request_of(request)
        return self._admin.settings().teach.https and not visit.secure and not is_local(visit)

    def _lead_to_https(self, request: web.Request) -> web.Response:
        texts = texts_for(request)
        return render_teach(
            request, "teach/https.html.jinja", title=str(texts("teach.title")), secure=SECURE_TEACH
        )

    async def _show(self, request: web.Request) -> web.StreamResponse:
        if self._is_exposed(request):
            return self._lead_to_https(request)
        if page_request_of(request).is_logged_in:
            return see_other(request, TEACH)
        return self._page(request)

    def _page(self, request: web.Request, *, status: int = 200, fault: str = "") -> web.Response:
        visit, texts = page_request_of(request), texts_for(request)
        return render_teach(
            request,
            "teach/login.html.jinja",
            title=str(texts("teach.title")),
            status=status,
            fault=fault,
            plain=not visit.secure and not is_local(visit),
            secure=SECURE_TEACH,
            next=request.query.get("next", ""),
        )

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        if self._is_exposed(request):
            return self._lead_to_https(request)
        fields = await form(request)
        name, password = fields.get("name", ""), fields.get("password", "")
        if code := fields.get("code", ""):
            name, password = "", code
        session = await self._sign_in.check(page_request_of(request), name, password)
        if session is None:
            return self._page(request, status=403, fault=str(texts_for(request)("teach.wrong")))
        wanted = fields.get("next", "")
        return await self._sign_in.begin(request, session, wanted if wanted.startswith(TEACH) else TEACH)

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        return self._sign_in.end(request, TEACH_LOGIN)
