"""The devices that people bring: how each takes the certificate authority, and which one a visitor has (pure)."""

from dataclasses import dataclass
from enum import StrEnum

_MAX_AGENT = 500


class CertificateForm(StrEnum):
    """The certificate authority as a file, by the name under which it is asked for."""

    PEM = "ca.pem"
    DER = "ca.cer"
    PEM_CRT = "ca.crt"
    """The same as PEM: Debian takes up files of that name only."""
    PROFILE = "ca.mobileconfig"


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """`code` names its instructions in the locales; `mark` stands in the User-Agent of its browsers."""

    code: str
    name: str
    form: CertificateForm
    mark: str


# In the order in which they are looked for: Chromebooks, Android and Firefox also name the systems below them.
PLATFORMS = (
    Platform(code="chromeos", name="Chromebook", form=CertificateForm.PEM, mark="CrOS"),
    Platform(code="android", name="Android", form=CertificateForm.DER, mark="Android"),
    Platform(code="ios", name="iPhone, iPad", form=CertificateForm.PROFILE, mark="like Mac OS X"),
    Platform(code="firefox", name="Firefox", form=CertificateForm.PEM, mark="Firefox/"),
    Platform(code="windows", name="Windows", form=CertificateForm.DER, mark="Windows"),
    Platform(code="macos", name="macOS", form=CertificateForm.DER, mark="Macintosh"),
    Platform(code="linux", name="Linux", form=CertificateForm.PEM_CRT, mark="Linux"),
)
_SHOWN = ("windows", "macos", "ios", "android", "chromeos", "linux", "firefox")


def platforms_for(user_agent: str) -> tuple[Platform, ...]:
    """All platforms, those that the visitor seems to have first: only an order, since anybody may say anything."""
    told = user_agent[:_MAX_AGENT]
    likely = [platform for platform in PLATFORMS if platform.mark in told]
    others = sorted(PLATFORMS, key=lambda platform: _SHOWN.index(platform.code))
    return tuple(dict.fromkeys((*likely, *others)))
