"""The admin pages of the rules: list, try, edit without loss, undo."""

import html
import re

import pytest

from proxy.rules.history import RuleEdits
from proxy.rules.live import LiveRules
from tests.desks import a_desk, an_admin

GOOD = '[[rule]]\nname = "{}"\ndomain = ".a.test"\naction = "block"\nreason = "no"\n'
BAD = '[[rule]]\nacton = "block"\n'
EDITOR = "/admin/rules/file?name=10.toml"


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


def field(page, name):
    return html.unescape(re.search(rf'name="{name}" value="([^"]*)"', page)[1])


def text_in(page):
    return html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[1])


async def saved(browser, text, *, seen=None, name="10.toml"):
    page = await browser.text(f"/admin/rules/file?name={name}")
    form = {"name": name, "text": text, "seen": field(page, "seen") if seen is None else seen}
    return await browser.post("/admin/rules/file", form)


async def test_the_rules_in_force_are_shown_in_order(browser):
    page = await browser.text("/admin/rules")
    assert "Active rules: 1" in page
    assert "10.toml:1" in page
    assert "domain .a" in page
    assert ">Rules</a>" in page


async def test_thousands_of_rules_are_shown_a_page_at_a_time(browser, edits):
    edits.save("20.toml", '[[rule]]\ndomain = "b.test"\naction = "pass"\n' * 250, by="test")
    page = await browser.text("/admin/rules?offset=100")
    assert "Active rules: 251" in page
    assert "offset=0" in page
    assert "offset=200" in page
    assert "20.toml:100" in page


async def test_error_is_shown_with_its_line_while_the_last_good_rules_stay(browser, edits):
    (edits.live.folder / "20.toml").write_text(BAD)
    edits.live.reload()
    page = await browser.text("/admin/rules")
    assert "Active rules: 1" in page
    assert "20.toml:2</a>: unknown key" in page


async def test_trial_page_shows_the_rule_that_applies_and_why(browser):
    page = await browser.text(
        "/admin/rules/test?url=http://www.a.test/x&client=10.0.0.1&time=10:30&miss=&content_type="
    )
    assert page.count("by “first”</span>: no") == 3
    assert "matches" in page
    assert "no rule applies" in await browser.text("/admin/rules/test?url=http://b.test/")


@pytest.mark.parametrize(
    "query", ["url=a.test", "url=http://a.test/&time=noon", "url=", "url=http://a.test/&miss=lost"]
)
async def test_invalid_trial_shows_an_error(browser, query):
    response = await browser.get(f"/admin/rules/test?{query}")
    assert response.status == 400


async def test_a_saved_file_is_in_force_at_once(browser, edits):
    response = await saved(browser, GOOD.format("second").replace("\n", "\r\n"))
    assert response.status == 303
    assert [rule.name for rule in edits.live.ruleset.rules] == ["second"]
    assert edits.text("10.toml") == GOOD.format("second")
    assert "saved and in force" in await browser.text("/admin/rules")


async def test_file_saved_while_another_is_faulty_takes_effect_later(browser, edits):
    (edits.live.folder / "20.toml").write_text(BAD)
    assert (await saved(browser, GOOD.format("second"))).status == 303
    assert "once the errors in the other files are fixed" in await browser.text("/admin/rules")
    assert [rule.name for rule in edits.live.ruleset.rules] == ["first"]


async def test_faulty_text_is_shown_again_with_its_errors(browser, edits):
    response = await saved(browser, BAD + "# <mine> & only\n")
    page = await response.text()
    assert response.status == 422
    assert 'line 2: <bdi lang="en">unknown key' in page
    assert "did you mean" in page
    assert text_in(page) == BAD + "# <mine> & only\n"
    assert [rule.name for rule in edits.live.ruleset.rules] == ["first"]


async def test_concurrent_edit_is_not_overwritten(browser, edits):
    seen = field(await browser.text(EDITOR), "seen")
    edits.save("10.toml", GOOD.format("theirs"), by="other")
    response = await saved(browser, GOOD.format("mine"), seen=seen)
    page = await response.text()
    assert response.status == 409
    assert text_in(page) == GOOD.format("mine")
    assert "theirs" in page
    again = await saved(browser, GOOD.format("mine"), seen=field(page, "seen"))
    assert again.status == 303
    assert [rule.name for rule in edits.live.ruleset.rules] == ["mine"]


async def test_a_new_file_begins_with_an_example(browser, edits):
    page = await browser.text("/admin/rules/file?name=20-new.toml")
    assert "New file" in page
    for action in ("block", "redirect", "pass"):  # each example is a rule once its # is gone
        example = next(part for part in text_in(page).split("\n\n") if f'"{action}"' in part)
        rule = "\n".join(line.removeprefix("# ") for line in example.splitlines()[1:])
        assert (await saved(browser, rule, name=f"{action}.toml")).status == 303
        (edits.live.folder / f"{action}.toml").unlink()
    assert (await saved(browser, GOOD.format("new"), name="20-new.toml")).status == 303
    assert edits.files() == ("10.toml", "20-new.toml")


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "x.txt", "%2e%2e%2fx.toml", ".toml"])
async def test_no_other_file_is_opened(browser, name):
    response = await browser.get(f"/admin/rules/file?name={name}")
    assert response.status == 400


async def test_no_other_file_is_written(browser, edits):
    response = await browser.post(
        "/admin/rules/file", {"name": "../evil.toml", "text": GOOD.format("x"), "seen": "new"}
    )
    assert response.status == 422
    assert not (edits.live.folder.parent / "evil.toml").exists()


async def test_edits_are_listed_with_what_changed_and_undone(browser, edits):
    await saved(browser, GOOD.format("second"))
    page = await browser.text("/admin/rules/history")
    assert "by the admin" in page
    assert '+name = "second"' in html.unescape(page)
    response = await browser.post("/admin/rules/undo", {"number": "1"})
    assert response.headers["Location"] == "/admin/rules/history"
    assert [rule.name for rule in edits.live.ruleset.rules] == ["first"]
    page = await browser.text("/admin/rules/history")
    assert "undid edit 1" in page
    assert "10.toml restored" in page


async def test_an_undo_that_cannot_be_done_says_why(browser, edits):
    await saved(browser, GOOD.format("second"))
    (edits.live.folder / "10.toml").write_text(GOOD.format("by hand"))
    await browser.post("/admin/rules/undo", {"number": "1"})
    assert "Not undone: 10.toml was changed since" in await browser.text("/admin/rules/history")


async def test_nothing_of_a_rule_or_an_address_runs_as_a_script(browser, edits):
    evil = "<script>alert(1)</script>"
    await saved(
        browser, f"[[rule]]\nname = '{evil}'\ndomain = 'a.test'\naction = 'block'\nreason = '{evil}'\n"
    )
    for path in (
        "/admin/rules",
        f"/admin/rules/test?url=http://a.test/{evil}",
        EDITOR,
        "/admin/rules/history",
    ):
        assert evil not in await browser.text(path)


async def test_a_change_without_the_forms_token_is_refused(browser, edits):
    form = {"name": "10.toml", "text": "", "seen": ""}
    assert (await browser.post("/admin/rules/file", form, token="wrong")).status == 403
    assert (await browser.post("/admin/rules/undo", {"number": "1"}, token="wrong")).status == 403
    assert [rule.name for rule in edits.live.ruleset.rules] == ["first"]
