"""The doctor finds each of the faults that a test plants in a healthy installation, and says what to do."""

import json
import os
import shutil
import socket
import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from typer.testing import CliRunner

from proxy.admin.auth.passwords import FILE, Passwords
from proxy.main import app
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from proxy.setup.installation import make_certificate, write_settings


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """An installation without a fault: settings, password, certificate, a database."""
    home = tmp_path_factory.mktemp("healthy")
    data = home / "data"
    data.mkdir()
    make_certificate(data)
    Passwords(data / FILE).set_password("correct horse battery")
    MissStore(data / "misses", MissesSettings()).close()
    return home


@pytest.fixture
def school(healthy, tmp_path):
    """A copy of it, in which a test may break things."""
    return Installed(shutil.copytree(healthy, tmp_path / "school", copy_function=shutil.copy2))


class Installed:
    def __init__(self, home):
        self.data, self.config, self.home = home / "data", home / "linkmend.toml", home
        self.settings = {
            "proxy.listen": "127.0.0.1:0",
            "proxy.offline": True,
            "desk.listen": "127.0.0.1:0",
            "metrics.listen": "127.0.0.1:0",
        }

    def examine(self):
        if not self.config.exists():
            write_settings(self.config, self.settings)
        done = CliRunner().invoke(
            app, ["doctor", "--json", "--config", str(self.config), "--data", str(self.data)]
        )
        return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]


def a_listener(words=b""):
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_healthy_installation_has_no_failure(school):
    code, found = school.examine()
    assert (code, [told for told in found if told["level"] == "fail"]) == (0, [])
    assert [told["check"] for told in found if told["level"] == "warn"] == ["pages"]


def a_misspelt_setting(school):
    school.config.write_text("[proxy]\nlissen = 'x'\n")


def a_broken_rule(school):
    (school.home / "rules.d").mkdir()
    (school.home / "rules.d" / "10-exam.toml").write_text('[[rule]]\naction = "blok"\n')


def a_taken_port(school):
    school.listener, school.settings["proxy.listen"] = a_listener()


def an_address_of_another_machine(school):
    school.settings["proxy.listen"] = "192.0.2.1:8080"


def a_dead_parent(school):
    listener, address = a_listener()
    listener.close()
    school.settings["proxy.parent"] = f"http://{address}"


def a_damaged_database(school):
    file = next(school.data.glob("misses/*.sqlite"))
    file.write_bytes(b"SQLite format 3\0" + bytes(5000))


def a_clock_in_the_past(school):
    os.utime(next(school.data.glob("misses/*.sqlite")), (time.time() + 90_000,) * 2)


def a_key_that_all_can_read(school):
    (school.data / "ca" / "mitmproxy-ca.pem").chmod(0o644)


def a_key_of_another_certificate(school):
    file = school.data / "ca" / "mitmproxy-ca.pem"
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    write_authority(file, ec.generate_private_key(ec.SECP256R1()), certificate)


def an_expired_certificate(school):
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    then = datetime.now(UTC) - timedelta(days=400)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(then)
        .not_valid_after(then + timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    write_authority(school.data / "ca" / "mitmproxy-ca.pem", key, certificate)


def write_authority(file, key, certificate):
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    file.write_bytes(secret + certificate.public_bytes(Encoding.PEM))


def a_file_in_place_of_the_data_folder(school):
    shutil.rmtree(school.data)
    school.data.write_text("")


def an_unreadable_password_file(school):
    (school.data / "desk.json").write_text("{")


@pytest.mark.parametrize(
    ("plant", "check", "words"),
    [
        (a_misspelt_setting, "settings", "lissen"),
        (a_broken_rule, "rules", "10-exam.toml:2"),
        (a_taken_port, "ports", "Address already in use"),
        (an_address_of_another_machine, "ports", "192.0.2.1:8080"),
        (a_dead_parent, "parent", "connection refused"),
        (a_damaged_database, "stores", "misses.sqlite"),
        (a_clock_in_the_past, "clock", "are newer"),
        (a_key_that_all_can_read, "certificate", "can be read by other users"),
        (a_key_of_another_certificate, "certificate", "do not belong together"),
        (an_expired_certificate, "certificate", "is not valid today"),
        (a_file_in_place_of_the_data_folder, "data", "is not a folder"),
        (an_unreadable_password_file, "password", "desk.json"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_fault_is_the_one_failure(school, plant, check, words):
    plant(school)
    code, found = school.examine()
    failures = [told for told in found if told["level"] == "fail"]
    assert (code, {told["check"] for told in failures}) == (1, {check})
    assert words in failures[0]["found"]
    assert failures[0]["advice"]
