"""The set-up at the desk: the same choices as `linkmend setup`, once, and then what `linkmend doctor` finds."""

import contextlib
import dataclasses
import os
import signal
import sys

import pytest

from proxy.admin.imports import DeskImports
from proxy.runningmark import RunningSettings
from proxy.settings import Settings, load
from proxy.setup.installation import is_done, note_done
from tests.desks import a_browser, a_desk, an_admin, app_of

PATH = "/admin/setup"
GIVEN = {
    "listen": "0.0.0.0:8080",
    "networks": "10.0.5.0/24 10.0.6.0/24",
    "parent": "",
    "contact": "Ms Achieng, room 12",
    "content": "none",
}


@contextlib.asynccontextmanager
async def a_new_desk(folder, *, config):
    """The desk of a linkmend that was started with this settings file, and runs in this process."""
    running = RunningSettings(
        pid=os.getpid(),
        listen="0.0.0.0:8080",
        mode="regular",
        parent="",
        offline=False,
        desk="",
        metrics="",
        config=str(config),
    )
    settings = Settings()
    settings = dataclasses.replace(settings, metrics=dataclasses.replace(settings.metrics, enabled=False))
    async with a_desk(folder, settings=settings, running=lambda: running) as desk:
        yield desk


@pytest.fixture
def config(tmp_path):
    return tmp_path / "etc" / "linkmend.toml"


@pytest.fixture
async def browser(tmp_path, config):
    async with a_new_desk(tmp_path / "data", config=config) as desk, an_admin(desk) as browser:
        yield browser


@pytest.fixture(autouse=True)
def reloads():
    """How often the proxy was told to read its settings."""
    told = []
    before = signal.signal(signal.SIGHUP, lambda *_: told.append(1))
    yield told
    signal.signal(signal.SIGHUP, before)


async def test_who_sets_the_first_password_comes_to_the_set_up(tmp_path, config):
    async with a_new_desk(tmp_path / "data", config=config) as desk:
        app = app_of(desk)
        async with a_browser(app) as browser:
            fields = {"password": "correct horse", "again": "correct horse", "code": app.login.setup_code}
            response = await browser.post("/admin/first-password", fields, token="")
            assert response.headers["Location"] == PATH
            assert "Finish the set-up" in await browser.text("/admin")


async def test_choices_are_written_once_and_taken_over(browser, config, reloads, tmp_path):
    page = await browser.text(PATH)
    assert "SHA-256" in page
    assert (await browser.post(PATH, GIVEN)).status == 303
    settings = load(config, environment={})
    assert settings.proxy.clients == ("127.0.0.0/8", "::1/128", "10.0.5.0/24", "10.0.6.0/24")
    assert settings.proxy.contact == "Ms Achieng, room 12"
    assert "#workers = 0" in config.read_text()
    assert reloads == [1]
    text = config.read_text()
    await browser.post(PATH, {**GIVEN, "parent": "http://203.0.113.5:3128", "use_parent": "yes"})
    assert config.read_text() == text
    assert "Finish the set-up" not in await browser.text("/admin")


@pytest.mark.parametrize(("content", "leads_to"), [("own", "/admin/collection/import"), ("demo", PATH)])
async def test_pages_to_begin_with_are_imported(tmp_path, config, content, leads_to):
    async with a_new_desk(tmp_path / "data", config=config) as plain:
        imports = DeskImports(
            tmp_path / "data", Settings, command=(sys.executable, "-c", "print('imported')")
        )
        async with an_admin(dataclasses.replace(plain, imports=imports)) as browser:
            assert 'value="own"' in await browser.text(PATH)
            response = await browser.post(PATH, {**GIVEN, "content": content})
            assert response.headers["Location"] == leads_to
            assert (imports.latest is not None) == (content == "demo")
        await imports.close()


async def test_result_shows_what_the_doctor_finds(browser, tmp_path):
    note_done(tmp_path / "data")
    page = await browser.text(PATH)
    assert "What to do:" in page
    assert 'name="listen"' not in page


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"listen": "everywhere"}, "HOST:PORT"),
        ({"networks": "all of them"}, "proxy.clients"),
        ({"parent": "squid"}, "proxy.parent"),
        ({"parent": "http://127.0.0.1:1"}, "does not answer"),
    ],
)
async def test_mistake_comes_back_with_all_that_was_typed(browser, config, changed, words):
    response = await browser.post(PATH, {**GIVEN, **changed})
    text = await response.text()
    assert response.status == 400
    assert words in text
    assert "Ms Achieng, room 12" in text
    assert not config.exists()


async def test_parent_that_does_not_answer_may_be_used_all_the_same(browser, config):
    given = {**GIVEN, "parent": "http://127.0.0.1:1", "parent_https": "connect", "use_parent": "yes"}
    assert (await browser.post(PATH, given)).status == 303
    proxy = load(config, environment={}).proxy
    assert (proxy.parent, proxy.parent_https) == ("http://127.0.0.1:1", "connect")


async def test_file_that_cannot_be_written_is_shown_to_be_copied(browser, config, tmp_path):
    config.parent.write_text("a file in the folder's place")
    response = await browser.post(PATH, GIVEN)
    text = await response.text()
    assert response.status == 400
    assert "10.0.5.0/24" in text
    assert "readonly" in text
    assert not is_done(tmp_path / "data", None)


async def test_settings_that_somebody_wrote_count_as_a_set_up(tmp_path, config):
    config.parent.mkdir()
    config.write_text("[proxy]\nworkers = 2\n")
    async with a_new_desk(tmp_path / "data", config=config) as desk, an_admin(desk) as browser:
        assert 'name="listen"' not in await browser.text(PATH)
