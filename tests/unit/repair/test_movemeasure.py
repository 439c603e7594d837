"""Measuring site moves."""

import pytest

from repair.movemeasure import Text, cross_measure, deleted_urls, measure
from repair.moves import Move

NAMES = ["rain", "snow", "hail", "frost", "cloud"]
PAIRS = [Move(old=f"http://a.test/old/{name}", new=f"http://a.test/new/{name}") for name in NAMES]
HELD = {move.new for move in PAIRS}


def test_right_answers_and_silence_are_counted():
    figures = measure(PAIRS[:3], PAIRS[3:], ["http://a.test/old/fog"], HELD.__contains__)
    assert (figures.asked, figures.answered, figures.right) == (2, 2, 2)
    assert (figures.precision, figures.recall, figures.silence) == (1.0, 1.0, 1.0)


def test_a_wrong_answer_costs_precision_and_an_answer_for_a_deleted_page_silence():
    asked = [Move(old="http://a.test/old/frost", new="http://a.test/elsewhere")]
    figures = measure(PAIRS[:3], asked, ["http://a.test/old/cloud"], HELD.__contains__)
    assert (figures.precision, figures.recall, figures.silence) == (0.0, 0.0, 0.0)


def test_every_pair_is_asked_once():
    figures = cross_measure(PAIRS, ["http://a.test/old/fog"], HELD.__contains__, folds=5)
    assert (figures.asked, figures.right, figures.deleted) == (5, 5, 5)


@pytest.mark.parametrize(
    ("url", "title", "text", "is_deleted"),
    [
        ("/gone", "Steam engines", "Boilers drive pistons and wheels", True),
        ("/moved", "Steam engines", "Boilers drive pistons and wheels", False),
        ("/kept", "Steam engines", "Boilers drive pistons and wheels", False),
        ("/renamed", "Water cycle", "Boilers drive pistons and wheels", False),
        ("/rewritten", "Rain", "Water rises, clouds form, rain falls", False),
    ],
)
def test_a_deleted_page_has_no_counterpart(url, title, text, is_deleted):
    new = [
        Text(url="/kept", title="Kept", text="Something else altogether"),
        Text(url="/new", title="Water cycle", text="Water rises, clouds form and rain falls again"),
    ]
    found = deleted_urls([Text(url=url, title=title, text=text)], new, {"/moved"})
    assert found == ((url,) if is_deleted else ())
