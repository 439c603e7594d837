"""Sites whose TLS connections are not intercepted: the shipped list, and the school's own."""

from pathlib import Path

from proxy.errors import SettingsError
from proxy.rules.domains import entries_of
from proxy.settings import ProxySettings

SHIPPED = "shipped"
"""The name of the list that comes with linkmend."""
_SHIPPED_FILE = Path(__file__).parent / "lists" / "passthrough.txt"


def passthrough_domains(settings: ProxySettings) -> frozenset[str]:
    """The entries of all lists, in the form of `proxy.rules.domains`: a leading dot includes subdomains.

    Raises SettingsError with file and line.
    """
    return frozenset[str]().union(*(_entries(name) for name in settings.pass_through))


def _entries(name: str) -> frozenset[str]:
    path = _SHIPPED_FILE if name == SHIPPED else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"proxy.pass_through: {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"proxy.pass_through: {path}: not UTF-8 at byte {error.start}") from error
    entries, faults = entries_of(text, "dstdomain")
    if faults:
        line, reason = faults[0]
        raise SettingsError(f"proxy.pass_through: {path}:{line}: {reason}")
    return entries
