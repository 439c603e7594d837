"""The figures of the running linkmend, as its metrics have them."""

from proxy.doctor.runningstatus import parse_status
from proxy.monitoring.metrics import MetricsSnapshot, exposition


def test_the_status_has_the_figures_of_the_metrics():
    counted = MetricsSnapshot(
        requests={"hit": 3, "miss": 1}, repaired={"not_found": 2}, cache_bytes=2048, queues={"fetch": 4}
    )
    found = parse_status(exposition(counted).decode(), ready=True, state="ready")
    assert (found.requests["hit"], found.hit_ratio, found.saved_bytes) == (3, 0.75, 2048)
    assert (found.repaired, found.queues) == ({"not_found": 2}, {"fetch": 4})


def test_before_the_first_request_there_is_no_hit_ratio():
    assert (
        parse_status(exposition(MetricsSnapshot()).decode(), ready=False, state="stopping").hit_ratio is None
    )
