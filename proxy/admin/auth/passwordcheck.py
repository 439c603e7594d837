"""A check of `linkmend doctor`: whether the desk has a password."""

from proxy.admin.auth.passwords import FILE, Passwords
from proxy.doctor.model import Finding, Installation, fail, ok, warn
from proxy.errors import StoreError


async def check_password(installation: Installation) -> list[Finding]:
    if not installation.settings.desk.enabled:
        return [ok("password", "not needed: desk.enabled is off")]
    if not installation.data.is_dir():
        return []  # the check of the data folder says so
    try:
        credentials = Passwords(installation.data / FILE).load()
    except StoreError as error:
        return [fail("password", str(error), "correct the file's owner, or delete it and set a new password")]
    if credentials.password is None:
        advice = "`linkmend desk password` sets one; until then whoever knows the set-up code in the log may"
        return [warn("password", "the desk has no password yet", advice)]
    return [ok("password", "the desk has a password")]
