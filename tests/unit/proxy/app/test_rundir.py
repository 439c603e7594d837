import os
import socket
import stat
import subprocess
import sys

from proxy.app.rundir import RuntimeDirectory


def test_only_its_owner_can_reach_the_socket(tmp_path):
    run = RuntimeDirectory(tmp_path)
    with run.listen(), socket.socket(socket.AF_UNIX) as visitor:
        assert stat.S_IMODE(run.rpc.stat().st_mode) == 0o600
        assert stat.S_IMODE(run.rpc.parent.stat().st_mode) == 0o700
        visitor.connect(str(run.rpc))
    run.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_others_use_is_not(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    (tmp_path / f"linkmend-{ended.stdout.strip()}-left").mkdir()
    (tmp_path / f"linkmend-{os.getppid()}-used").mkdir()
    (tmp_path / "linkmend-import-abc").mkdir()
    RuntimeDirectory(tmp_path).remove()
    assert {path.name for path in tmp_path.iterdir()} == {
        f"linkmend-{os.getppid()}-used",
        "linkmend-import-abc",
    }
