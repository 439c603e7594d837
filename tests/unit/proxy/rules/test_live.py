"""proxy.rules.live: edits come into force by themselves, bad ones never do."""

import asyncio
import logging
import shutil
import time
from contextlib import asynccontextmanager, suppress

import pytest

from proxy.rules.live import LiveRules

BLOCK = '[[rule]]\nname = "{}"\ndomain = "a.test"\naction = "block"\n'


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "rules.d"
    place.mkdir()
    (place / "10.toml").write_text(BLOCK.format("first"))
    return place


@asynccontextmanager
async def watched(live):
    task = asyncio.ensure_future(live.watch())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def becomes(live, names, fault=None, within_s=2.0):
    begun = time.monotonic()
    while [rule.name for rule in live.ruleset.rules] != names or (fault or "") not in (live.fault or ""):
        assert time.monotonic() - begun < within_s, (live.ruleset.rules, live.fault)
        await asyncio.sleep(0.02)


def test_the_rules_of_the_folder_are_in_force_from_the_start(folder):
    live = LiveRules(folder)
    assert [rule.name for rule in live.ruleset.rules] == ["first"]
    assert live.fault is None


async def test_an_edit_takes_effect_within_two_seconds(folder):
    live = LiveRules(folder)
    async with watched(live):
        (folder / "10.toml").write_text(BLOCK.format("second"))
        await becomes(live, ["second"])
        (folder / "05.toml").write_text(BLOCK.format("zeroth"))
        await becomes(live, ["zeroth", "second"])
        (folder / "10.toml").unlink()
        await becomes(live, ["zeroth"])


async def test_an_edit_of_a_list_takes_effect_too(folder):
    (folder / "list.txt").write_text("a.test\n")
    (folder / "10.toml").write_text('[[rule]]\ndomain_list = "list.txt"\naction = "block"\n')
    live = LiveRules(folder, look_every_s=0.02)
    async with watched(live):
        (folder / "list.txt").write_text("b.test\n")
        async with asyncio.timeout(2):
            while live.ruleset.rules[0].when.domains.entries != {"b.test"}:
                await asyncio.sleep(0.02)


async def test_a_bad_edit_keeps_the_last_valid_rules_and_is_logged_once(folder, caplog):
    live = LiveRules(folder, look_every_s=0.02)
    with caplog.at_level(logging.ERROR):
        async with watched(live):
            (folder / "20.toml").write_text("[[rule]]\nx = 1\n")
            await becomes(live, ["first"], fault="20.toml:2: unknown key 'x'")
            (folder / "notes.txt").write_text("something else changed")
            await asyncio.sleep(0.2)
    told = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(told) == 1
    assert "20.toml:2" in told[0].getMessage()


async def test_a_mended_edit_comes_into_force(folder):
    (folder / "10.toml").write_text("[[rule")
    live = LiveRules(folder, look_every_s=0.02)
    assert not live.ruleset
    assert live.fault
    async with watched(live):
        (folder / "10.toml").write_text(BLOCK.format("good"))
        await becomes(live, ["good"])
    assert live.fault is None


async def test_a_folder_may_go_and_come(folder):
    live = LiveRules(folder, look_every_s=0.02)
    async with watched(live):
        shutil.rmtree(folder)
        await becomes(live, [])
        folder.mkdir()
        (folder / "10.toml").write_text(BLOCK.format("again"))
        await becomes(live, ["again"])


async def test_a_file_is_not_read_while_it_is_being_written(folder, caplog):
    live = LiveRules(folder, look_every_s=0.3)
    text = BLOCK.format("slow")
    async with watched(live):
        with (folder / "10.toml").open("w") as file:
            for at in range(
                0, len(text), 4
            ):  # half a second and more, never longer without a change than a moment
                file.write(text[at : at + 4])
                file.flush()
                await asyncio.sleep(0.03)
        await becomes(live, ["slow"])
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_start_with_bad_rules_goes_on_with_the_last_good_ones(folder, tmp_path):
    kept = tmp_path / "kept.json"
    (folder / "list.txt").write_text("b.test\n")
    (folder / "20.toml").write_text('[[rule]]\nname = "list"\ndomain_list = "list.txt"\naction = "block"\n')
    LiveRules(folder, kept=kept)
    (folder / "10.toml").write_text("[[rule")
    (folder / "list.txt").unlink()
    live = LiveRules(folder, kept=kept)
    assert [rule.name for rule in live.ruleset.rules] == ["first", "list"]
    assert live.ruleset.rules[1].when.domains.entries == {"b.test"}
    assert "10.toml:1" in live.fault


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b'{"10.toml": 3}', b'{"10.toml": "x"}'])
def test_without_a_usable_copy_a_start_with_bad_rules_has_none(folder, tmp_path, content):
    (folder / "10.toml").write_text("[[rule")
    kept = tmp_path / "kept.json"
    if content is not None:
        kept.write_bytes(content)
    live = LiveRules(folder, kept=kept)
    assert not live.ruleset
    assert live.fault
