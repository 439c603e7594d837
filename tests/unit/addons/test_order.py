"""addons: the order of the addons is declared once, and the docs' table is made of it."""

from pathlib import Path

import pytest

from addons import ORDER, default_addons
from addons.__main__ import hooks_of, table
from proxy.errors import StartError

DEVELOPERS = Path(__file__).parents[3] / "docs" / "developers.md"


def test_every_addon_of_the_order_is_there_and_has_a_hook():
    assert [place.name for place in ORDER if not hooks_of(place)] == []


def test_the_developers_guide_has_the_table_of_addons_as_the_code_has_it():
    assert table() in DEVELOPERS.read_text(encoding="utf-8")


def test_an_addon_without_a_place_is_refused():
    class Stranger:
        pass

    with pytest.raises(StartError, match="Stranger"):
        default_addons([Stranger()])
