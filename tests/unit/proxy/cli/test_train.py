import configparser
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proxy.cli.commands import load_command
from proxy.main import app
from repair.parse.jsonlines import records
from repair.ranking import rankmodel
from tests.folders import a_folder, a_random_folder, lines
from tests.models import a_bad_model

pytest.importorskip("sklearn")
pytest.importorskip("lightgbm")

ROOT = Path(__file__).parents[4]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module", autouse=True)
def nice():
    """The priority, which the tests' own process could not raise again."""
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", asked.append)
        yield asked


@pytest.mark.slow
def test_folders_of_one_name_are_told_apart_in_the_model(tmp_path):
    folders = [a_random_folder(tmp_path / name / "site", 60, 25) for name in ("one", "two")]
    out = tmp_path / "model.json"
    result = run("train", *folders, folders[0], "--out", out, "--limit", 20, "--cache", tmp_path / "c")
    assert result.exit_code == 0, result.output
    about = rankmodel.load(out).about
    assert about["folders"] == ["one/site", "two/site"]
    assert about["links"]["one/site moved"] == about["links"]["two/site moved"] == 20
    assert about["links"]["two/site kept"] == 10
    assert set(about) == {"folders", "links", "linkmend", "R@1 left out"}
    assert "reading two/site readdressed copied" in result.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "either folders or --from-store"),
        (("folder", "--from-store"), "either folders or --from-store"),
        (("--from-store", "--out", "m.json"), "be combined with --out or --cache"),
        (("--from-store", "--limit", "50"), "at least 100"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, complaint):
    result = run("train", *words)
    assert result.exit_code == 2
    assert complaint in " ".join(result.output.replace("│", " ").split())


def test_too_few_links_are_refused_and_nothing_is_written(tmp_path):
    folder = a_folder(tmp_path / "site")
    lines(folder, "train", list(records(folder, "train"))[:5])
    result = run("train", folder, "--out", tmp_path / "model.json", "--cache", tmp_path / "c")
    assert result.exit_code == 1
    assert "at least 8 links" in str(result.exception)
    assert not (tmp_path / "model.json").exists()


@pytest.mark.slow
def test_folder_without_candidates_is_skipped(tmp_path):
    folder, out = a_random_folder(tmp_path / "site", 60, 25), tmp_path / "model.json"
    moved = {"source_url": "http://a.test/1", "target_url": "http://a.test/2", "truth": "http://a.test/3"}
    (folder / "really_moved_train.jsonl").write_text(json.dumps({"id": "m", **moved}) + "\n")
    result = run("train", folder, "--out", out, "--limit", 25, "--cache", tmp_path / "c")
    assert result.exit_code == 0, result.output
    assert "skipped: " in result.stdout
    assert "site really-moved" not in rankmodel.load(out).about["links"]


def a_school(place, pages):
    data = place / "data"
    assert run("import", a_random_folder(place / "site", pages, 10), "--data", data).exit_code == 0
    return data


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A school whose own model is bad trains twice; the output and the model in use after each night."""
    data = a_school(tmp_path_factory.mktemp("school"), 140)
    own = data / "collection" / "ranking.json"
    own.write_bytes(a_bad_model())
    told = []
    for _ in range(2):
        result = run("train", "--from-store", "--data", data, "--limit", 120)
        assert result.exit_code == 0, result.output
        told.append((result.stdout, own.read_bytes(), own.stat().st_mtime_ns))
    return data, told


@pytest.mark.slow
def test_better_model_is_used_and_both_scores_are_printed(nights, nice):
    _, [(said, model, _), _] = nights
    assert "the new model is better" in said
    assert said.count("moved R@1") == 2
    assert rankmodel.loads(model, "own").about["folders"] == ["own pages"]
    assert set(nice) == {19}


@pytest.mark.slow
def test_worse_model_is_not_used(nights):
    _, [(_, before, saved_at), (said, after, later)] = nights
    assert "not better; keeping the current one" in said
    assert (before, saved_at) == (after, later)


@pytest.mark.slow
def test_the_model_names_no_address_and_nothing_temporary_is_left(nights):
    data, [(_, model, _), _] = nights
    assert b"site.test" not in model
    assert not (data / "training").exists()
    assert not list((data / "collection").glob(".ranking*"))


def test_too_few_links_are_reported_and_leftovers_removed(tmp_path):
    data = a_school(tmp_path, 30)
    (data / "training").mkdir()
    (data / "training" / "pages.jsonl.gz").write_bytes(b"half")
    result = run("train", "--from-store", "--data", data)
    assert result.exit_code == 1
    assert "expected at least 100 usable links" in str(result.exception)
    assert not (data / "training").exists()
    assert not (data / "collection" / "ranking.json").exists()


def test_missing_data_folder_is_not_created(tmp_path):
    result = run("train", "--from-store", "--data", tmp_path / "wrong")
    assert result.exit_code == 1
    assert "No such file or directory" in str(result.exception)
    assert not (tmp_path / "wrong").exists()


STOPPED = """
import sys, time
from pathlib import Path
from proxy.cli.train import _low_priority
from proxy.cli.training import _scratch
with _low_priority(), _scratch(Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_sigterm_removes_temporary_files(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        assert (tmp_path / "training").exists()
        process.terminate()
        assert process.wait(20) == 128 + signal.SIGTERM
    assert not (tmp_path / "training").exists()


def unit(name):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(ROOT / "deploy" / name, encoding="utf-8")
    return parser


def test_unit_runs_an_existing_command_at_low_priority():
    service = unit("linkmend-train.service")["Service"]
    program, name, *options = shlex.split(service["ExecStart"])
    known = {option for parameter in load_command(name).params for option in parameter.opts}
    assert Path(program).name == "linkmend"
    assert set(options) <= known
    assert (service["Nice"], service["IOSchedulingClass"], service["CPUQuota"]) == ("19", "idle", "50%")


def test_the_timer_starts_it_every_night_not_for_all_at_once():
    timer = unit("linkmend-train.timer")
    assert timer["Timer"]["OnCalendar"] == "*-*-* 02:30:00"
    assert timer["Timer"]["RandomizedDelaySec"]
    assert timer["Install"]["WantedBy"] == "timers.target"
