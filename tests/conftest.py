"""Options of the whole test run."""

import gc
import os
import shutil
import sys

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes tells of what else the machine does, and nothing of the product.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", settings.get_profile("unhurried"), max_examples=20)
settings.load_profile("unhurried")

# Tests start the same programs hundreds of times, and each start costs twice as much when nothing compiled is kept.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


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


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Take what tests import out of the garbage collector's rounds: a million objects that stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def caplog(caplog):
    """The log of this test alone: tasks that earlier tests left pending say so now, when they are freed."""
    gc.collect()
    gc.freeze()  # so that the next test has only what is new since to go through
    caplog.clear()
    return caplog
