"""A device is set up at http://linkmend.internal/: real Chromium, with and without the certificate."""

import plistlib
import signal
import ssl

import pytest

from tests.integration.browser import chromium
from tests.integration.client import Client


@pytest.fixture
def running(start_linkmend):
    return start_linkmend(
        settings="[misses]\nretention_days = 12\n[proxy]\ncontact = 'Ms Achieng, room 12'\n"
    )


@pytest.fixture
def open_portal(running, tmp_path, program):
    """Opens the start page in a browser that trusts the certificate or not; says what its test found."""
    path, certutil = program("chromium"), program("certutil")

    def opened(*, trusting):
        home = tmp_path / f"home{trusting}"
        known = {"ca": running.ca, "certutil": certutil} if trusting else {}
        with chromium(path, home, proxy=running.url, **known) as context:
            tab = context.new_page()
            tab.goto("http://linkmend.internal/")
            answer = tab.locator("#trust [data-when=yes]:visible, #trust [data-when=no]:visible")
            answer.wait_for(timeout=15_000)
            return answer.inner_text()

    return opened


def test_a_browser_without_the_certificate_is_told_so(open_portal):
    assert "does not trust the certificate yet" in open_portal(trusting=False)


def test_a_browser_with_the_certificate_is_told_so(open_portal):
    assert open_portal(trusting=True).startswith("This browser trusts the certificate")


def test_without_script_a_link_leads_to_the_proof(running):
    client = Client(running.url, running.ca)
    assert (
        "https://linkmend.internal/.well-known/linkmend/trusted"
        in client.open_page("http://linkmend.internal/").text
    )
    assert "This browser trusts" in client.open_page("https://linkmend.internal/trusted").text
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        Client(running.url).open_page("https://linkmend.internal/trusted")


@pytest.mark.parametrize("path", ["/proxy.pac", "/wpad.dat"])
def test_the_proxy_settings_are_read_at_the_address_of_the_proxy_and_through_it(running, path):
    direct = Client("").get(running.url + path)
    through = Client(running.url).get(f"http://linkmend.internal{path}")
    called_wpad = Client("").get(running.url + path, Host="wpad.school.test")
    for answer in (direct, through, called_wpad):
        assert answer.headers["Content-Type"] == "application/x-ns-proxy-autoconfig"
        assert f'"PROXY 127.0.0.1:{running.port}"' in answer.text


def test_every_form_of_the_certificate_is_handed_out(running):
    client = Client(running.url)
    der = client.get("http://linkmend.internal/ca.cer").body
    assert ssl.PEM_cert_to_DER_cert(client.get("http://linkmend.internal/ca.pem").text) == der
    assert ssl.PEM_cert_to_DER_cert(client.get("http://linkmend.internal/ca.crt").text) == der
    profile = client.get("http://linkmend.internal/ca.mobileconfig")
    assert profile.headers["Content-Type"] == "application/x-apple-aspen-config"
    assert plistlib.loads(profile.body)["PayloadContent"][0]["PayloadContent"] == der


def test_the_privacy_page_tells_the_settings_in_force(running):
    text = Client(running.url).open_page("http://linkmend.internal/privacy").text
    assert "erased after 12 days" in text
    assert "Ms Achieng, room 12" in text
    assert "accounts.google.com" in text


def test_a_list_of_unseen_sites_with_a_mistake_changes_nothing(running, tmp_path):
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
