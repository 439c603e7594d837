"""Puts an installation in place: each step says what it did, and nothing that exists is overwritten unasked."""

import hashlib
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proxy import atomicfiles
from proxy.errors import LinkmendError
from proxy.settings import load
from proxy.setup.settingsfile import changed_settings, settings_text
from proxy.setup.shipped import SERVICE, SETTINGS, shipped_file
from proxy.tls.authority import BASENAME, ensure_authority

USER = "linkmend"
UNITS = Path("/etc/systemd/system")
_PACKAGED_UNIT = Path("/lib/systemd/system/linkmend.service")
_PROGRAM = "/opt/linkmend/bin/linkmend"
DONE = "set-up"
"""In the data folder, once somebody has made the choices."""


def read_settings(path: Path) -> dict[str, Any]:
    """What a settings file changes; nothing where there is none. Raises SettingsError for a file with an error."""
    return changed_settings(load(path, environment={})) if path.exists() else {}


def write_settings(path: Path, chosen: Mapping[str, Any]) -> None:
    """Write an annotated settings file; one that was there is kept as *.before-setup.

    Raises SettingsError for a value that is wrong, before anything is written, and LinkmendError.
    """
    text = new_settings_text(chosen)
    of_all = os.geteuid() == 0  # a service reads it as its own user
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if of_all:
            path.parent.chmod(path.parent.stat().st_mode | 0o055)
        if path.exists():
            shutil.copy2(path, path.with_name(f"{path.name}.before-setup"))
        atomicfiles.write(path, text.encode(), mode=0o644 if of_all else 0o600)
    except OSError as error:
        raise LinkmendError(f"{path}: cannot write the settings: {error.strerror or error}") from error


def new_settings_text(chosen: Mapping[str, Any]) -> str:
    """An annotated settings file. Raises SettingsError for a value that is wrong."""
    load(environment={}, overrides=chosen)
    return settings_text(shipped_file(SETTINGS).read_text(encoding="utf-8"), chosen)


def own_settings_path() -> Path:
    """The settings file of the user who runs this, which `linkmend` finds by itself."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "linkmend" / "linkmend.toml"


def make_certificate(data: Path) -> tuple[Path, str]:
    """The authority's certificate, made if there is none: its file and its SHA-256 fingerprint."""
    folder = data / "ca"
    try:
        ensure_authority(folder)
        file = folder / f"{BASENAME}-ca-cert.pem"
        print_of = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read_text(encoding="ascii"))).hexdigest()
    except (OSError, ValueError) as error:
        raise LinkmendError(f"{folder}: cannot make the certificate: {error}") from error
    return file, ":".join(print_of[place : place + 2] for place in range(0, 64, 2)).upper()


def service_text(program: Path, settings: Path, data: Path) -> str:
    """The systemd unit, for the program, settings and data that this installation has."""
    text = shipped_file(SERVICE).read_text(encoding="utf-8")
    options = ""
    if settings != Path("/etc/linkmend/linkmend.toml"):
        options += f" --config {settings}"
    if data != Path("/var/lib/linkmend"):
        options += f" --data {data}"
        text = text.replace("ReadWritePaths=", f"ReadWritePaths={data} ", 1)
    return text.replace(f"ExecStart={_PROGRAM} serve", f"ExecStart={program} serve{options}")


def write_service(unit: Path, text: str) -> None:
    """Raises LinkmendError."""
    try:
        unit.parent.mkdir(parents=True, exist_ok=True)
        atomicfiles.write(unit, text.encode(), mode=0o644)
    except OSError as error:
        raise LinkmendError(f"{unit}: cannot write the service: {error.strerror or error}") from error


def this_program() -> Path:
    """The `linkmend` that is running now, for the service to start."""
    beside = Path(sys.executable).with_name("linkmend")
    return beside if beside.is_file() else Path(shutil.which("linkmend") or _PROGRAM)


def note_done(data: Path) -> None:
    """Note that a school has made its choices: from then on the desk no longer asks. Raises LinkmendError."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        (data / DONE).touch(mode=0o600)
    except OSError as error:
        raise LinkmendError(f"{data / DONE}: cannot write: {error.strerror or error}") from error


def is_done(data: Path, config: Path | None) -> bool:
    """Whether somebody has made these choices, by a set-up or in the settings file."""
    if (data / DONE).exists():
        return True
    try:
        return config is not None and bool(read_settings(config))
    except LinkmendError:
        return True  # a file with a mistake was written by somebody


def has_packaged_service() -> bool:
    """Whether the Debian package has installed user and service."""
    return _PACKAGED_UNIT.is_file()


def make_user() -> None:
    """Make the system user of the service, unless there is one. Raises LinkmendError."""
    import pwd

    try:
        pwd.getpwnam(USER)
    except KeyError:
        command = [
            "useradd",
            "--system",
            "--home-dir",
            "/var/lib/linkmend",
            "--shell",
            "/usr/sbin/nologin",
            USER,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)  # noqa: S603
        if done.returncode:
            raise LinkmendError(f"useradd {USER}: {done.stderr.strip() or 'failed'}") from None


def give_to_user(*folders: Path) -> None:
    """Hand folders, with all that is in them, to the service's user. Raises LinkmendError."""
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            for place, _, names in os.walk(folder):
                for path in (place, *(os.path.join(place, name) for name in names)):
                    shutil.chown(path, USER, USER)
    except (OSError, LookupError) as error:
        raise LinkmendError(f"cannot give {folders[0]} to the user {USER}: {error}") from error
