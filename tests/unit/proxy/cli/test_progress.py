"""Progress of long work."""

import pytest

from proxy.cli.progress import progress, progress_in_percent


@pytest.mark.parametrize(
    ("total", "told"), [(3, ["mending: 1 of 3", "mending: 2 of 3"]), (None, ["mending: 1", "mending: 2"])]
)
def test_without_a_terminal_progress_is_printed_as_lines(capsys, total, told):
    with progress("mending", total, every_s=0.0) as tell:
        tell(1)
        tell(2)
    assert capsys.readouterr().err.splitlines() == told


def test_not_every_step_is_a_line(capsys):
    with progress("mending", 100) as tell:
        for done in range(100):
            tell(done)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("share", "line"), [(0.428, "importing a: 43 %, 7 pages"), (None, "importing a: 7 pages")]
)
def test_share_of_the_whole_is_told_in_percent(capsys, share, line):
    with progress_in_percent("importing a", every_s=0.0) as tell:
        tell(share, "7 pages")
    assert capsys.readouterr().err.splitlines() == [line]
