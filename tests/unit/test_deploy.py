"""deploy/: the annotated example says all there is to set, and says the truth."""

import tomllib
from dataclasses import fields
from pathlib import Path

from proxy.settings import Settings, load

EXAMPLE = Path(__file__).parents[2] / "deploy" / "linkmend.toml"


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
