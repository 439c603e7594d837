"""Complete, dull values, so that a test names only what it is about."""

from datetime import UTC, datetime

from mitmproxy import http
from mitmproxy.test import tflow

from repair.collection.pages import PageSummary
from repair.model import BrokenLink, MissKind, Page

A_MOMENT = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)


def a_page(
    url="http://school.test/page", status=200, content_type="text/html; charset=utf-8", body=b"", headers=()
):
    return Page(
        url=url,
        status=status,
        headers=(("Content-Type", content_type), *headers),
        body=body,
        fetched_at=A_MOMENT,
    )


def a_summary(url="http://school.test/page", *, title="", language=""):
    return PageSummary(page=1, url=url, title=title, language=language, digest=b"")


def a_broken_link(url="http://school.test/gone", kind=MissKind.NOT_FOUND, **known):
    return BrokenLink(url=url, kind=kind, **known)


def a_flow(url="http://school.test/page", method="GET", headers=(), response=None):
    """A flow as the `request` hook sees it; with `response`, (status, headers, body), as `response` sees it."""
    flow = tflow.tflow()
    flow.server_conn.address = flow.client_conn.sni = None  # no tunnel
    flow.request = http.Request.make(method, url)
    # After the URL, which would rewrite a Host header to agree with it.
    flow.request.headers = http.Headers([(name.encode(), value.encode()) for name, value in headers])
    if response is not None:
        status, fields, body = response
        flow.response = http.Response.make(status, body, tuple((k.encode(), v.encode()) for k, v in fields))
    return flow


def spoil(database):
    """Overwrite all of a closed SQLite database but its first page, as a bad disk would: it can still be opened."""
    data = database.read_bytes()
    database.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
