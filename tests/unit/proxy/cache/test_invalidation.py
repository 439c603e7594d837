import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.invalidation import invalidated_urls, names_itself
from tests.caching import FIELD_TEXT, HEADERS, URL, a_request


def gone(method="POST", status=200, *headers):
    return invalidated_urls(a_request(method=method), status, headers)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "MKCOL", "NEVER-HEARD-OF"])
@pytest.mark.parametrize("status", [200, 201, 204, 302])
def test_whatever_may_change_a_page_makes_its_copy_untrue(method, status):
    assert gone(method, status) == (URL,)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"])
def test_asking_changes_nothing(method):
    assert gone(method) == ()


@pytest.mark.parametrize("status", [100, 400, 404, 500, 503])
def test_a_failed_request_invalidates_nothing(status):
    assert gone("POST", status) == ()


@pytest.mark.parametrize("name", ["Location", "Content-Location"])
def test_the_pages_it_names_go_too(name):
    assert gone("POST", 200, (name, "/new#top")) == (URL, "http://school.test/new")
    assert gone("POST", 200, (name, "http://school.test:80/new")) == (URL, "http://school.test:80/new")


@pytest.mark.parametrize(
    "target",
    [
        "http://other.test/x",
        "https://school.test/x",
        "http://school.test:81/x",
        "//other.test/x",
        "http://[x/",
    ],
)
def test_but_never_those_of_another_origin(target):
    assert gone("POST", 200, ("Location", target)) == (URL,)


@given(HEADERS, FIELD_TEXT, st.integers(100, 599))
def test_nothing_raises_and_nothing_leaves_the_origin(headers, target, status):
    for url in gone("POST", status, *headers, ("Location", target)):
        assert url.startswith("http://school.test")
    names_itself(URL, (*headers, ("Content-Location", target)))
