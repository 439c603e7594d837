"""docs/rules.md: its examples are good rules, and it names every key and action there is."""

import re
from pathlib import Path

from proxy.rules.keys import KEYS
from proxy.rules.model import RuleAction
from repair.model import MissKind
from tests.unit.proxy.rules.books import a_book

PAGE = Path(__file__).parents[4] / "docs" / "rules.md"
EXAMPLE = Path(__file__).parents[4] / "deploy" / "rules.d" / "00-example.toml"


def test_the_examples_are_good_rules():
    examples = re.findall(r"^```rules\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        assert a_book(example).rules


def test_every_key_action_and_kind_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    for word in (*KEYS, *RuleAction):
        assert f"`{word}`" in text, word
    for kind in MissKind:
        assert kind in text, kind


def test_the_annotated_example_names_every_key():
    text = EXAMPLE.read_text(encoding="utf-8")
    for key in KEYS:
        assert re.search(rf"\b{key}\b", text), key
