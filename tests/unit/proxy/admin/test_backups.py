"""A backup from the desk: whole but for the cache and the authority's key, for admins, never in plain text."""

import pytest

from proxy.backup.restorer import restore
from tests.desks import a_desk, an_admin, through_proxy


@pytest.fixture
async def browser(tmp_path):
    data = tmp_path / "data"
    (data / "ca").mkdir(parents=True)
    (data / "ca" / "mitmproxy-ca.pem").write_text("the key")
    (data / "lessons").mkdir()
    (data / "lessons" / "notes.txt").write_text("a lesson")
    async with a_desk(data) as desk, an_admin(desk) as browser:
        yield browser


async def test_backup_is_downloaded_and_can_be_restored(browser, tmp_path):
    response = await browser.post("/admin/access/backup")
    assert response.status == 200, await response.text()
    assert "attachment" in response.headers["Content-Disposition"]
    file, again = tmp_path / "backup.tar.zst", tmp_path / "again"
    file.write_bytes(await response.read())
    restore(file, again)
    assert (again / "lessons" / "notes.txt").read_text() == "a lesson"
    assert (again / "desk.json").exists()
    assert not (again / "ca").exists()
    assert not list((tmp_path / "data").glob(".backup-desk*"))


async def test_backup_does_not_cross_the_network_in_plain_text(browser):
    headers = {**through_proxy("10.0.5.7", secure=False), "Origin": "http://linkmend.internal"}
    response = await browser.post("/admin/access/backup", headers=headers)
    assert response.status in (303, 403)
    assert (await browser.post("/admin/access/backup", token="wrong")).status == 403
