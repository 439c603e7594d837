"""The Debian package: built, checked, installed, started as its unit would, upgraded, removed and purged.

It refers to the Python packages of these tests instead of bringing its own, which takes minutes; all else is real.
"""

import configparser
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.integration.client import PORTAL, Client
from tests.integration.debian import DebianMachine
from tests.integration.processes import ROOT, START_S, Running, free_port

PYTHON = "/usr/bin/python3"
SETTINGS = "/etc/linkmend/linkmend.toml"


@pytest.fixture(scope="module")
def package(tmp_path_factory, program):
    """The file of the package, for Debian's Python."""
    program("dpkg-deb")
    minor = f"{sys.version_info.minor}"
    asked = [PYTHON, "-c", "import ensurepip, sys; print(sys.version_info.minor)"]
    told = subprocess.run(asked, capture_output=True, text=True) if Path(PYTHON).exists() else None
    if told is None or told.stdout.strip() != minor:
        pytest.skip(f"Debian's python3-venv is not installed, or is not 3.{minor}")
    folder = tmp_path_factory.mktemp("package")
    done = subprocess.run(
        ["sh", ROOT / "deploy" / "debian" / "build.sh", folder],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PACKAGES": sysconfig.get_path("purelib")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("linkmend_*.deb")
    return file


@pytest.fixture
def machine(package, tmp_path, program):
    program("unshare")
    if not Path("/usr/sbin/adduser").exists():
        pytest.skip("adduser is not installed")
    copy = DebianMachine(tmp_path / "machine", package.parent, ROOT, Path(sys.prefix))
    if not copy.is_there:
        copy.close()
        pytest.skip(f"a copy of this machine can be mounted by root only: {copy.output}")
    # The service's user may not look into the tests' folders, which are other people's on the real machine.
    for place in {ROOT, Path(sys.prefix), package.parent}:
        for folder in (place, *place.parents):
            copy.run(f"chmod a+rx '{folder}'")
    yield copy
    copy.close()


def test_lintian_finds_no_fault(package, program):
    done = subprocess.run(
        [program("lintian"), "--no-cfg", "--allow-root", "--fail-on", "error,warning", package],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "")


def newer(package):
    """The next version of the package, with other settings."""
    folder, file = package.parent / "newer", package.with_name("newer.deb")
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder], check=True)
    control = folder / "DEBIAN" / "control"
    text = control.read_text(encoding="utf-8")
    version = next(line for line in text.splitlines() if line.startswith("Version: "))
    control.write_text(text.replace(version, f"{version}.1"), encoding="utf-8")
    with (folder / SETTINGS.removeprefix("/")).open("a", encoding="utf-8") as settings:
        settings.write("# A newer comment.\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-z1", "--build", folder, file], check=True)
    return file


def test_it_installs_runs_upgrades_and_leaves_nothing_behind(package, machine, tmp_path):
    machine.run(f"dpkg -i '{package}'")
    assert machine.run("stat -c '%U %a' /var/lib/linkmend /etc/linkmend/rules.d") == (
        "linkmend 700\nlinkmend 755\n"
    )
    assert machine.run("linkmend --version").startswith("linkmend ")
    assert "python3" in machine.run("dpkg-query -W -f '${Depends}' linkmend")
    assert machine.run("dpkg-query -W -f '${Conffiles}' linkmend").count("/etc/") == 2
    machine.run("test -L /etc/systemd/system/multi-user.target.wants/linkmend.service")
    machine.run("logrotate --debug /etc/logrotate.d/linkmend")

    port = free_port()
    for key, value in (
        ("0.0.0.0:8080", port),
        ("127.0.0.1:8081", free_port()),
        ("127.0.0.1:9108", free_port()),
    ):
        machine.run(f'sed -i \'s/^#listen = "{key}"/listen = "127.0.0.1:{value}"/\' {SETTINGS}')
    runs_as_the_unit_says(machine, port, tmp_path)

    set_up = "linkmend setup --yes --force --contact 'room 12' --parent none"
    assert "certificate for devices: /var/lib/linkmend/ca" in machine.run(
        f"LINKMEND_ARCHIVES_ENABLED=false {set_up}"
    )
    machine.run(
        f"grep -q '^contact = \"room 12\"' {SETTINGS} && test ! -e /etc/systemd/system/linkmend.service"
    )
    assert machine.run("find /var/lib/linkmend /etc/linkmend/rules.d ! -user linkmend") == ""

    machine.run(f"dpkg --force-confold -i '{newer(package)}'")
    assert f"127.0.0.1:{port}" in machine.run(f"cat {SETTINGS}")
    assert "A newer comment" in machine.run(f"cat {SETTINGS}.dpkg-dist")
    machine.run("test -s /var/lib/linkmend/ca/mitmproxy-ca.pem && linkmend --version")

    assert "upper/usr/lib/linkmend/bin/linkmend" in machine.left_behind("linkmend")
    machine.run("dpkg --remove linkmend")
    machine.run(f"test ! -e /usr/lib/linkmend && test -s {SETTINGS} && test -d /var/lib/linkmend/ca")
    machine.run("dpkg --purge linkmend")
    machine.run("getent passwd linkmend", code=2)
    assert machine.left_behind("linkmend") == ""


def runs_as_the_unit_says(machine, port, tmp_path):
    """Its command, its user, its folders; then a page over https by a client that trusts its certificate."""
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(machine.run("cat /lib/systemd/system/linkmend.service"))
    service = unit["Service"]
    assert "/opt/" not in machine.run("cat /lib/systemd/system/linkmend*.service")
    machine.run(f"install -d -o {service['User']} -m 700 /run/{service['RuntimeDirectory']}")
    user = f"setpriv --reuid={service['User']} --regid={service['Group']} --clear-groups --no-new-privs"
    folders = f"STATE_DIRECTORY=/var/lib/{service['StateDirectory']} RUNTIME_DIRECTORY=/run/linkmend HOME=/"
    command = f"umask {service['UMask']}; exec env -i PATH=/usr/bin {folders} LINKMEND_ARCHIVES_ENABLED=false"
    running = Running(machine.command("sh", "-c", f"{command} {user} {service['ExecStart']}"))
    try:
        running.wait_for_line("linkmend ready on ", timeout_s=START_S)
        proxy = f"http://127.0.0.1:{port}"
        authority = tmp_path / "ca.pem"
        authority.write_bytes(Client(proxy).get(f"{PORTAL}/ca.pem").body)
        assert Client(proxy, authority).open_page("https://linkmend.internal/").status == 200
        machine.run(f"{user} linkmend doctor --data /var/lib/linkmend --json >/dev/null")
    finally:
        running.stop()
    assert "Traceback" not in running.output
