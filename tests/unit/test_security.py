"""docs/security.md: every test that it names for a claim is there, and every claim has one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
CLAIMS = [line for line in PAGE.splitlines() if re.match(r"\| \d+[a-z]? \| \*\*", line)]


def named(claim):
    """The tests of a claim, as file and name; a name that follows another is in the same file."""
    file = ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", claim):
        file = path or file
        if file and (path or name):
            yield file, name


def test_every_claim_names_tests_that_are_there():
    assert len(CLAIMS) == 45
    for claim in CLAIMS:
        found = list(named(claim))
        assert found, claim
        for file, name in found:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not name or f"def {name}(" in text, f"{file}::{name}"


def test_every_test_of_trust_and_every_family_of_attacks_belongs_to_a_claim():
    claimed = {pair for claim in CLAIMS for pair in named(claim)}
    for file in ("words", "browser"):
        path = f"tests/integration/test_trust_{file}.py"
        names = re.findall(r"^def (test_\w+)\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
        assert (path, "") in claimed or {(path, name) for name in names} <= claimed
    claims = "".join(CLAIMS)
    for path in (ROOT / "tests" / "attacks").glob("test_*.py"):
        assert path.name in claims, f"no claim names {path.name}"
