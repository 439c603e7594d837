"""A Squid is killed and started again, or a web server stands in its place: admins and pupils are told."""

import re

import pytest

from proxy.pages.language import LANGUAGES, catalogue
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, free_port, linkmend


@pytest.fixture
def metrics():
    return f"127.0.0.1:{free_port()}"


def readiness(metrics):
    answer = Client("").get(f"http://{metrics}/readyz")
    return answer.status, answer.text.strip()


def parent_down(metrics):
    text = Client("").get(f"http://{metrics}/metrics").text
    return re.search(r"^linkmend_parent_down (\S+)$", text, re.MULTILINE)[1]


@pytest.mark.parametrize("way", ["absolute", "connect"])
def test_a_squid_that_dies_is_noticed_and_so_is_its_return(
    way, start_squid, start_linkmend, origin, secure_origin, metrics
):
    origin.pages["/kept"] = reply(b"<title>Kept</title>", Cache_Control="max-age=60")
    secure_origin.pages["/a"] = reply(b"<title>Safe</title>")
    squid = start_squid(trusted=secure_origin.pem)
    settings = f'[proxy]\nparent_https = "{way}"\ntrusted_ca = "{secure_origin.pem}"\n'
    running = start_linkmend(
        "--parent",
        squid.url,
        settings=f'{settings}[metrics]\nlisten = "{metrics}"\n[desk]\nenabled = false\n',
    )
    pupil = Client(running.url, running.ca)
    assert pupil.open_page(f"{origin.url}/kept").status == 200
    assert pupil.open_page(f"{secure_origin.url}/a").status == 200
    assert (readiness(metrics), parent_down(metrics)) == ((200, "ready"), "0.0")

    squid.kill()
    for url in (f"{origin.url}/gone", f"{secure_origin.url}/a"):
        answer = pupil.open_page(url)
        assert (answer.status, answer.miss) == (502, "unreachable")
        assert "The school’s proxy is down" in answer.text
        assert "This site can’t be reached" not in answer.text
    for code in LANGUAGES:
        text = pupil.open_page(f"{origin.url}/gone", Accept_Language=code).text
        assert str(catalogue(code)("parent.heading")) in text
    assert pupil.open_page(f"{origin.url}/kept").status == 200
    status, reason = eventually(
        lambda: (found := readiness(metrics))[0] == 503 and found, "/readyz does not notice"
    )
    assert reason == f"the parent proxy {squid.url} does not answer (connection refused)"
    assert (status, parent_down(metrics)) == (503, "1.0")
    running.wait_for_line(f"{reason}: users get only what is saved")
    shown = linkmend("status", "--config", running.config, "--data", running.data)
    assert (shown.returncode, "does not answer" in shown.stdout) == (1, True)

    start_squid(trusted=secure_origin.pem, port=squid.port)
    eventually(lambda: readiness(metrics) == (200, "ready"), "/readyz does not notice the return")
    running.wait_for_line(f"the parent proxy {squid.url} answers")
    assert pupil.open_page(f"{origin.url}/kept?again").miss == "not_found"


def test_a_web_server_in_a_parents_place_is_noticed_at_the_start(start_linkmend, origin, metrics):
    running = start_linkmend(
        "--parent", origin.url, settings=f'[metrics]\nlisten = "{metrics}"\n[desk]\nenabled = false\n'
    )
    eventually(lambda: readiness(metrics)[0] == 503, "/readyz does not notice")
    assert "is no proxy (it answers like a web server (404))" in readiness(metrics)[1]
    running.wait_for_line("is no proxy")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_site_that_squid_cannot_reach_is_still_the_sites_fault(scheme, start_squid, start_linkmend):
    running = start_linkmend("--parent", start_squid().url, settings='[proxy]\nparent_https = "connect"\n')
    answer = Client(running.url, running.ca).open_page(f"{scheme}://127.0.0.1:{free_port()}/")
    assert answer.status >= 500
    assert "The school’s proxy is down" not in answer.text
