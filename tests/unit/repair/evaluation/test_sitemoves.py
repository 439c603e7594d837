"""repair.evaluation.sitemoves: how well site moves are learnt."""

import pytest

from repair.evaluation.sitemoves import (
    ALIKE,
    CUTS,
    PageText,
    cross_measure,
    gone_pages,
    measure,
    measure_folder,
)
from repair.moves.rules import Move
from tests.folders import lines

NAMES = ["rain", "snow", "hail", "frost", "cloud"]
PAIRS = [Move(old=f"http://a.test/old/{name}", new=f"http://a.test/new/{name}") for name in NAMES]
HELD = {move.new for move in PAIRS}


def test_right_answers_and_silences_are_counted():
    figures = measure(PAIRS[:3], PAIRS[3:], ["http://a.test/old/fog"], HELD.__contains__)
    assert (figures.asked, figures.answered, figures.right) == (2, 2, 2)
    figures_by_name = figures.as_dict()
    assert (figures_by_name["precision"], figures_by_name["recall"], figures_by_name["silence"]) == (
        1.0,
        1.0,
        1.0,
    )


def test_wrong_answers_lower_precision_and_answers_for_deleted_pages_lower_silence():
    asked = [Move(old="http://a.test/old/frost", new="http://a.test/elsewhere")]
    figures = measure(PAIRS[:3], asked, ["http://a.test/old/cloud"], HELD.__contains__)
    figures_by_name = figures.as_dict()
    assert (figures_by_name["precision"], figures_by_name["recall"], figures_by_name["silence"]) == (
        0.0,
        0.0,
        0.0,
    )


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
def test_only_pages_without_a_similar_new_page_count_as_deleted(url, title, text, is_deleted):
    new = [
        PageText(url="/kept", title="Kept", text="Something else altogether"),
        PageText(url="/new", title="Water cycle", text="Water rises, clouds form and rain falls again"),
    ]
    found = gone_pages([PageText(url=url, title=title, text=text)], new, {"/moved"})
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


def test_pairs_come_from_targets_and_source_pages_and_deleted_ones_from_the_older_folder(folders):
    figures_by_name = measure_folder(*folders)
    assert (figures_by_name["pairs"], figures_by_name["asked"], figures_by_name["right"]) == (5, 5, 5)
    assert (figures_by_name["deleted"], figures_by_name["silence"]) == (
        5,
        1.0,
    )  # one page, asked in five folds
    assert (figures_by_name["collection"], figures_by_name["older"]) == ("new", "old")
    assert list(figures_by_name["silence_by_cut"]) == [str(cut) for cut in CUTS]
    assert figures_by_name["silence_by_cut"][str(ALIKE)]["silence"] == figures_by_name["silence"]


def test_a_move_to_a_page_outside_the_collection_is_no_pair(folders):
    new, old = folders
    lines(new, "pages", [a_page("/new/rain", "Rain", "It rains")])
    assert measure_folder(new, old)["pairs"] == 1
