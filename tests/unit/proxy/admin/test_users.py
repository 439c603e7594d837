"""The admin pages of accounts: what is shown once, and who can log in with it."""

import re
from datetime import UTC, datetime, timedelta

from proxy.admin.roles import Role
from tests.desks import a_desk, an_admin, cheap_passwords

NOW = datetime.now(UTC)


def shown_secret(text):
    return re.search(r'class="token">([^<]+)<', text)[1]


async def test_new_account_has_the_password_that_is_shown_once(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        response = await browser.post("/admin/users/add", {"name": "Ms Achieng", "role": "teacher"})
        password = shown_secret(await response.text())
        assert cheap_passwords(tmp_path).verify("ms achieng", password, NOW).role is Role.TEACHER
        assert password not in await browser.text("/admin/users")
        assert password.encode() not in (tmp_path / "desk.json").read_bytes()


async def test_class_code_logs_in_without_a_name_until_it_ends(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        response = await browser.post("/admin/users/code", {"name": "7b", "days": "30"})
        code = shown_secret(await response.text())
    passwords = cheap_passwords(tmp_path)
    assert passwords.verify("", code.lower().replace("-", " "), NOW).name == "7b"
    assert passwords.verify("", code, NOW + timedelta(days=31)) is None
    assert passwords.verify("7b", code, NOW) is None


async def test_unsuitable_names_roles_and_days_are_refused(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        for name in ("", "Admin", "<b>", "x" * 61, "\x00"):
            response = await browser.post("/admin/users/add", {"name": name, "role": "teacher"})
            assert response.status == 400, name
        assert (await browser.post("/admin/users/add", {"name": "A", "role": "king"})).status == 400
        for days in ("0", "-1", "1e3", "", "99999"):
            response = await browser.post("/admin/users/code", {"name": "A", "days": days})
            assert response.status == 400, days
    assert cheap_passwords(tmp_path).load().accounts == ()


async def test_account_can_be_removed(tmp_path):
    cheap_passwords(tmp_path).set_account("Ms A", Role.TEACHER, "correct horse")
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        assert (await browser.post("/admin/users/remove", {"name": "ms a"})).status == 303
    assert cheap_passwords(tmp_path).load().accounts == ()
