"""The mark of a running linkmend; a lock is seen by other processes only."""

import os
import subprocess
import sys
from pathlib import Path

from proxy.runningmark import FILE, RunningMark, read_mark
from proxy.settings import AdminSettings, MetricsSettings, ProxySettings, Settings

ROOT = Path(__file__).parents[3]
SETTINGS = Settings(
    proxy=ProxySettings(parent="http://127.0.0.1:3128"),
    desk=AdminSettings(enabled=False),
    metrics=MetricsSettings(listen="127.0.0.1:9200"),
)


def seen_by_another_process(data):
    code = f"from pathlib import Path; from proxy.runningmark import read_mark; print(read_mark(Path({str(data)!r})))"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    ).stdout.strip()


def test_others_see_where_it_really_listens(tmp_path):
    mark = RunningMark(tmp_path)
    mark.set(SETTINGS, "127.0.0.1:3129")
    told = seen_by_another_process(tmp_path)
    assert f"pid={os.getpid()}" in told
    assert "listen='127.0.0.1:3129'" in told
    mark.set(SETTINGS, "127.0.0.1:31")
    assert "listen='127.0.0.1:31'" in seen_by_another_process(tmp_path)
    mark.remove()
    assert seen_by_another_process(tmp_path) == "None"
    assert not (tmp_path / FILE).exists()


def test_a_forked_child_does_not_keep_the_mark(tmp_path):
    code = f"""
import os, time
from pathlib import Path
from proxy.runningmark import RunningMark
from proxy.settings import Settings
RunningMark(Path({str(tmp_path)!r})).set(Settings(), "127.0.0.1:1")
if os.fork() == 0:
    os.close(1), os.close(2), time.sleep(30)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT, timeout=25
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / FILE).exists()
    assert read_mark(tmp_path) is None


def test_what_another_program_left_there_is_no_mark(tmp_path):
    (tmp_path / FILE).write_text("{}")
    assert read_mark(tmp_path) is None
    assert read_mark(tmp_path / "nowhere") is None


def test_a_folder_that_cannot_be_written_is_only_logged(tmp_path, caplog):
    RunningMark(tmp_path / "nowhere").set(SETTINGS, "")
    assert "linkmend doctor" in caplog.text


def test_the_settings_are_those_that_run():
    from proxy.runningmark import RunningSettings

    running = RunningSettings(
        pid=1, listen="127.0.0.1:1", mode="regular", parent="", offline=True, desk="", metrics="127.0.0.1:2"
    )
    settings = running.applied_to(Settings())
    assert (settings.proxy.listen, settings.proxy.offline) == ("127.0.0.1:1", True)
    assert (settings.desk.enabled, settings.metrics.listen) == (False, "127.0.0.1:2")
