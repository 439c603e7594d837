import logging

from proxy.store.complaints import Complaint


def test_a_lasting_trouble_is_told_once_a_minute_with_how_often_it_came(caplog):
    now = 0.0
    complain = Complaint(logging.getLogger("test"), every_s=60, clock=lambda: now)
    for now in (0.0, 1.0, 59.0, 60.0, 61.0):  # noqa: B007  the clock reads it
        complain("no room in %s", "the cache")
    assert caplog.messages == [
        "no room in the cache",
        "no room in the cache (and 2 times since the last such line)",
    ]
