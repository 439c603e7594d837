"""API calls: input is checked, errors have one form, and the OpenAPI document describes both."""

from typing import Annotated

import pytest
from aiohttp import web
from msgspec import Meta, Struct

from proxy.admin import app as desk_app
from proxy.admin.routing import ApiCall, ApiProblem
from tests.desks import a_desk, an_admin


class Wanted(Struct, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=10)] = 5


class Name(Struct, kw_only=True):
    number: Annotated[int, Meta(ge=0)]


class Thing(Struct, kw_only=True):
    word: Annotated[str, Meta(max_length=5)]


def routes(desk):
    async def list_things(given):
        return [Thing(word="a")] * given.query.limit

    async def show(given):
        if given.path.number > 5:
            raise ApiProblem(404, "there is no such thing")
        return Thing(word=str(given.path.number))

    async def make(given):
        return given.body

    async def export(given):
        return web.Response(text="word\na\n", content_type="text/csv")

    things = "/admin/api/things"
    return [
        ApiCall(
            method="GET", path=things, handler=list_things, summary="List", query=Wanted, answer=list[Thing]
        ),
        ApiCall(
            method="POST", path=things, handler=make, summary="Make", body=Thing, answer=Thing, status=201
        ),
        ApiCall(
            method="GET",
            path=things + "/{number}",
            handler=show,
            summary="Show",
            names=Name,
            answer=Thing,
            problems=(404,),
        ),
        ApiCall(
            method="GET",
            path=things + ".csv",
            handler=export,
            summary="Export",
            answer=str,
            media_type="text/csv",
        ),
    ]


@pytest.fixture
async def browser(tmp_path, monkeypatch):
    monkeypatch.setattr(desk_app, "FEATURES", (routes,))
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        browser.token_now = await browser.token("/admin/access")
        yield browser


async def made(browser, body, content_type="application/json"):
    headers = {"Origin": browser.origin, "Linkmend-CSRF": browser.token_now, "Content-Type": content_type}
    return await browser.client.post("/admin/api/things", data=body, headers=headers)


async def test_valid_request_is_answered(browser):
    assert await (await browser.get("/admin/api/things?limit=2")).json() == [{"word": "a"}, {"word": "a"}]
    assert await (await browser.get("/admin/api/things/3")).json() == {"word": "3"}
    response = await made(browser, b'{"word": "b"}')
    assert (response.status, await response.json()) == (201, {"word": "b"})
    assert (await browser.get("/admin/api/things.csv")).content_type == "text/csv"


async def test_invalid_request_is_answered_with_a_problem_document(browser):
    wrong = {
        "?limit=0": "$.limit",
        "?limit=x": "limit",
        "?limit=1&limit=2": "more than once",
        "?unknown=1": "unknown",
        "/x": "number",
    }
    for path, words in wrong.items():
        response = await browser.get("/admin/api/things" + path)
        assert (response.status, response.content_type) == (400, "application/problem+json"), path
        problem = await response.json()
        assert (problem["status"], problem["title"]) == (400, "Bad Request")
        assert words in problem["detail"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"word": 5}', b'{"word": "too long"}', b"[]", b'{"word": "\xff"}', b"[" * 100_000]
)
async def test_a_body_that_does_not_fit_is_refused(browser, body):
    assert (await made(browser, body)).status == 400


async def test_a_body_of_another_type_is_refused(browser):
    assert (await made(browser, b"word=a", "application/x-www-form-urlencoded")).status == 415


async def test_problem_raised_by_a_call_is_sent(browser):
    response = await browser.get("/admin/api/things/6")
    assert (response.status, (await response.json())["detail"]) == (404, "there is no such thing")


async def test_an_unknown_path_and_a_wrong_method_are_problems_too(browser):
    unknown = await browser.get("/admin/api/nothing")
    assert (unknown.status, unknown.content_type) == (404, "application/problem+json")
    wrong = await browser.client.delete(
        "/admin/api/things", headers={"Origin": browser.origin, "Linkmend-CSRF": browser.token_now}
    )
    assert (wrong.status, wrong.content_type) == (405, "application/problem+json")
    assert set(wrong.headers["Allow"].split(",")) == {"GET", "POST"}


async def test_document_describes_inputs_and_outputs(browser):
    document = await (await browser.get("/admin/api/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    things = document["paths"]["/admin/api/things"]
    assert things["get"]["parameters"] == [
        {
            "name": "limit",
            "in": "query",
            "required": False,
            "schema": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
        }
    ]
    sent = things["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert sent == {"$ref": "#/components/schemas/Thing"}
    assert document["components"]["schemas"]["Thing"]["properties"]["word"]["maxLength"] == 5
    assert {"201", "400", "401", "403", "413", "415"} <= set(things["post"]["responses"])
    one = document["paths"]["/admin/api/things/{number}"]["get"]
    assert one["parameters"][0]["in"] == "path"
    assert one["responses"]["404"]["content"] == {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    }
    assert "text/csv" in document["paths"]["/admin/api/things.csv"]["get"]["responses"]["200"]["content"]


async def test_every_operation_has_a_name_of_its_own(browser):
    document = await (await browser.get("/admin/api/openapi.json")).json()
    names = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(names) == len(set(names))
