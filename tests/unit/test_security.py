"""docs/security.md: every test that it names for a claim is there, and every claim has one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
CLAIMS = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \| \*\*", line)]


def named(claim):
    """The tests of a claim, as file and name; a name that follows another is in the same file."""
    file = ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", claim):
        file = path or file
        if file and (path or name):
            yield file, name


def test_every_claim_names_tests_that_are_there():
    assert len(CLAIMS) == 10
    for claim in CLAIMS:
        found = list(named(claim))
        assert found, claim
        for file, name in found:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not name or f"def {name}(" in text, f"{file}::{name}"


def test_every_test_of_trust_belongs_to_a_claim():
    claimed = {name for claim in CLAIMS for _, name in named(claim)}
    for file in ("words", "browser"):
        text = (ROOT / "tests" / "integration" / f"test_trust_{file}.py").read_text(encoding="utf-8")
        assert set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)) <= claimed
