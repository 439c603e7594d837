"""proxy.pages.startpage: setting up a device, and what the proxy sees and stores."""

from dataclasses import replace

import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.pages import startpage as portal
from proxy.pages.language import LANGUAGES, catalogue
from proxy.portal.devices import PLATFORMS, CertificateForm
from proxy.settings import Settings
from tests.unit.proxy.pages.test_browsepages import LISTS

ENGLISH = catalogue("en")
TOLD = portal.portal_info_of(Settings(), frozenset({".bank.test", "login.test"}))


def parsed(page):
    return LexborHTMLParser(page.body.decode())


def header(page, name):
    return dict(page.headers)[name]


def the_portal(texts=ENGLISH, told=TOLD, **about):
    return portal.portal_page(texts, told, **{"held_pages": 23_456, **about})


def test_portal_shows_collection_size_and_retention():
    tree = parsed(the_portal())
    assert tree.css_first("#held").text() == "23\u202f456"
    assert "deleted after 90 days" in tree.body.text()
    assert tree.css_first("form[role=search]") is not None


def test_the_portal_has_the_certificate_for_every_device_the_visitors_own_first():
    tree = parsed(the_portal(user_agent="Mozilla/5.0 (Linux; Android 14)"))
    links = {
        a.attributes["href"].rpartition("/")[2]: a.attributes["download"] for a in tree.css("a[download]")
    }
    assert links == {
        "ca.pem": "linkmend-ca.pem",
        "ca.cer": "linkmend-ca.cer",
        "ca.crt": "linkmend-ca.crt",
        "ca.mobileconfig": "linkmend.mobileconfig",
    }
    assert tree.css_first("h3.device").text() == "Android"
    assert len(tree.css("details.device")) == len(PLATFORMS) - 1
    assert all(len(steps.css("li")) >= 2 for steps in tree.css("ol.steps"))


def test_the_portal_tests_the_browser_with_a_picture_that_its_policy_allows():
    page = the_portal()
    picture = parsed(page).css_first("#trust").attributes["data-picture"]
    assert picture == "https://linkmend.internal/.well-known/linkmend/trusted.svg"
    assert "img-src data: https://linkmend.internal;" in header(page, "Content-Security-Policy")
    assert parsed(page).css_first("#trust a").attributes["href"] == picture.removesuffix(".svg")


def test_under_the_address_of_a_site_nothing_can_be_tested():
    page = the_portal(portal=False)
    assert parsed(page).css_first("#trust") is None
    assert "img-src data:;" in header(page, "Content-Security-Policy")


def test_the_fingerprint_and_the_proxy_settings_are_shown():
    tree = parsed(the_portal(fingerprint="AB:CD", pac_url="http://10.0.0.5:8080/proxy.pac"))
    assert tree.css_first("#fingerprint").text() == "AB:CD"
    assert tree.css_first("#pac").text() == "http://10.0.0.5:8080/proxy.pac"


def test_the_start_page_lists_what_there_is_to_read():
    tree = parsed(the_portal(lists=LISTS))
    links = {link.attributes["href"] for link in tree.css("a")}
    assert "/.well-known/linkmend/topic?name=Fire+%26+ice" in links
    assert "/.well-known/linkmend/browse?list=site&of=a.test" in links
    assert "/.well-known/linkmend/browse?list=language&of=sw" in links
    assert "http://a.test/lava" in links
    assert [each.attributes["id"] for each in tree.css("section h2")] == [
        *("topics", "newest", "sites", "languages", "certificate", "privacy")
    ]


def test_the_certificate_is_folded_away_on_a_device_that_trusts_it():
    assert "open" in parsed(the_portal()).css_first("#device").attributes
    folded = parsed(the_portal(trusts=True)).css_first("#device")
    assert "open" not in folded.attributes
    assert folded.css_first("a[download]") is not None


def test_privacy_page_follows_the_settings():
    tree = parsed(portal.privacy_page(ENGLISH, replace(TOLD, retention_days=30, contact="Ms <b>Achieng</b>")))
    text = tree.body.text()
    assert "deleted after 30 days" in text
    assert "Ask Ms <b>Achieng</b> if" in text
    assert "asks web archives" in text
    assert "counts how many devices" in text
    assert "saves public pages" in text
    assert [site.text() for site in tree.css("#sites li")] == ["bank.test", "login.test"]
    assert "The list has 2 entries" in text


def test_privacy_page_shows_disabled_features():
    off = replace(TOLD, harvest=False, archives=False, readers=False, passed_through=())
    text = parsed(portal.privacy_page(ENGLISH, off)).body.text()
    assert "does not contact web archives" in text
    assert "saves public pages" not in text
    assert "counts how many devices" not in text
    assert "decrypts all secure connections" in text
    assert "or a teacher" in text


def test_a_long_list_is_not_shown_whole():
    told = replace(TOLD, passed_through=[f".s{n}.test" for n in range(100_000)])
    page = portal.privacy_page(ENGLISH, told)
    assert len(page.body) < 200_000
    assert "100\u202f000" in page.body.decode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_in_every_language(language):
    texts = catalogue(language)
    for page in (the_portal(texts), portal.privacy_page(texts, TOLD), portal.trusted_page(texts)):
        assert header(page, "Content-Language") == language
        assert parsed(page).css_first("html").attributes["lang"] == language
        assert "frame-ancestors 'none'" in header(page, "Content-Security-Policy")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_device_has_as_many_steps_in_every_language(language):
    for platform in PLATFORMS:
        key = f"device.{platform.code}"
        texts = catalogue(language).texts
        assert len(texts[key].splitlines()) == len(ENGLISH.texts[key].splitlines()), key


def test_the_certificate_is_a_download_of_the_right_type():
    page = portal.certificate_page(b"PEM", CertificateForm.PEM)
    assert page.body == b"PEM"
    assert 'filename="linkmend-ca.pem"' in header(page, "Content-Disposition")
    types = {form: header(portal.certificate_page(b"", form), "Content-Type") for form in CertificateForm}
    assert types[CertificateForm.DER] == "application/x-x509-ca-cert"
    assert types[CertificateForm.PROFILE] == "application/x-apple-aspen-config"


def test_pac_file_has_its_content_type_and_address():
    page = portal.pac_page("fd00::1", 3128)
    assert header(page, "Content-Type") == "application/x-ns-proxy-autoconfig"
    assert b'"PROXY [fd00::1]:3128"' in page.body
