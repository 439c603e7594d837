"""A device is set up at http://linkmend.internal/: real Chromium, with and without the certificate."""

import plistlib
import signal
import ssl

import pytest

from tests.integration.browser import chromium
from tests.integration.client import Client

SETTINGS = "[misses]\nretention_days = 12\n[proxy]\ncontact = 'Ms Achieng, room 12'\n"


@pytest.fixture
def running(shared_linkmend):
    return shared_linkmend(settings=SETTINGS)


@pytest.fixture
def open_portal(running, tmp_path, program):
    """Opens the start page in a browser that trusts the certificate or not; returns the result of its test."""
    path, certutil = program("chromium"), program("certutil")

    def opened(*, trusting):
        home = tmp_path / f"home{trusting}"
        known = {"ca": running.ca, "certutil": certutil} if trusting else {}
        with chromium(path, home, proxy=running.url, **known) as context:
            tab = context.new_page()
            tab.goto("http://linkmend.internal/")
            # The steps fold away on a device that trusts the certificate, and the result with them.
            answer = tab.locator("#trust [data-when=yes]:not([hidden]), #trust [data-when=no]:not([hidden])")
            answer.wait_for(timeout=15_000, state="attached")
            assert tab.locator("#device").evaluate("steps => steps.open") is not trusting
            return answer.text_content()

    return opened


def test_a_browser_without_the_certificate_is_told_so(open_portal):
    assert "does not trust the certificate yet" in open_portal(trusting=False)


def test_a_browser_with_the_certificate_is_told_so(open_portal):
    assert open_portal(trusting=True).startswith("This browser trusts the certificate")


def test_without_scripts_a_link_tests_the_certificate(running):
    client = Client(running.url, running.ca)
    assert (
        "https://linkmend.internal/.well-known/linkmend/trusted"
        in client.open_page("http://linkmend.internal/").text
    )
    assert "This browser trusts" in client.open_page("https://linkmend.internal/trusted").text
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        Client(running.url).open_page("https://linkmend.internal/trusted")


@pytest.mark.parametrize("path", ["/proxy.pac", "/wpad.dat"])
def test_pac_file_is_served_at_the_proxy_address_and_through_the_proxy(running, path):
    direct = Client("").get(running.url + path)
    through = Client(running.url).get(f"http://linkmend.internal{path}")
    called_wpad = Client("").get(running.url + path, Host="wpad.school.test")
    for answer in (direct, through, called_wpad):
        assert answer.headers["Content-Type"] == "application/x-ns-proxy-autoconfig"
        assert f'"PROXY 127.0.0.1:{running.port}"' in answer.text


def test_certificate_is_served_in_every_format(running):
    client = Client(running.url)
    der = client.get("http://linkmend.internal/ca.cer").body
    assert ssl.PEM_cert_to_DER_cert(client.get("http://linkmend.internal/ca.pem").text) == der
    assert ssl.PEM_cert_to_DER_cert(client.get("http://linkmend.internal/ca.crt").text) == der
    profile = client.get("http://linkmend.internal/ca.mobileconfig")
    assert profile.headers["Content-Type"] == "application/x-apple-aspen-config"
    assert plistlib.loads(profile.body)["PayloadContent"][0]["PayloadContent"] == der


def test_privacy_page_shows_the_settings_in_force(running):
    text = Client(running.url).open_page("http://linkmend.internal/privacy").text
    assert "deleted after 12 days" in text
    assert "Ms Achieng, room 12" in text
    assert "accounts.google.com" in text


def test_faulty_pass_through_list_changes_nothing(start_linkmend, tmp_path):
    running = start_linkmend(settings=SETTINGS)
    unseen = tmp_path / "unseen.txt"
    client, privacy = Client(running.url), "http://linkmend.internal/privacy"
    settings = running.config.read_text()
    running.config.write_text(f"{settings}pass_through = ['{unseen}']\n")
    unseen.write_text("http://not.a.domain/\n")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for_line("unseen.txt:1: ")
    assert "accounts.google.com" in client.open_page(privacy).text
    unseen.write_text(".bank.school.test\n")
    running.process.send_signal(signal.SIGHUP)
    running.wait_for_line("settings reloaded")
    text = client.open_page(privacy).text
    assert "bank.school.test" in text
    assert "accounts.google.com" not in text
