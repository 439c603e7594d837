"""The table of commands: its help lines are right, and nothing is imported before it is needed.

The tests count modules, not seconds: those are the same on every machine.
"""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from proxy.cli.commands import COMMANDS, load_command
from proxy.main import app

ROOT = Path(__file__).parents[4]

REPORTING = """
import atexit, json, os, sys
atexit.register(lambda: os.write(int(os.environ["REPORT_TO"]), json.dumps(sorted(sys.modules)).encode()))
from proxy.main import run
run()
"""

HELPING = """
import sys
from typer.testing import CliRunner
from proxy.cli.commands import COMMANDS
from proxy.main import app
for name in COMMANDS:
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name
    if found := set(sys.argv[1:]) & set(sys.modules):
        print(name, *found)
        break
"""

STARTING = """
import os, sys
os.execv = lambda *_: os._exit("typer" in sys.modules)
sys.argv = ["linkmend", "serve"]
from proxy.start import run
run()
"""

PROXYING = {"mitmproxy", "addons", "OpenSSL", "h2"}
LEARNING = {"lightgbm", "sklearn", "scipy"}
SEARCHING = {"numpy", "tantivy", "rapidfuzz", "Stemmer", "repair.collection.collection"}
ASKING = {"aiohttp", "yarl", "requests"}
READING = {"selectolax", "resiliparse", "warcio", "py3langid"}
SHOWING = {"jinja2", "prometheus_client"}
KEEPING = {"diskcache", "zstandard", "proxy.store.responses"}
ALL = PROXYING | LEARNING | SEARCHING | ASKING | READING | SHOWING | KEEPING

# What the command line does not use, so must not import.
UNUSED = {
    "--help": ALL | {"proxy.settings", "msgspec", "asyncio"},
    "--version": ALL | {"proxy.settings", "msgspec", "asyncio", "rich"},
    "rules check": ALL | {"asyncio"},
    "desk tokens": ALL | {"re2", "asyncio"},
    "fetch list": ALL | {"re2", "asyncio"},
    "pac --proxy proxy.test:8080": ALL | {"re2", "asyncio"},
    "misses top": ALL | {"re2", "asyncio"},
    "tag http://school.test/": PROXYING | LEARNING | ASKING | READING | SHOWING | KEEPING,
    "df water": PROXYING | LEARNING | ASKING | READING | SHOWING | KEEPING,
    "repairs list": PROXYING | LEARNING | ASKING | READING | SHOWING | KEEPING,
    "soft404 page.html": PROXYING | LEARNING | ASKING | SHOWING | (SEARCHING - {"Stemmer"}),
    "mend http://school.test/": PROXYING | LEARNING | (KEEPING - {"zstandard"}),
    "import site": PROXYING | LEARNING | SHOWING,
    "backup all.tar.zst": ALL - {"zstandard"},
}


def imported_by(*arguments, cwd):
    """The modules that a run of linkmend has loaded when it ends."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as report:
        try:
            done = subprocess.run(
                [sys.executable, "-c", REPORTING, *arguments],
                cwd=cwd,
                env={**os.environ, "PYTHONPATH": str(ROOT), "REPORT_TO": str(writing)},
                pass_fds=(writing,),
                capture_output=True,
                text=True,
                timeout=60,
            )
        finally:
            os.close(writing)
        assert done.returncode == 0, done.stdout + done.stderr
        return set(json.loads(report.read()))


@pytest.mark.parametrize("line", UNUSED)
def test_command_imports_only_what_it_uses(line, tmp_path):
    (tmp_path / "page.html").write_text("<title>Water</title><p>The water cycle")
    (tmp_path / "site" / "school.test").mkdir(parents=True)
    (tmp_path / "misses").mkdir()
    (tmp_path / "collection").mkdir()
    words = line.split()
    data = [] if words[0] in ("--help", "--version", "soft404") else ["--data", str(tmp_path)]
    assert sorted(imported_by(*words, *data, cwd=tmp_path) & UNUSED[line]) == []


def test_proxy_does_not_import_mitmproxys_web_server_and_other_unused_addons():
    code = "import sys, proxy.app.topology; print(*({'flask', 'ldap3', 'requests', 'pyperclip'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "\n", done.stderr


def test_help_of_commands_imports_only_what_describes_them():
    done = subprocess.run(
        [sys.executable, "-c", HELPING, *sorted(ALL - {"zstandard"})],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_table_repeats_each_commands_help_line(name):
    own = load_command(name).help.split("\n\n")[0]
    assert " ".join(own.split()) == COMMANDS[name][1]


def test_help_lists_every_command_with_its_line():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^\W+{name} +{re.escape(line)}", shown, re.MULTILINE), name


def test_the_version_is_that_of_the_package():
    assert CliRunner().invoke(app, ["--version"]).stdout == f"linkmend {metadata.version('linkmend')}\n"


@pytest.mark.parametrize(
    ("typed", "proposed"),
    [("linkmend mi", "misses"), ("linkmend rules ", "check\ntest"), ("linkmend misses list --ki", "--kind")],
)
def test_the_shell_completes_commands_and_options(typed, proposed):
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    environment = {"_LINKMEND_COMPLETE": "complete_bash", **asked}
    assert CliRunner().invoke(app, [], prog_name="linkmend", env=environment).stdout.strip() == proposed


def test_show_completion_prints_the_script_for_the_shell(monkeypatch):
    # Typer asks which shell it runs in, and there may be none above the tests.
    monkeypatch.setattr("shellingham.detect_shell", lambda *_, **__: ("bash", "bash"))
    assert "_LINKMEND_COMPLETE" in CliRunner().invoke(app, ["--show-completion", "bash"]).stdout


def test_serve_restarts_without_asserts_before_it_imports_anything():
    assert subprocess.run([sys.executable, "-c", STARTING], check=False).returncode == 0
