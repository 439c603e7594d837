"""What is declared in pyproject.toml, the changelog and the lock file is what the code has."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("proxy", "repair", "addons")
OTHERS = ("tests", "benchmarks")

LOCK = ROOT / "deploy" / "requirements.lock"
LOCKED = re.compile(r"^([a-z0-9-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


def declared(*extras):
    project = PROJECT["project"]
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


@cache
def imported(*folders):
    """The distributions whose packages are imported anywhere beneath the folders, each with a file that does so."""
    providers = packages_distributions()
    found = {}
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.Import(names=names):
                    modules = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), level=0):
                    modules = [module]
                case _:
                    continue
            for top in {module.partition(".")[0] for module in modules} - {*PACKAGES, *OTHERS}:
                if top not in sys.stdlib_module_names:
                    for name in providers.get(top, [top]):
                        found.setdefault(canonicalize_name(name), path.relative_to(ROOT))
    return found


def test_every_package_that_linkmend_imports_is_declared():
    missing = {
        name: str(path)
        for name, path in imported(*PACKAGES).items()
        if name not in declared("learn", "district")
    }
    assert missing == {}


def test_every_package_that_tests_import_is_declared():
    found = imported(*OTHERS)
    missing = {
        name: str(path) for name, path in found.items() if name not in declared("learn", "district", "test")
    }
    assert missing == {}


def test_every_declared_package_is_imported():
    assert sorted(declared("learn", "district").keys() - imported(*PACKAGES).keys()) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_there_for_others(package):
    assert (ROOT / package / "py.typed").is_file()
    assert package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_the_changelog_opens_with_what_is_unreleased_and_this_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert re.fullmatch(
        rf"\[{re.escape(PROJECT['project']['version'])}\] - 20\d\d-[01]\d-[0-3]\d", headings[1]
    )


@cache
def locked():
    return {name: version for name, version, _ in LOCKED.findall(LOCK.read_text(encoding="ascii"))}


def test_the_lock_file_has_every_dependency_in_a_version_that_is_allowed():
    wanted = declared() | {"hatchling": Requirement(PROJECT["build-system"]["requires"][0])}
    wrong = {
        name: locked().get(name)
        for name, requirement in wanted.items()
        if name not in locked() or not requirement.specifier.contains(locked()[name])
    }
    assert wrong == {}, "make it anew: sh deploy/lock.sh"


def test_the_lock_file_holds_nothing_but_versions_and_hashes():
    rest = LOCKED.sub("", LOCK.read_text(encoding="ascii"))
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []
    assert "://" not in rest


def test_the_container_installs_what_is_locked():
    assert "--require-hashes -r requirements.lock" in (ROOT / "deploy" / "Dockerfile").read_text(
        encoding="utf-8"
    )
