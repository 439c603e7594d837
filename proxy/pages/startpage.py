"""http://linkmend.internal/: what is saved here, how to set up a device, and what the proxy sees and stores."""

from collections.abc import Collection
from dataclasses import dataclass

from proxy.pages.browsepages import start_page_values
from proxy.pages.display import clean
from proxy.pages.language import Catalogue
from proxy.pages.render import NOTHING_POLICY, RenderedPage, html_page, page_headers
from proxy.portal.addresses import PORTAL_HOST, PREFIX
from proxy.portal.browsing import StartPageLists
from proxy.portal.devices import CertificateForm, platforms_for
from proxy.portal.pac import pac_file
from proxy.settings import Settings

NO_LISTS = StartPageLists()
SECURE_PORTAL = f"https://{PORTAL_HOST}"

_MAX_SHOWN_SITES = 2_000
_MAX_CONTACT = 200
_FILES = {
    CertificateForm.PEM: ("linkmend-ca.pem", "application/x-pem-file"),
    CertificateForm.DER: ("linkmend-ca.cer", "application/x-x509-ca-cert"),
    CertificateForm.PEM_CRT: ("linkmend-ca.crt", "application/x-x509-ca-cert"),
    CertificateForm.PROFILE: ("linkmend.mobileconfig", "application/x-apple-aspen-config"),
}
# A browser loads this picture to find out whether it trusts our certificate; it contains nothing.
_PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalInfo:
    """What the pages say about how linkmend is set up here."""

    retention_days: int
    harvest: bool
    archives: bool
    readers: bool
    contact: str
    public: str
    passed_through: Collection[str]


def portal_info_of(settings: Settings, passed_through: Collection[str]) -> PortalInfo:
    """From the settings in force; `passed_through` are the entries of `proxy.reach.passthrough`."""
    return PortalInfo(
        retention_days=settings.misses.retention_days,
        harvest=settings.harvest.enabled,
        archives=settings.archives.enabled,
        readers=settings.portal.least_readers > 0,
        contact=settings.proxy.contact,
        public=settings.proxy.public,
        passed_through=passed_through,
    )


def portal_page(
    texts: Catalogue,
    info: PortalInfo,
    *,
    held_pages: int,
    lists: StartPageLists = NO_LISTS,
    trusts: bool = False,
    user_agent: str = "",
    fingerprint: str = "",
    pac_url: str = "",
    portal: bool = True,
) -> RenderedPage:
    """The start page: what is saved, then how to set up a device, folded away on one that `trusts` the certificate.

    Without `portal` its address is on some site, and the certificate cannot be tested from there.
    """
    return html_page(
        "portal.html.jinja",
        texts,
        portal=portal,
        images=SECURE_PORTAL if portal else "",
        held=texts.number(held_pages),
        trusts=trusts,
        browsing=start_page_values(lists, texts),
        days=texts.number(info.retention_days),
        platforms=platforms_for(user_agent),
        files={form: name for form, (name, _) in _FILES.items()},
        prefix=PREFIX,
        fingerprint=fingerprint,
        pac_url=pac_url,
        secure=SECURE_PORTAL + PREFIX,
    )


def trusted_page(texts: Catalogue) -> RenderedPage:
    """The page that a browser reaches only when it trusts our certificate."""
    return html_page("trusted.html.jinja", texts)


def trusted_picture() -> RenderedPage:
    headers = (("Content-Type", "image/svg+xml"), *page_headers("en", policy=NOTHING_POLICY))
    return RenderedPage(status=200, headers=headers, body=_PICTURE)


def privacy_page(texts: Catalogue, info: PortalInfo, *, portal: bool = True) -> RenderedPage:
    """What the proxy sees and stores, by the settings in force."""
    sites = sorted(info.passed_through, key=lambda entry: entry.lstrip("."))
    return html_page(
        "privacy.html.jinja",
        texts,
        portal=portal,
        days=texts.number(info.retention_days),
        harvest=info.harvest,
        archives=info.archives,
        readers=info.readers,
        contact=clean(info.contact, _MAX_CONTACT),
        count=texts.number(len(sites)),
        sites=[entry.lstrip(".") for entry in sites[:_MAX_SHOWN_SITES]],
    )


def certificate_page(body: bytes, form: CertificateForm) -> RenderedPage:
    """The CA certificate in the format that devices install."""
    name, kind = _FILES[form]
    headers = (
        ("Content-Type", kind),
        ("Content-Disposition", f'attachment; filename="{name}"'),
        *page_headers("en", policy=NOTHING_POLICY),
    )
    return RenderedPage(status=200, headers=headers, body=body)


def pac_page(host: str, port: int) -> RenderedPage:
    """The PAC file for the proxy at an address."""
    headers = (
        ("Content-Type", "application/x-ns-proxy-autoconfig"),
        ("Cache-Control", "no-cache"),
        ("X-Content-Type-Options", "nosniff"),
    )
    return RenderedPage(status=200, headers=headers, body=pac_file([(host, port)]).encode("ascii"))
