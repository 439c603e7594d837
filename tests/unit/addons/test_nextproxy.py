"""addons.nextproxy: what the next proxy is told, and what is answered to who was here before."""

from types import SimpleNamespace

import pytest

from addons.nextproxy import LoopCheck, NextProxy
from addons.upstream import Upstream
from proxy.reach.loops import FIELD, LoopMarks
from proxy.settings import CacheSettings, ProxySettings
from tests.make import a_flow

MARKS = LoopMarks(lambda text: f"{len(text):016x}")


def sent_on(*headers, parent="http://127.0.0.1:3128", mode="regular"):
    flow = a_flow("http://school.test/page", headers=[("Host", "school.test"), *headers])
    flow.client_conn.proxy_mode = SimpleNamespace(type_name=mode)
    if mode != "regular":
        flow.server_conn.address = None
    LoopCheck(MARKS).requestheaders(flow)
    Upstream(ProxySettings(parent=parent)).request(flow)
    NextProxy(MARKS, CacheSettings()).request(flow)
    return flow


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([], None),
        ([("Accept", "text/html"), ("User-Agent", "Mozilla/5.0")], None),
        ([("Cookie", "a=b")], "no-store"),
        ([("Authorization", "Basic eA==")], "no-store"),
        ([("X-Forwarded-Host", "evil.test")], "no-store"),
        ([("Cookie", "a=b"), ("Cache-Control", "max-age=0")], "max-age=0, no-store"),
        ([("Cookie", "a=b"), ("If-None-Match", '"1"')], "no-cache, no-store"),
    ],
)
def test_the_next_proxy_is_told_not_to_store_what_we_would_not_share(headers, said):
    assert sent_on(*headers).request.headers.get("cache-control") == said


def test_a_site_is_told_nothing():
    told = sent_on(("Cookie", "a=b"), (FIELD, "0123456789abcdef"), parent="").request.headers
    assert FIELD not in told
    assert "cache-control" not in told


def test_the_target_of_reverse_mode_gets_a_mark_and_may_store():
    told = sent_on(("Cookie", "a=b"), parent="", mode="reverse").request.headers
    assert FIELD in told
    assert "cache-control" not in told


def test_marks_go_on_and_our_own_is_found():
    told = sent_on((FIELD, "0123456789abcdef")).request.headers[FIELD]
    assert told.startswith("0123456789abcdef, ")
    back = sent_on((FIELD, told))
    assert back.response.status_code == 508
    assert "proxy_loop_detected" in back.response.headers["proxy-status"]
