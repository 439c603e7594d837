"""A short trial from a fixed seed. `python -m tests.chaos` runs longer ones from other seeds."""

from tests.chaos.report import Trial
from tests.chaos.run import run

SEED = 7
SECONDS = 20.0


async def test_whatever_fails_every_answer_is_right_honestly_stale_or_linkmends_own(tmp_path, program):
    program("squid")
    report = await run(Trial(seed=SEED, seconds=SECONDS, squid=True), tmp_path)
    print(report)  # noqa: T201  pytest shows it when the test fails
    assert not report.complaints, str(report)
    assert report.answers["right"] > 0
    assert report.trouble.total() > 0
