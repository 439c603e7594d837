"""The fixtures of the integration tests, and one linkmend for each module of attacks."""

import itertools

import pytest

from tests.integration.client import Client
from tests.integration.conftest import (  # noqa: F401  (fixtures are found by their names)
    open_browser,
    origin,
    secure_origin,
    start_linkmend,
    start_squid,
)
from tests.integration.origin import Origin
from tests.integration.processes import serving

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def site():
    """A plain http origin for all tests of a module."""
    with Origin() as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One linkmend for all tests of a module."""
    with serving(tmp_path_factory.mktemp("attacks") / "data") as proxy:
        yield proxy


@pytest.fixture(scope="module")
def alice(running):
    """One user."""
    return Client(running.url, source="127.0.1.71")


@pytest.fixture(scope="module")
def bob(running):
    """Another user, in another network."""
    return Client(running.url, source="127.0.2.72")


@pytest.fixture
def path():
    """A path that no other test has requested."""
    return f"/attacked/{next(_numbers)}"
