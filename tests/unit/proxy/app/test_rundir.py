import os
import socket
import stat
import subprocess
import sys

from proxy.office.rundir import RunDirectory


def test_only_its_owner_can_reach_the_socket(tmp_path):
    run = RunDirectory(tmp_path)
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(run.path.parent.stat().st_mode) == 0o700
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(str(run.path))
    run.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_others_use_is_not(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    (tmp_path / f"linkmend-{ended.stdout.strip()}-left").mkdir()
    (tmp_path / f"linkmend-{os.getppid()}-used").mkdir()
    (tmp_path / "linkmend-import-abc").mkdir()
    RunDirectory(tmp_path).remove()
    assert {path.name for path in tmp_path.iterdir()} == {
        f"linkmend-{os.getppid()}-used",
        "linkmend-import-abc",
    }
