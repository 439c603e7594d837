"""deploy/: the annotated example says all there is to set, and the truth; the other files are what they claim."""

import configparser
import getpass
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from proxy.monitoring.metrics import MetricsSnapshot, exposition
from proxy.settings import Settings, load

DEPLOY = Path(__file__).parents[2] / "deploy"
EXAMPLE = DEPLOY / "linkmend.toml"


def test_the_example_file_holds_exactly_the_defaults():
    assert load(EXAMPLE, environment={}) == Settings()


def test_every_setting_stands_in_the_example_file_under_a_comment():
    tree = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    for section in fields(Settings):
        for key in fields(getattr(Settings(), section.name)):
            assert key.name in tree[section.name], f"{section.name}.{key.name} is not in the example"
            place = next(number for number, line in enumerate(lines) if line.startswith(f"{key.name} = "))
            assert lines[place - 1].startswith("# "), f"{section.name}.{key.name} is not explained"


def output_of(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("unit", ["linkmend.service", "linkmend-train.service"])
def test_the_services_are_shut_in(program, unit):
    told = output_of(program("systemd-analyze"), "security", "--offline=true", "--no-pager", DEPLOY / unit)
    assert float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", told)[1]) <= 2.0


def the_service():
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "linkmend.service", encoding="utf-8")
    return unit["Service"]


def test_the_service_keeps_its_data_where_linkmend_looks_for_it_and_can_be_reloaded():
    service = the_service()
    assert service["StateDirectory"] == "linkmend"
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert int(service["TimeoutStopSec"]) > Settings().proxy.stop_grace_s


def test_the_log_rotation_is_understood(program, tmp_path):
    text = (DEPLOY / "logrotate" / "linkmend").read_text(encoding="utf-8")
    log = tmp_path / "linkmend.log"
    log.write_text("a line\n")
    tmp_path.chmod(0o700)
    here = text.replace("/var/log/linkmend/*.log", str(log)).replace(
        "su linkmend linkmend", f"su {getpass.getuser()} {getpass.getuser()}"
    )
    (tmp_path / "logrotate.conf").write_text(here)
    told = output_of(
        program("logrotate"), "--debug", "--state", tmp_path / "state", tmp_path / "logrotate.conf"
    )
    assert "error" not in told.lower()
    assert f"considering log {log}" in told


def test_squid_understands_its_settings(program):
    told = output_of(program("squid"), "-k", "parse", "-f", DEPLOY / "squid.conf")
    assert not re.search("WARNING|ERROR|FATAL", told), told


def test_the_dashboard_shows_only_numbers_that_there_are():
    told = exposition(
        MetricsSnapshot(requests={"hit": 1}, repaired={"gone": 1}, queues={"misses": 0})
    ).decode()
    known = set(re.findall(r"^(linkmend_\w+)", told, re.MULTILINE))
    dashboard = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    shown = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"linkmend_\w+", target["expr"])
    }
    assert shown <= known
    assert {name.removesuffix("_bucket") for name in shown} >= {
        "linkmend_requests_total",
        "linkmend_repair_seconds",
    }
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)


def test_the_compose_file_builds_linkmend_squid_and_on_demand_an_archive():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    told = yaml.safe_load((DEPLOY / "compose.yml").read_text(encoding="utf-8"))
    services = told["services"]
    assert set(services) == {"linkmend", "squid", "pywb"}
    assert services["pywb"]["profiles"] == ["archive"]
    assert "profiles" not in services["squid"]
    for service in services.values():
        folder = (DEPLOY / service["build"]["context"]).resolve()
        assert (folder / service["build"]["dockerfile"]).is_file()
        for mount in service["volumes"]:
            source = mount.partition(":")[0]
            assert (DEPLOY / source).is_file() if source.startswith(".") else source in told["volumes"], mount


def test_the_compose_file_names_only_settings_that_there_are(tmp_path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    told = yaml.safe_load((DEPLOY / "compose.yml").read_text(encoding="utf-8"))
    environment = {
        name: re.sub(r"\$\{[^}]*:-([^}]*)\}", r"\1", value)
        for name, value in told["services"]["linkmend"]["environment"].items()
    }
    assert load(environment=environment).proxy.parent == "http://127.0.0.1:3128"


@pytest.mark.parametrize("file", ["Dockerfile", "squid.Dockerfile", "pywb.Dockerfile"])
def test_hadolint_finds_no_fault(file):
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    assert output_of(hadolint, "--no-color", DEPLOY / file) == ""


@pytest.mark.parametrize("file", ["compose.yml", "Dockerfile", "squid.Dockerfile", "pywb.Dockerfile"])
def test_no_registry_is_named(file):
    for line in (DEPLOY / file).read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\s*(?:FROM|image:)\s+(\S+)", line):
            assert re.fullmatch(r"[a-z]+:[a-z0-9.-]+", found[1]), line


def test_what_the_image_is_made_of_is_there():
    root = DEPLOY.parent
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert {"proxy", "repair", "addons", "pyproject.toml"} <= set(names)
    assert all((root / name).exists() for name in names)
