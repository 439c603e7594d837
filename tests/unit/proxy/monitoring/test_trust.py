"""Which devices trust the certificate."""

from datetime import date

from proxy.monitoring.trust import CertificateTrust


def test_handshakes_are_counted_by_device_and_refusals_by_host():
    trust = CertificateTrust()
    trust.note_trust("one")
    assert trust.note_refusal("one", "autofill.test")
    assert not trust.note_refusal("one", "autofill.test")
    assert trust.counts() == ({"one": 1}, {"one": 2}, {"autofill.test": 2})


def test_every_day_starts_anew_as_the_codes_of_devices_do():
    days = iter([date(2026, 5, 3), date(2026, 5, 3), date(2026, 5, 4)])
    trust = CertificateTrust(today=lambda: next(days))
    trust.note_trust("one")
    assert trust.counts() == ({}, {}, {})


def test_a_client_cannot_fill_the_memory():
    trust = CertificateTrust()
    for number in range(20_000):
        trust.note_refusal(f"device {number}", f"{number}.test" + "x" * 1_000)
    _, refusing, hosts = trust.counts()
    assert len(refusing) == 5_000
    assert len(hosts) == 500
    assert max(map(len, hosts)) == 255
