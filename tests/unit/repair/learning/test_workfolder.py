import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from repair.errors import EvaluationFailed
from repair.learning.workfolder import work_folder

ROOT = Path(__file__).parents[4]
HELD = """
import sys, time
from pathlib import Path
from repair.learning.workfolder import work_folder
with work_folder(Path(sys.argv[1])) as folder:
    (folder / "pages.jsonl.gz").write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_the_folder_is_private_holds_temporary_files_and_is_removed(tmp_path):
    before = tempfile.gettempdir()
    with work_folder(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with tempfile.NamedTemporaryFile() as file:
            assert Path(file.name).parent == folder
    assert tempfile.gettempdir() == before
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_removed_when_training_fails(tmp_path):
    with pytest.raises(FileExistsError), work_folder(tmp_path) as folder:
        folder.mkdir()
    assert list(tmp_path.iterdir()) == []


def test_one_training_runs_at_a_time_and_removes_what_a_killed_one_left(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            with (
                pytest.raises(EvaluationFailed, match="another training run is active"),
                work_folder(tmp_path),
            ):
                pass
            assert (tmp_path / "training" / "pages.jsonl.gz").exists()
        finally:
            os.kill(process.pid, signal.SIGKILL)
    assert (tmp_path / "training").exists()
    with work_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []
