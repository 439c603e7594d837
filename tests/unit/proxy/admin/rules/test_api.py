"""The API of the rules."""

import pytest

from proxy.rules.history import RuleEdits
from proxy.rules.live import LiveRules
from tests.desks import a_desk, an_admin

GOOD = '[[rule]]\nname = "{}"\ndomain = ".a.test"\naction = "block"\n'
API = "/admin/api/rules"


@pytest.fixture
def edits(tmp_path):
    folder = tmp_path / "rules.d"
    folder.mkdir()
    (folder / "10.toml").write_text(GOOD.format("first"))
    return RuleEdits(LiveRules(folder), tmp_path / "history")


@pytest.fixture
async def browser(tmp_path, edits):
    async with a_desk(tmp_path, rules=edits) as desk, an_admin(desk) as browser:
        yield browser


async def answer(browser, method, path, status=200, **more):
    response = await browser.call(method, API + path, **more)
    assert response.status == status, await response.text()
    return await response.json()


async def test_rules_in_force_are_listed_with_errors(browser, edits):
    (edits.live.folder / "20.toml").write_text("[[rule]]\nx = 1\n")
    edits.live.reload()
    told = await answer(browser, "GET", "")
    assert told["total"] == 1
    assert told["rules"][0]["when"] == ["domain .a.test"]
    assert told["faults"][0]["file"] == "20.toml"
    assert told["faults"][0]["line"] == 2


async def test_trial_names_the_rule_that_applies(browser):
    told = await answer(browser, "GET", "/test?url=http://a.test/&miss=gone")
    assert [trial["outcome"]["rule"] for trial in told] == ["first"] * 3
    await answer(browser, "GET", "/test?url=nothing", status=400)


async def test_files_are_listed_read_and_saved(browser, edits):
    assert await answer(browser, "GET", "/files") == ["10.toml"]
    file = await answer(browser, "GET", "/files/10.toml")
    assert file["text"] == GOOD.format("first")
    version = await answer(
        browser, "PUT", "/files/10.toml", json={"text": GOOD.format("second"), "seen": file["seen"]}
    )
    assert version["number"] == 1
    assert edits.live.ruleset.rules[0].name == "second"
    stale = {"text": GOOD.format("third"), "seen": file["seen"]}
    await answer(browser, "PUT", "/files/10.toml", json=stale, status=409)
    await answer(browser, "GET", "/files/none.toml", status=404)


async def test_faulty_rules_are_not_saved_and_all_errors_are_listed(browser, edits):
    bad = {"text": '[[rule]]\nx = 1\n[[rule]]\naction = "no"\n'}
    told = await answer(browser, "PUT", "/files/10.toml", json=bad, status=422)
    assert "10.toml:2: unknown key 'x'" in told["detail"]
    assert "10.toml:4: action" in told["detail"]
    faults = await answer(browser, "POST", "/files/10.toml/check", json=bad)
    assert [fault["line"] for fault in faults["faults"]] == [2, 4]
    assert edits.live.ruleset.rules[0].name == "first"


async def test_edits_are_listed_and_undone(browser, edits):
    await answer(browser, "PUT", "/files/10.toml", json={"text": GOOD.format("second")})
    undone = await answer(browser, "POST", "/undo", json={})
    assert undone["undoes"] == 1
    assert edits.live.ruleset.rules[0].name == "first"
    history = await answer(browser, "GET", "/history?limit=10")
    assert [(each["number"], each["undone"]) for each in history] == [(2, False), (1, True)]
    await answer(browser, "POST", "/undo", json={}, status=404)
    await answer(browser, "POST", "/undo", json={"number": 99}, status=404)
    (edits.live.folder / "10.toml").write_text(GOOD.format("by hand"))
    await answer(browser, "POST", "/undo", json={"number": 2}, status=409)


@pytest.mark.parametrize("name", ["x.txt", "..toml", "%2e%2e%2fx.toml", "a%00.toml", "a.toml%0a"])
async def test_no_other_file_is_touched(browser, name):
    response = await browser.call("PUT", f"{API}/files/{name}", json={"text": ""})
    assert response.status in (400, 404, 422)


async def test_the_calls_are_in_the_document(browser):
    document = await (await browser.call("GET", "/admin/api/openapi.json")).json()
    assert f"{API}/files/{{name}}" in document["paths"]
    assert set(document["paths"][f"{API}/files/{{name}}"]) >= {"get", "put"}
