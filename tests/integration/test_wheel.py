"""The wheel, for pip and pipx: it contains what an installed linkmend needs, and nothing of the checkout."""

import os
import subprocess
import sys
import zipfile

import pytest

from tests.integration.processes import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("linkmend-*-py3-none-any.whl")
    return file


def test_it_contains_the_packages_and_what_setup_puts_in_place(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {
        "addons",
        "linkmend",
        "proxy",
        "repair",
    }
    files = "proxy/setup/files"
    assert {f"{files}/linkmend.toml", f"{files}/linkmend.service"} <= names
    assert f"{files}/demo/library.school.test/index.html" in names
    assert "repair/ranking/models/default.json" in names


def test_an_installed_linkmend_sets_itself_up_without_the_checkout(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "packages")
    config, data = tmp_path / "linkmend.toml", tmp_path / "data"
    options = ("--yes", "--no-service", "--config", config, "--data", data, "--listen", "127.0.0.1:0")
    done = subprocess.run(
        [sys.executable, "-m", "proxy.main", "setup", *map(str, options), "--content", "demo"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "packages"), "LINKMEND_ARCHIVES_ENABLED": "false"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert f"{tmp_path}/packages/proxy/setup/files/demo: 45 pages" in done.stdout, done.stdout + done.stderr
    assert "# Address and port of the proxy.\nlisten = " in config.read_text(encoding="utf-8")
