"""deploy/district/: the files are what the programs that read them take, and name only settings that there are."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from proxy.settings import load

DEPLOY = Path(__file__).parents[2] / "deploy"
DISTRICT = DEPLOY / "district"
_COMPOSE_SCHEMA = Path(__file__).parents[1] / "compose-spec.json"  # as docker compose checks a file


def parsed(file):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "file", [DEPLOY / "compose.yml", DISTRICT / "compose.yml"], ids=["school", "district"]
)
def test_compose_files_follow_the_specification(file):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(parsed(file)[0], json.loads(_COMPOSE_SCHEMA.read_text(encoding="utf-8")))


def test_the_compose_file_mounts_what_there_is_and_publishes_one_port():
    (told,) = parsed(DISTRICT / "compose.yml")
    services = told["services"]
    kinds = [re.sub(r"[0-9]|-standby", "", name) for name in services]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "opensearch": 3,
        "postgres": 2,
        "squid": 4,
        "linkmend": 2,
        "haproxy": 1,
    }
    assert {name: each["ports"] for name, each in services.items() if "ports" in each} == {
        "haproxy": ["8080:8080"]
    }
    for name, service in services.items():
        if build := service.get("build"):
            assert (DISTRICT / build["context"] / build["dockerfile"]).is_file(), name
        for mount in service["volumes"]:
            source = mount.partition(":")[0]
            assert (DISTRICT / source).is_file() if source.startswith(".") else source in told["volumes"], (
                mount
            )
        assert {*service["networks"]} <= {*told["networks"]}
        assert {*service.get("depends_on", ())} <= {*services}
    assert told["networks"]["engines"] == {"internal": True}


def test_the_compose_file_names_only_settings_that_there_are():
    (told,) = parsed(DISTRICT / "compose.yml")
    known = load(environment=told["services"]["linkmend1"]["environment"])
    assert known.proxy.parent == "http://squid:3128"
    assert len(known.district.search) == 3


def test_kubernetes_takes_the_example_and_linkmend_its_settings(tmp_path):
    kubernetes = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    objects = parsed(DISTRICT / "kubernetes.yaml")
    for each in objects:
        kubernetes.validate(each, "1.31", strict=True)
    (settings,) = (each["data"]["linkmend.toml"] for each in objects if each["kind"] == "ConfigMap")
    file = tmp_path / "linkmend.toml"
    file.write_text(settings, encoding="utf-8")
    assert load(file, environment={}).district.search_user == "school-17"


@pytest.mark.parametrize("name", ["squid-front.conf", "squid-cache.conf"])
def test_squid_understands_its_settings(program, name):
    done = subprocess.run(
        [program("squid"), "-k", "parse", "-f", DISTRICT / name], capture_output=True, text=True, timeout=60
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    # The names of the three are known in the district only.
    assert not re.search("WARNING|ERROR|FATAL", told.replace("WARNING: DNS lookup for 'squid", "")), told


def test_haproxy_understands_its_settings(program):
    done = subprocess.run(
        [program("haproxy"), "-c", "-f", DISTRICT / "haproxy.cfg"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "[WARNING]" in line]
    assert all("could not resolve address 'linkmend" in line for line in warnings), warnings


@pytest.mark.parametrize("script", sorted(DISTRICT.glob("*.sh")), ids=lambda file: file.name)
def test_scripts_are_in_the_language_of_sh(script):
    done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "set -eu" in script.read_text(encoding="utf-8")
