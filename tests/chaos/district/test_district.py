"""A short trial of a district from a fixed seed. `python -m tests.chaos.district` runs longer ones from others."""

import pytest

from tests.chaos.district.trial import run
from tests.integration.opensearch.cluster import NoOpenSearch
from tests.integration.postgres import NoPostgres

SEED = 16
SECONDS = 40.0


@pytest.mark.slow
def test_whatever_fails_in_the_district_readers_get_what_a_lone_school_gives(tmp_path, program, pytestconfig):
    program("squid")
    try:
        report = run(SEED, SECONDS, tmp_path)
    except (NoOpenSearch, NoPostgres) as error:
        if pytestconfig.getoption("--require-real"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    print(report)  # noqa: T201  pytest shows it when the test fails
    assert not report.complaints, str(report)
    assert report.counts["repairs"] > 0
    assert sum(report.trouble.values()) > 0
