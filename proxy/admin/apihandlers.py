"""The API handlers: each checks what a program sends against what the call declares. All errors have one form."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from proxy.admin.routing import ApiCall, ApiProblem, ApiRequest

PROBLEM_TYPE = "application/problem+json"
_BODY_S = 20.0


class ProblemDocument(msgspec.Struct, kw_only=True):
    """An error as a problem document (RFC 9457)."""

    status: int
    title: str
    detail: str


def problem_response(problem: ApiProblem) -> web.Response:
    document = ProblemDocument(
        status=problem.status, title=HTTPStatus(problem.status).phrase, detail=str(problem.detail)
    )
    return web.Response(
        status=problem.status,
        body=msgspec.json.encode(document),
        content_type=PROBLEM_TYPE,
        headers=problem.headers,
    )


def handler_of(call: ApiCall) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Wrap the call as an aiohttp handler."""

    async def handle(request: web.Request) -> web.StreamResponse:
        given = ApiRequest(
            request=request,
            path=_convert(dict(request.match_info), call.names, "path"),
            query=_convert(_query(request, call), call.query, "query"),
            body=await _body(request, call),
        )
        answer = await call.handler(given)
        if isinstance(answer, web.StreamResponse):
            return answer
        if call.status == 204:
            return web.Response(status=204)
        return web.Response(
            status=call.status, body=msgspec.json.encode(answer), content_type="application/json"
        )

    return handle


def _query(request: web.Request, call: ApiCall) -> dict[str, str]:
    """The query parameters. Repeated and undeclared names are errors: a misspelt filter must not show everything."""
    known = {field.encode_name for field in msgspec.structs.fields(call.query)} if call.query else set()
    for name in request.query:
        if name not in known:
            raise ApiProblem(400, f"query: {name!r} is not a known parameter")
        if len(request.query.getall(name)) > 1:
            raise ApiProblem(400, f"query: {name!r} is given more than once")
    return dict(request.query)


def _convert(values: dict[str, str], expected: type[msgspec.Struct] | None, where: str) -> Any:
    if expected is None:
        return None
    try:
        return msgspec.convert(values, expected, strict=False)
    except msgspec.ValidationError as error:
        raise ApiProblem(400, f"{where}: {error}") from error


async def _body(request: web.Request, call: ApiCall) -> Any:
    if call.body is None:
        return None
    if request.content_type != "application/json":
        raise ApiProblem(415, "the body must be application/json")
    async with asyncio.timeout(_BODY_S):
        sent = await request.read()
    try:
        return msgspec.json.decode(sent, type=call.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiProblem(400, f"body: {error}") from error
