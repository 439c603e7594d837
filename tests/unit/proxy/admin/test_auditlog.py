"""The audit log: what is written, what is not, and how it stays small."""

from datetime import UTC, datetime

from proxy.admin.auditlog import AuditLog
from proxy.admin.roles import Role
from tests.desks import PASSWORD, a_browser, a_desk, an_admin, cheap_passwords

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)


def test_newest_entry_comes_first(tmp_path):
    log = AuditLog(tmp_path / "audit.jsonl", clock=lambda: NOON)
    log.note("one", who="admin")
    log.note("two", who="Ms A", role=Role.TEACHER, about="lesson")
    newest, oldest = log.recent(5)
    assert (newest.action, newest.who, newest.about, oldest.action) == ("two", "Ms A", "lesson", "one")


def test_file_is_for_its_owner_alone(tmp_path):
    AuditLog(tmp_path / "audit.jsonl").note("one", who="admin")
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_full_file_makes_room_and_the_last_entries_stay(tmp_path):
    log = AuditLog(tmp_path / "audit.jsonl", max_bytes=1_000)
    for number in range(100):
        log.note(f"number {number}", who="admin")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2_000
    assert log.recent(1)[0].action == "number 99"


def test_damaged_and_hostile_lines_cost_only_themselves(tmp_path):
    log = AuditLog(tmp_path / "audit.jsonl")
    log.note("a\nb\ud800", who="x" * 10_000)
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b"{broken\n\xff\xfe\n" + b"x" * 10_000 + b"\n")
    assert [entry.action for entry in log.recent(10)] == ["a\nb?"]
    assert (tmp_path / "audit.jsonl").read_bytes().count(b"\n") == 4


async def test_change_is_written_with_who_did_it(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        assert (await browser.post("/admin/users/code", {"name": "7b", "days": "10"})).status == 200
    entry = AuditLog(tmp_path / "audit.jsonl").recent(1)[0]
    assert (entry.who, entry.action, entry.about, entry.status) == (
        "admin",
        "POST /admin/users/code",
        "7b",
        200,
    )


async def test_failed_login_is_written_without_what_was_typed(tmp_path):
    cheap_passwords(tmp_path).set_password(PASSWORD)
    cheap_passwords(tmp_path).set_account("Ms A", Role.TEACHER, PASSWORD)
    async with a_desk(tmp_path) as desk, a_browser(desk) as browser:
        for name in ("Ms A", "my secret, in the wrong field"):
            await browser.post("/admin/login", {"username": name, "password": "no such"}, token="")
    assert [entry.who for entry in AuditLog(tmp_path / "audit.jsonl").recent(5)] == ["", "Ms A"]
    assert b"secret" not in (tmp_path / "audit.jsonl").read_bytes()


async def test_audit_page_escapes_names(tmp_path):
    AuditLog(tmp_path / "audit.jsonl").note("<script>", who="<b>")
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        text = await browser.text("/admin/audit")
    assert "&lt;script&gt;" in text
    assert "<b>" not in text.partition("Audit log")[2]
