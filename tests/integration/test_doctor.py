"""`linkmend doctor` and `linkmend status`, beside a running linkmend and on a full disk."""

import json

import pytest

from proxy.tls.authority import ensure_authority
from tests.chaos.school import small_disk
from tests.integration.processes import eventually, free_port, linkmend


@pytest.fixture
def examined(start_linkmend):
    """A running linkmend, and what the doctor finds there: the level of each check."""
    switched_off = "[desk]\nenabled = false\n[archives]\nenabled = false\n"
    running = start_linkmend(
        "--offline", settings=f'{switched_off}[metrics]\nlisten = "127.0.0.1:{free_port()}"\n'
    )

    def examine():
        done = linkmend("doctor", "--config", running.config, "--data", running.data, "--json")
        found = {}
        for line in done.stdout.splitlines():
            told = json.loads(line)
            found.setdefault(told["check"], told)
        return done.returncode, found

    return running, examine


def test_a_running_linkmend_is_well_and_its_status_says_so(examined):
    running, examine = examined
    code, found = examine()
    assert (code, [told for told in found.values() if told["level"] != "ok"]) == (0, [])
    assert {"page (http)", "page (https)", "stores", "certificate", "ports"} <= found.keys()

    def status():
        return json.loads(linkmend("status", "--config", running.config, "--json").stdout)

    assert status()["ready"]
    eventually(lambda: status()["requests"]["own"] >= 1, "workers do not report the doctor's own requests")


def test_a_certificate_that_is_not_the_one_in_use_is_found(examined):
    running, examine = examined
    for file in running.ca.parent.glob("mitmproxy-ca*"):
        file.unlink()
    ensure_authority(running.ca.parent)
    code, found = examine()
    assert (code, found["page (http)"]["level"], found["page (https)"]["level"]) == (1, "ok", "fail")
    assert "restart linkmend" in found["page (https)"]["advice"]


def test_a_linkmend_that_has_ended_is_not_running(examined):
    running, examine = examined
    running.stop()
    done = linkmend("status", "--config", running.config)
    assert (done.returncode, "not running" in done.stderr) == (1, True)
    code, found = examine()
    assert (code, found["pages"]["level"]) == (0, "warn")


def test_a_full_disk_is_found(tmp_path):
    with small_disk(tmp_path / "disk") as mounted:
        if not mounted:
            pytest.skip("a small disk can be mounted by root only")
        with open(tmp_path / "disk" / "others", "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        done = linkmend("doctor", "--data", tmp_path / "disk", "--json")
    assert done.returncode == 1
    assert any(
        told["check"] == "disk" and "it is full" in told["found"]
        for told in map(json.loads, done.stdout.splitlines())
    )
