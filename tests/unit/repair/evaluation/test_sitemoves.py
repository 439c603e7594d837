"""Measuring site moves."""

import pytest

from repair.evaluate.sitemoves import ALIKE, CUTS, Text, cross_measure, gone_pages, measure, measured
from repair.moves import Move
from tests.folders import lines

NAMES = ["rain", "snow", "hail", "frost", "cloud"]
PAIRS = [Move(old=f"http://a.test/old/{name}", new=f"http://a.test/new/{name}") for name in NAMES]
HELD = {move.new for move in PAIRS}


def test_right_answers_and_silence_are_counted():
    figures = measure(PAIRS[:3], PAIRS[3:], ["http://a.test/old/fog"], HELD.__contains__)
    assert (figures.asked, figures.answered, figures.right) == (2, 2, 2)
    told = figures.told()
    assert (told["precision"], told["recall"], told["silence"]) == (1.0, 1.0, 1.0)


def test_a_wrong_answer_costs_precision_and_an_answer_for_a_deleted_page_silence():
    asked = [Move(old="http://a.test/old/frost", new="http://a.test/elsewhere")]
    figures = measure(PAIRS[:3], asked, ["http://a.test/old/cloud"], HELD.__contains__)
    told = figures.told()
    assert (told["precision"], told["recall"], told["silence"]) == (0.0, 0.0, 0.0)


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
    found = gone_pages([Text(url=url, title=title, text=text)], new, {"/moved"})
    assert [each for each, near in found.items() if near < ALIKE] == ([url] if is_deleted else [])


def a_page(url, title, text):
    return {"url": f"http://a.test{url}", "title": title, "text": text}


@pytest.fixture
def folders(tmp_path):
    """A site whose weather pages moved from /old to /new while its page on steam was deleted."""
    new, old = tmp_path / "new", tmp_path / "old"
    new.mkdir()
    old.mkdir()
    texts = {name: (name.title(), f"All about {name} and how it comes about") for name in NAMES}
    lines(new, "pages", [a_page(f"/new/{name}", *text) for name, text in texts.items()])
    deleted = a_page("/old/steam", "Steam engines", "Boilers drive pistons, wheels turn")
    lines(old, "pages", [deleted, *(a_page(f"/old/{name}", *text) for name, text in texts.items())])
    lines(
        new,
        "really_moved",
        [
            {
                "source_url": "http://a.test/old/rain",
                "source_url_now": "http://a.test/new/rain",
                "target_url": f"http://a.test/old/{name}",
                "truth": f"http://a.test/new/{name}",
            }
            for name in NAMES[1:]
        ],
    )
    return new, old


def test_pairs_are_of_targets_and_of_source_pages_and_deleted_pages_are_of_the_older_collection(folders):
    told = measured(*folders)
    assert (told["pairs"], told["asked"], told["right"]) == (5, 5, 5)
    assert (told["deleted"], told["silence"]) == (5, 1.0)  # one page, asked in five folds
    assert (told["collection"], told["older"]) == ("new", "old")
    assert list(told["silence_by_cut"]) == [str(cut) for cut in CUTS]
    assert told["silence_by_cut"][str(ALIKE)]["silence"] == told["silence"]


def test_a_move_to_a_page_that_is_not_held_is_no_pair(folders):
    new, old = folders
    lines(new, "pages", [a_page("/new/rain", "Rain", "It rains")])
    assert measured(new, old)["pairs"] == 1
