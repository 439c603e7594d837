"""The real programs that integration tests run: origins, linkmend, Squid, Chromium. All on loopback."""

import contextlib
import functools

import pytest

from tests.integration.opensearch.cluster import Cluster, NoOpenSearch
from tests.integration.origin import Origin, certificate
from tests.integration.processes import Linkmend, serving
from tests.integration.squid import Squid


@pytest.fixture
def origin():
    with Origin() as running:
        yield running


@pytest.fixture
def secure_origin(tmp_path):
    """An https origin, and in `.pem` the certificate that makes it trusted."""
    pem, context = certificate(tmp_path, "127.0.0.1", "localhost")
    with Origin(tls=context) as running:
        running.pem = pem
        yield running


@pytest.fixture
def start_linkmend(tmp_path):
    """Starts `linkmend serve` any number of times; stops what is left running, and a traceback fails the test."""
    started = []

    def start(*arguments, data=None, **known):
        running = Linkmend(data or tmp_path / "data", *arguments, **known)
        started.append(running)
        return running

    yield start
    for running in started:
        running.stop()
    for running in started:
        assert "Traceback" not in running.output, running.output


@pytest.fixture(scope="module")
def shared_linkmend(tmp_path_factory):
    """`linkmend serve` with these arguments and settings, shared by all tests of a module that want the same.

    For tests that neither stop it nor measure it, and whose origins are their own.
    """
    with contextlib.ExitStack() as stack:

        @functools.cache
        def start(*arguments, settings=""):
            data = tmp_path_factory.mktemp("shared") / "data"
            return stack.enter_context(serving(data, *arguments, settings=settings))

        yield start


@pytest.fixture(scope="module")
def shared_squid(tmp_path_factory, program):
    """A real squid-openssl that trusts the given certificate, shared by all tests of a module that want the same."""
    path = program("squid")
    with contextlib.ExitStack() as stack:

        @functools.cache
        def start(*, trusted=None):
            running = Squid(path, tmp_path_factory.mktemp("shared") / "squid", trusted=trusted)
            stack.callback(running.stop)
            return running

        yield start


@pytest.fixture
def start_squid(tmp_path, program):
    """Starts a real squid-openssl any number of times."""
    path = program("squid")
    started = []

    def start(*, trusted=None, port=None):
        running = Squid(path, tmp_path / f"squid{len(started)}", trusted=trusted, port=port)
        started.append(running)
        return running

    yield start
    for running in started:
        running.stop()


@pytest.fixture(scope="session")
def start_cluster(pytestconfig, tmp_path_factory):
    """Starts a real cluster; without Java or Maven Central the test skips, or fails under --require-real."""

    def start(**known):
        try:
            return Cluster(tmp_path_factory.mktemp("opensearch"), heap="512m", **known)
        except NoOpenSearch as error:
            if pytestconfig.getoption("--require-real"):
                pytest.fail(str(error))
            pytest.skip(str(error))

    return start


@pytest.fixture(scope="module")
def start_postgres(pytestconfig):
    """Starts a real PostgreSQL any number of times, standbys `of` another; without it the test skips, or fails."""
    from tests.integration.postgres import NoPostgres, PostgresServer  # psycopg, which only these tests need

    with contextlib.ExitStack() as stack:

        def start(**known):
            try:
                running = PostgresServer(**known)
            except NoPostgres as error:
                if pytestconfig.getoption("--require-real"):
                    pytest.fail(str(error))
                pytest.skip(str(error))
            stack.callback(running.stop)
            return running

        yield start


@pytest.fixture(scope="module")
def postgres(start_postgres):
    """One that the tests of a module share."""
    return start_postgres()


@pytest.fixture
def district(postgres):
    """Settings of the owner of an initialised, empty district."""
    from proxy.district import schema

    owner = postgres.create_database()
    schema.initialise(owner)
    return owner


@pytest.fixture
def open_browser(tmp_path, program):
    """Opens a real Chromium behind a running linkmend; closes it when the test ends."""
    from tests.integration.browser import chromium  # playwright, which only these tests need

    path, certutil = program("chromium"), program("certutil")
    with contextlib.ExitStack() as stack:

        def open_behind(running, **options):
            home = tmp_path / "home"
            context = chromium(path, home, proxy=running.url, certutil=certutil, ca=running.ca, **options)
            return stack.enter_context(context).new_page()

        yield open_behind
