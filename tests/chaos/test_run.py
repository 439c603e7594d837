"""How the harness checks linkmend's processes."""

import pytest

from tests.chaos.run import too_much


def test_a_process_within_bounds_passes():
    assert too_much(200 << 20, 100) == ""


@pytest.mark.parametrize(("resident", "files"), [(700 << 20, 100), (200 << 20, 5000)])
def test_a_process_that_takes_too_much_memory_or_too_many_files_is_noticed(resident, files):
    assert too_much(resident, files) == f"{resident >> 20} MB and {files} files"
