"""Packs that `linkmend export` writes, opened by the programs of others."""

import contextlib
import shutil
import subprocess
import urllib.request

import pytest

from tests.integration import pywb
from tests.integration.processes import ROOT, Running, free_port
from tests.integration.test_crawling import School

PAGE = "http://science.school.test/earth/volcanoes.html"


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """The demo's pages, of which one site is packed in both formats."""
    pytest.importorskip("libzim")
    school = School(tmp_path_factory.mktemp("packs"))
    imported = school.run("import", ROOT / "deploy" / "demo")
    assert imported.returncode == 0, imported.stderr
    for kind in ("wacz", "zim"):
        made = school.run(
            "export", "science.school.test", "--to", school.data / f"science.{kind}", "--licence", "CC0"
        )
        assert made.returncode == 0, made.stderr
        assert made.stdout.count("\n") == 1
    return school


@contextlib.contextmanager
def started(command, port):
    running = Running(command)
    try:
        running.wait_for_port(port, timeout_s=60)
        yield f"http://127.0.0.1:{port}"
    finally:
        running.stop()


def ask(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


@pytest.mark.slow
def test_pywb_replays_a_wacz(school, tmp_path):
    programs = pywb.programs()
    if programs is None:
        pytest.skip("pywb is not installed")
    wayback, manager = programs
    (tmp_path / "config.yaml").write_text("framed_replay: false\n")
    for command in (["init", "pack"], ["add", "--unpack-wacz", "pack", school.data / "science.wacz"]):
        subprocess.run([manager, *command], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    port = free_port()
    with started([wayback, "-b", "127.0.0.1", "-p", str(port), "-d", tmp_path], port) as base:
        assert "Volcanoes, hot springs" in ask(f"{base}/pack/mp_/{PAGE}")
        picture = ask(f"{base}/pack/id_/http://science.school.test/planet.svg")
        assert picture == (ROOT / "deploy/demo/science.school.test/planet.svg").read_text()


@pytest.mark.slow
def test_wacz_is_valid_for_its_own_validator(school):
    validator = shutil.which("wacz", path=f"{ROOT}/.pywb/bin") or shutil.which("wacz")
    if validator is None:
        pytest.skip("py-wacz is not installed: pip install wacz")
    result = subprocess.run(
        [validator, "validate", "-f", school.data / "science.wacz"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "the passed WACZ is valid" in result.stdout, result.stdout


@pytest.mark.slow
def test_kiwix_serves_and_searches_a_zim(school):
    kiwix = shutil.which("kiwix-serve")
    if kiwix is None:
        pytest.skip("kiwix-serve is not installed: apt install kiwix-tools")
    port = free_port()
    command = [kiwix, "--address", "127.0.0.1", "--port", str(port), school.data / "science.zim"]
    with started(command, port) as base:
        page = ask(f"{base}/raw/science/content/science.school.test/earth/volcanoes.html")
        assert "Volcanoes, hot springs" in page
        assert 'href="../life/cells.html"' in page
        assert "volcanoes.html" in ask(f"{base}/search?content=science&pattern=geysers")
