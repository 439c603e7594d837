"""proxy.cache.pinning: an imported page as the cache keeps it."""

import pytest

from proxy.cache.pinning import pinned_response
from tests.make import A_MOMENT, a_page


def test_a_pinned_response_has_no_coding_and_nothing_personal():
    page = a_page(
        body=b"coded",
        headers=(
            ("Content-Encoding", "gzip"),
            ("Content-Length", "5"),
            ("Set-Cookie", "session=1"),
            ("Vary", "Accept-Encoding"),
            ("Transfer-Encoding", "chunked"),
            ("ETag", '"a"'),
        ),
    )
    stored = pinned_response(page, b"decoded")
    assert stored.headers == (
        ("Content-Type", "text/html; charset=utf-8"),
        ("ETag", '"a"'),
        ("Content-Length", "7"),
    )
    assert (stored.body, stored.pinned, stored.vary) == (b"decoded", True, ())
    assert stored.received_at == A_MOMENT.timestamp()


@pytest.mark.parametrize("status", [206, 302, 304, 404, 500])
def test_errors_and_passing_answers_are_not_pinned(status):
    assert pinned_response(a_page(status=status), b"") is None
