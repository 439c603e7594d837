"""docs/security.md, claim 7: the certificates of sites are verified, and a page names what is wrong with one."""

import pytest

from proxy.pages.language import LANGUAGES, catalogue
from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, reply

HERE = "127.0.0.1"


@pytest.mark.parametrize(
    ("fault", "names", "how", "trusted"),
    [
        ("expired", [HERE], {"days": (-9, -2)}, True),
        ("early", [HERE], {"days": (2, 9)}, True),
        ("host", ["other.test"], {}, True),
        ("self_signed", [HERE], {}, False),
        ("authority", [HERE], {"issuer": "an authority nobody knows"}, False),
    ],
)
def test_certificate_faults_are_named(tmp_path, start_linkmend, fault, names, how, trusted):
    pem, context = certificate(tmp_path, *names, **how)
    with Origin(tls=context) as site:
        site.pages["/"] = reply("<title>secret</title>")
        running = start_linkmend(settings=f'[proxy]\ntrusted_ca = "{pem}"\n' if trusted else "")
        client = Client(running.url, running.ca)
        told = client.open_page(site.url + "/")
        assert (told.status, told.miss) == (502, "tls")
        assert "tls_certificate_error" in told.headers["Proxy-Status"]
        assert str(catalogue("en")(f"fault.{fault}")) in told.text
        for code in LANGUAGES:
            said = client.open_page(site.url + "/", Accept_Language=code).text
            assert str(catalogue(code)(f"fault.{fault}")) in said
        assert client.get(site.url + "/").status == 502, "not even for a picture"
        assert site.asked.total() == 0


def test_valid_certificate_is_accepted(secure_origin, start_linkmend):
    secure_origin.pages["/"] = reply("<title>welcome</title>")
    running = start_linkmend(settings=f'[proxy]\ntrusted_ca = "{secure_origin.pem}"\n')
    assert Client(running.url, running.ca).open_page(secure_origin.url + "/").status == 200
