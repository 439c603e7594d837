"""Imports at the desk: only what lies in the folder, one at a time, and the end is told."""

import asyncio
import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from proxy.admin.imports import DeskImports, ImportRefused, ImportState
from proxy.settings import Settings
from repair.collection.collection import Collection
from tests.desks import a_desk, an_admin

PATH = "/admin/collection/import"
PAGE = "<!doctype html><html lang=en><title>Herons</title><p>" + "Herons wait in the shallow water. " * 20


@contextlib.asynccontextmanager
async def imports_of(data, *, command=None):
    known = {} if command is None else {"command": (sys.executable, "-c", command)}
    imports = DeskImports(data, Settings, **known)
    try:
        yield imports
    finally:
        await imports.close()


async def ended(imports):
    await imports.wait()
    return imports.latest


async def first_words(imports):
    for _ in range(1_000):
        if imports.latest.said:
            break
        await asyncio.sleep(0.02)
    return imports.latest.said


async def is_gone(number):
    for _ in range(1_000):
        if not await asyncio.to_thread(Path(f"/proc/{number}").exists):
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.fixture
def data(tmp_path):
    (tmp_path / "import" / "herons").mkdir(parents=True)
    (tmp_path / "import" / "herons" / "heron.html").write_text(PAGE)
    return tmp_path


async def test_a_folder_of_pages_is_imported_under_its_address(data):
    async with imports_of(data) as imports:
        await imports.begin("herons", "http://birds.test/")
        done = await ended(imports)
    assert (done.state, done.name) == (ImportState.DONE, "herons"), done.said
    assert "1 pages" in done.said
    with Collection.open(data / "collection", Settings().collection) as collection:
        assert collection.get("http://birds.test/heron.html").title == "Herons"


async def test_a_damaged_file_fails_and_says_why(data):
    (data / "import" / "cut.warc").write_bytes(
        b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99\r\n\r\nabc"
    )
    async with imports_of(data) as imports:
        await imports.begin("cut.warc")
        done = await ended(imports)
    assert done.state is ImportState.FAILED
    assert "cut.warc" in done.said


@pytest.mark.parametrize("name", ["../collection", "..", "", "/etc/passwd", "link", ".hidden", "gone.warc"])
async def test_nothing_outside_the_folder_is_imported(data, name):
    (data / "secret.warc").write_bytes(b"")
    (data / "import" / "link").symlink_to(data / "secret.warc")
    (data / "import" / ".hidden").write_bytes(b"")
    async with imports_of(data) as imports:
        assert [each.name for each in imports.waiting()] == ["herons"]
        with pytest.raises(ImportRefused):
            await imports.begin(name)
        assert imports.latest is None


async def test_an_address_that_is_none_is_refused(data):
    async with imports_of(data) as imports:
        with pytest.raises(ImportRefused, match="not a web address"):
            await imports.begin("herons", "javascript:alert(1)")


async def test_one_import_goes_on_at_a_time_and_stops_with_the_desk(data):
    command = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    async with imports_of(data, command=command) as imports:
        await imports.begin("herons")
        with pytest.raises(ImportRefused, match="herons is being imported"):
            imports.begin_demo()
        number = int(await first_words(imports))
    assert imports.latest.state is ImportState.FAILED
    assert await is_gone(number)


async def test_only_the_end_of_what_an_import_says_is_kept(data):
    async with imports_of(data, command="print('x' * 100_000); print('the end')") as imports:
        await imports.begin("herons")
        said = (await ended(imports)).said
    assert said.endswith("the end")
    assert len(said) <= 4_096


async def test_admin_imports_at_the_desk_and_sees_the_end(data):
    async with (
        a_desk(data) as plain,
        imports_of(data, command="print('1 <b>pages</b>')") as imports,
        an_admin(replace(plain, imports=imports)) as browser,
    ):
        assert PATH in await browser.text("/admin/collection")
        assert "herons" in await browser.text(PATH)
        response = await browser.post(PATH, {"name": "herons", "base_url": "http://birds.test/"})
        assert response.status == 303
        await ended(imports)
        assert "1 &lt;b&gt;pages&lt;/b&gt;" in await browser.text(PATH)
        await browser.post(PATH, {"name": "../collection"})
        assert "no longer in the folder" in await browser.text(PATH)
        assert "herons" in await browser.text("/admin/audit")
