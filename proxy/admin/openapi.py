"""The OpenAPI 3.1 document of the admin API, built from what the calls declare (pure)."""

import inspect
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from proxy.admin.apihandlers import PROBLEM_TYPE, ProblemDocument
from proxy.admin.auth.scopes import ABOUT, scope_of
from proxy.admin.routing import ApiCall

_REF = "#/components/schemas/{name}"
_OF_ALL = (401, 403, 408, 421, 500, 503)


def document(calls: Iterable[ApiCall], *, version: str) -> dict[str, Any]:
    """The whole document, ready to be written as JSON."""
    listed = sorted(calls, key=lambda call: (call.path, call.method))
    types = [each for call in listed for each in (call.answer, call.body) if each is not None]
    schemas, components = msgspec.json.schema_components([*types, ProblemDocument], ref_template=_REF)
    schema_of = dict(zip((repr(each) for each in types), schemas, strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for call in listed:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "linkmend admin desk",
            "version": version,
            "description": inspect.cleandoc(_ABOUT),
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Scopes: "
                    + "; ".join(f"{scope}: {about}" for scope, about in ABOUT.items()),
                },
                "session": {"type": "apiKey", "in": "cookie", "name": "linkmend-desk"},
            },
        },
        "security": [{"token": []}, {"session": []}],
    }


_ABOUT = """
    Programs send a token created with `linkmend desk token NAME --scope SCOPE`. Each call lists the scope that it
    needs; no call creates tokens. Scripts on the desk's own pages use the session cookie and send the session's
    CSRF token in the header Linkmend-CSRF with every change.
"""


def _operation(call: ApiCall, schema_of: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _name(call),
        "summary": call.summary,
        "security": [*({"token": [scope]} for scope in _scopes(call)), {"session": []}],
        "responses": {str(call.status): _answer(call, schema_of), **_problems(call)},
    }
    parameters = [*_parameters(call.names, "path"), *_parameters(call.query, "query")]
    if parameters:
        operation["parameters"] = parameters
    if call.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_of[repr(call.body)]}},
        }
    return operation


def _scopes(call: ApiCall) -> tuple[str, ...]:
    scope = scope_of(call.method, call.path)
    return () if scope is None else (str(scope),)


def _answer(call: ApiCall, schema_of: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(call.status).phrase}
    if call.answer is not None:
        response["content"] = {call.media_type: {"schema": schema_of[repr(call.answer)]}}
    return response


def _problems(call: ApiCall) -> dict[str, Any]:
    statuses = {*_OF_ALL, *call.problems, 400}  # a query may always contain an unknown parameter
    if call.body is not None:
        statuses |= {413, 415}
    content = {PROBLEM_TYPE: {"schema": {"$ref": _REF.format(name="ProblemDocument")}}}
    return {
        str(status): {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted(statuses)
    }


def _parameters(declared: type[msgspec.Struct] | None, place: str) -> list[dict[str, Any]]:
    if declared is None:
        return []
    (_,), components = msgspec.json.schema_components([declared], ref_template=_REF)
    schema = components[declared.__name__]
    return [
        {
            "name": name,
            "in": place,
            "required": place == "path" or name in schema.get("required", ()),
            "schema": _resolve(about, components),
        }
        for name, about in schema["properties"].items()
    ]


def _resolve(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema in one piece: an enum would be a reference to a component that is not written out."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        return dict(components[name])
    if "anyOf" in schema:
        return {**schema, "anyOf": [_resolve(each, components) for each in schema["anyOf"]]}
    return schema


def _name(call: ApiCall) -> str:
    words = (
        call.path.removeprefix("/admin/api/").replace("{", "").replace("}", "").replace(".", "/").split("/")
    )
    return "_".join([call.method.lower(), *words])
