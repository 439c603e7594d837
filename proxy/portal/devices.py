"""The devices that people bring: which certificate format each takes, and which device a visitor has (pure)."""

from dataclasses import dataclass
from enum import StrEnum

_MAX_AGENT = 500


class CertificateForm(StrEnum):
    """The file formats of the CA certificate, by the name in the address."""

    PEM = "ca.pem"
    DER = "ca.cer"
    PEM_CRT = "ca.crt"
    """The same as PEM: Debian accepts only this file suffix."""
    PROFILE = "ca.mobileconfig"


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlatform:
    """`code` names its instructions in the locales; `mark` is a part of the User-Agent of its browsers."""

    code: str
    name: str
    form: CertificateForm
    mark: str


# In the order of the checks: Chromebooks, Android and Firefox also name the systems below them.
PLATFORMS = (
    DevicePlatform(code="chromeos", name="Chromebook", form=CertificateForm.PEM, mark="CrOS"),
    DevicePlatform(code="android", name="Android", form=CertificateForm.DER, mark="Android"),
    DevicePlatform(code="ios", name="iPhone, iPad", form=CertificateForm.PROFILE, mark="like Mac OS X"),
    DevicePlatform(code="firefox", name="Firefox", form=CertificateForm.PEM, mark="Firefox/"),
    DevicePlatform(code="windows", name="Windows", form=CertificateForm.DER, mark="Windows"),
    DevicePlatform(code="macos", name="macOS", form=CertificateForm.DER, mark="Macintosh"),
    DevicePlatform(code="linux", name="Linux", form=CertificateForm.PEM_CRT, mark="Linux"),
)
_SHOWN = ("windows", "macos", "ios", "android", "chromeos", "linux", "firefox")


def platforms_for(user_agent: str) -> tuple[DevicePlatform, ...]:
    """All platforms, the visitor's probable ones first. Only an order, because the User-Agent may be false."""
    agent = user_agent[:_MAX_AGENT]
    likely = [platform for platform in PLATFORMS if platform.mark in agent]
    others = sorted(PLATFORMS, key=lambda platform: _SHOWN.index(platform.code))
    return tuple(dict.fromkeys((*likely, *others)))
