"""`linkmend report`."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from tests.missed import a_miss, note

NOW = datetime.now(UTC)


@pytest.fixture
def data(tmp_path):
    with closing(MissStore(tmp_path / "data" / "misses", MissesSettings())) as store:
        note(
            store,
            *(a_miss(n, at=NOW - timedelta(seconds=n), client=f"{n:016x}") for n in range(4)),
        )
    return tmp_path / "data"


def run(*arguments, data):
    done = CliRunner().invoke(app, ["report", *map(str, arguments), "--data", str(data)])
    if isinstance(done.exception, LinkmendError):
        raise done.exception
    return done


def today():
    return f"{(NOW - timedelta(seconds=2)).astimezone():%Y-%m-%d}"


def test_a_report_goes_to_standard_output_or_into_a_folder(data, tmp_path):
    done = run("week", "--with", today(), data=data)
    assert "http://www.school.test/gone" in done.stdout
    assert "0123456789" not in done.stdout  # no user's code
    (tmp_path / "reports").mkdir()
    done = run("month", "--with", today(), "--format", "csv", "--out", tmp_path / "reports", data=data)
    (file,) = (tmp_path / "reports").iterdir()
    assert done.stdout.strip() == str(file)
    assert file.name == f"linkmend-{today()[:7]}.csv"
    assert file.read_text(encoding="utf-8").startswith("part,name,users")


def test_without_a_day_it_is_the_last_week_that_is_over(data):
    assert "http://www.school.test/gone" not in run(data=data).stdout


def test_the_report_is_in_the_language_asked_for(data):
    assert "Páginas no encontradas" in run("--language", "es", data=data).stdout
    with pytest.raises(LinkmendError, match=r"--language xx: not one of en, es, fr, pt, ar, sw, hi"):
        run("--language", "xx", data=data)


def test_mail_needs_its_settings(data):
    with pytest.raises(LinkmendError, match="mail.server, mail.sender and report.to"):
        run("--mail", data=data)


def test_a_wrong_data_folder_is_named(tmp_path):
    with pytest.raises(LinkmendError, match="no dead link log"):
        run(data=tmp_path / "elsewhere")
