"""addons.metrics: what became of each request."""

import time
from types import SimpleNamespace

import pytest

from addons.flows import make_response
from addons.flowstate import AnsweredBy, state_of
from addons.metrics import RequestMetrics
from proxy.failures import failure_of
from proxy.fetching.connectivity import Connectivity
from proxy.monitoring.metrics import Metrics
from tests.make import a_flow


def answered(**about):
    flow = a_flow()
    flow.response = make_response(**{"status": 200, "headers": (), **about})
    return flow


class Counted:
    def __init__(self):
        self.metrics, self.connectivity = Metrics(), Connectivity()
        self.addon = RequestMetrics(self.metrics, self.connectivity, clock=lambda: 1000.0)

    def see(self, *, status=200, headers=(), body=b"12345", by=None, failure=None):
        flow = answered(status=status, headers=headers, body=body)
        state_of(flow).answered_by, state_of(flow).failure = by, failure
        self.addon.response(flow)
        return self

    def outcomes(self):
        return {name: times for name, times in self.metrics.snapshot().requests.items() if times}


@pytest.fixture
def counted():
    return Counted()


def test_a_hit_saves_its_bytes(counted):
    counted.see(by=AnsweredBy.CACHE)
    assert (counted.outcomes(), counted.metrics.cache_bytes) == ({"hit": 1}, 5)


def test_a_page_of_a_site_costs_its_bytes(counted):
    counted.see(headers=(("Cache-Status", "linkmend; fwd=uri-miss"),))
    assert (counted.outcomes(), counted.metrics.origin_bytes) == ({"miss": 1}, 5)


def test_a_body_that_was_streamed_is_counted_by_its_stated_length(counted):
    counted.see(body=b"", headers=(("Content-Length", "12345"),))
    assert counted.metrics.origin_bytes == 12345


@pytest.mark.parametrize("length", ["x", "-1", "9" * 400])
def test_a_length_that_makes_no_sense_counts_nothing(counted, length):
    counted.see(body=b"", headers=(("Content-Length", length),))
    assert counted.metrics.origin_bytes == 0


def test_what_passes_the_cache_by_is_no_miss(counted):
    counted.see(headers=(("Cache-Status", "linkmend; fwd=bypass"),))
    assert counted.outcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("by", "outcome"),
    [
        (AnsweredBy.RULE, "blocked"),
        (AnsweredBy.REFUSED, "blocked"),
        (AnsweredBy.FAILURE, "error"),
        (AnsweredBy.PORTAL, "own"),
        (AnsweredBy.ADMIN, "own"),
    ],
)
def test_answers_of_our_own_are_told_apart(counted, by, outcome):
    counted.see(by=by)
    assert counted.outcomes() == {outcome: 1}


def test_a_repair_is_counted_by_its_kind(counted):
    counted.see(status=404, headers=(("Linkmend-Miss", "not_found"),), by=AnsweredBy.REPAIR)
    assert (counted.metrics.repaired, counted.outcomes()) == ({"not_found": 1}, {"miss": 1})


@pytest.mark.parametrize(
    "words",
    [
        "[Errno 101] Network is unreachable",
        "[Errno 110] Connection timed out",
        "[Errno -3] Temporary failure in name resolution",
    ],
)
def test_silence_is_told_to_the_line_and_an_answer_too(counted, words):
    counted.see(by=AnsweredBy.FAILURE, failure=failure_of(words))
    assert not counted.connectivity.is_up()
    counted.see()
    assert counted.connectivity.is_up()


@pytest.mark.parametrize(
    "words",
    [
        "[Errno 111] Connection refused",
        "[Errno -2] Name or service not known",
        "Certificate verify failed: self-signed certificate",
    ],
)
def test_a_failure_that_came_from_somebody_says_nothing_against_the_line(counted, words):
    counted.see(by=AnsweredBy.FAILURE, failure=failure_of(words))
    assert counted.connectivity.is_up()


def test_requests_of_our_own_are_not_counted(counted):
    flow = answered()
    flow.is_replay = "request"
    counted.addon.response(flow)
    assert counted.outcomes() == {}


def test_counting_takes_no_time(counted):
    flow = answered(headers=(("Cache-Status", "linkmend; fwd=uri-miss"),))
    times = 2000
    began = time.process_time()
    for _ in range(times):
        counted.addon.response(flow)
    assert (time.process_time() - began) / times < 20e-6


def handshake(error=None, sni="site.test"):
    client = SimpleNamespace(peername=("10.0.0.7", 50000), sni=sni, error=error)
    return SimpleNamespace(context=SimpleNamespace(client=client), conn=client)


def test_handshakes_tell_which_devices_trust_the_certificate(counted):
    counted.addon.tls_established_client(handshake())
    counted.addon.tls_failed_client(
        handshake("The client does not trust the proxy's certificate for site.test (tlsv1 alert unknown ca)")
    )
    counted.addon.tls_failed_client(handshake("The client disconnected during the handshake."))
    now = counted.metrics.snapshot()
    assert list(now.trusting.values()) == list(now.refusing.values()) == [1]
    assert now.refused_hosts == {"site.test": 1}
    assert "10.0.0.7" not in now.trusting
