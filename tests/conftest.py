"""Options of the whole test run."""

import gc
import shutil

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes tells of what else the machine does, and nothing of the product.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_addoption(parser):
    parser.addoption(
        "--require-real",
        action="store_true",
        help="fail, rather than skip, when a real program is not installed",
    )


@pytest.fixture(scope="session")
def program(pytestconfig):
    """The path of a real program; without it the test skips with the reason, or fails under --require-real."""

    def find(*names):
        for name in names:
            if path := shutil.which(name, path="/usr/sbin:/usr/local/bin:/usr/bin:/bin"):
                return path
        reason = f"{names[0]} is not installed"
        if pytestconfig.getoption("--require-real"):
            pytest.fail(reason)
        pytest.skip(reason)

    return find


@pytest.fixture
def caplog(caplog):
    """The log of this test alone: tasks that earlier tests left pending say so now, when they are freed."""
    gc.collect()
    caplog.clear()
    return caplog
