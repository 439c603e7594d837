"""The style sheets and scripts of the admin pages: a few files, read once at the start."""

from pathlib import Path

from aiohttp import web

from proxy.admin.routing import Handler

_FOLDER = Path(__file__).parents[1] / "pages" / "static"
_FILES = {
    "page.css": "text/css",
    "desk.css": "text/css",
    "home.js": "text/javascript",
    "live.js": "text/javascript",
    "queue.js": "text/javascript",
}


_OF_TEACHERS = ("page.css", "desk.css")


def handlers() -> list[tuple[str, Handler]]:
    """Their paths and handlers; the login page needs them too, so they need no login. Teachers may be where the desk
    may not be opened, so theirs have paths of their own.
    """
    made = {name: _handler((_FOLDER / name).read_bytes(), media_type) for name, media_type in _FILES.items()}
    return [
        *((f"/admin/static/{name}", handler) for name, handler in made.items()),
        *((f"/teach/static/{name}", made[name]) for name in _OF_TEACHERS),
    ]


def _handler(body: bytes, media_type: str) -> Handler:
    async def send(request: web.Request) -> web.StreamResponse:
        response = web.Response(body=body, content_type=media_type, charset="utf-8")
        response.headers["Cache-Control"] = "private, max-age=300"
        return response

    return send
