"""Older versions of pages, made up."""

from repair.model import HeldPage
from repair.simulation.oldversion import make_older
from tests.make import A_MOMENT

SENTENCES = [f"Sentence number {number} of the page." for number in range(50)]
TEXT = "\n".join(SENTENCES)


def a_held_page(number, title="The water cycle explained", text=TEXT):
    return HeldPage(
        url=f"http://school.test/{number}",
        title=title,
        text=text,
        language="en",
        fetched_at=A_MOMENT,
        pinned=False,
        has_copy=False,
    )


PAGES = [a_held_page(number) for number in range(300)]


def test_the_older_version_is_deterministic_and_differs_by_page():
    assert make_older(PAGES[0]) == make_older(PAGES[0])
    assert len({make_older(page).text for page in PAGES}) > 250


def test_the_older_version_lacks_some_sentences_and_keeps_the_order():
    shares = []
    for page in PAGES:
        kept = make_older(page).text.split("\n")
        places = [SENTENCES.index(sentence) for sentence in kept]
        assert places == sorted(places)
        shares.append(len(kept) / len(SENTENCES))
    assert 0.2 < min(shares) < 0.5
    assert 0.6 < sum(shares) / len(shares) < 0.8


def test_one_page_in_five_had_half_its_title():
    titles = [make_older(page).title for page in PAGES]
    assert set(titles) == {"The water cycle explained", "The water"}
    assert 0.12 < titles.count("The water") / len(titles) < 0.28


def test_the_older_version_of_a_short_page_is_not_empty():
    for number in range(50):
        older = make_older(a_held_page(number, title="Rain", text="Rain falls."))
        assert (older.text, bool(older.title)) == ("Rain falls.", True)
    assert make_older(a_held_page(1, title="", text="")).text == ""
