import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from repair.errors import EvaluationFailed
from repair.learn.scratch import scratch

ROOT = Path(__file__).parents[4]
HELD = """
import sys, time
from pathlib import Path
from repair.learn.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "pages.jsonl.gz").write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_the_folder_is_its_owner_s_alone_holds_temporary_files_and_goes_at_the_end(tmp_path):
    before = tempfile.gettempdir()
    with scratch(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with tempfile.NamedTemporaryFile() as file:
            assert Path(file.name).parent == folder
    assert tempfile.gettempdir() == before
    assert list(tmp_path.iterdir()) == []


def test_the_folder_goes_also_when_learning_fails(tmp_path):
    with pytest.raises(FileExistsError), scratch(tmp_path) as folder:
        folder.mkdir()
    assert list(tmp_path.iterdir()) == []


def test_one_learning_at_a_time_and_a_killed_one_is_cleared_away_by_the_next(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            with pytest.raises(EvaluationFailed, match="under way"), scratch(tmp_path):
                pass
            assert (tmp_path / "training" / "pages.jsonl.gz").exists()
        finally:
            os.kill(process.pid, signal.SIGKILL)
    assert (tmp_path / "training").exists()
    with scratch(tmp_path) as folder:
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []
