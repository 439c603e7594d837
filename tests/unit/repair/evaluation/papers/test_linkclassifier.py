"""repair.evaluation.papers.linkclassifier: the paper's features, and how well they tell repairable links."""

import math
import random
from collections import Counter

import pytest

from repair.evaluation.papers.linkclassifier import JudgedLink, TermCounts, compare, features_of, link_words
from tests.make import a_broken_link

PAGES = [Counter({"lava": 3, "rock": 1}), Counter({"lava": 1}), Counter({"river": 2})]


def test_terms_are_counted_by_page_and_by_occurrence():
    counts = TermCounts.of(PAGES)
    assert counts.pages == 3
    assert counts.documents == {"lava": 2, "rock": 1, "river": 1}
    assert counts.occurrences["lava"] == 4


def test_features_are_averages_over_the_words_of_the_link():
    local, world = TermCounts.of(PAGES), TermCounts.of(PAGES[2:])
    found = features_of(["lava", "river"], local, world, Counter({"lava": 5}))
    assert found == pytest.approx(
        (
            (math.log1p(2) + math.log1p(1)) / 2,
            (math.log1p(4) + math.log1p(2)) / 2,
            math.log1p(10_000) / 2,
            math.log1p(5) / 2,
        )
    )
    assert features_of([], local, world, Counter()) == (0.0, 0.0, 0.0, 0.0)


def test_hidden_pages_are_not_local():
    local = TermCounts.of(PAGES)
    found = features_of(["lava"], local, local, Counter(), hidden=PAGES[:1])
    assert found[:2] == pytest.approx((math.log1p(1), math.log1p(1)))


def test_a_link_without_an_anchor_has_the_words_of_its_address():
    assert link_words(a_broken_link(url="http://a.test/hot-lava.html")) == ["test", "hot", "lava"]
    assert link_words(a_broken_link(anchor="Rivers")) == ["river"]


def test_the_accuracy_of_each_set_is_measured_on_other_links():
    chance = random.Random(1)
    judged = [
        JudgedLink(
            link=number,
            features=(float(repairable), 0.0, 0.0, 0.0),
            ours=chance.random(),
            repairable=repairable,
        )
        for number in range(60)
        for repairable in (True, False)
    ]
    accuracy = compare(judged)
    assert accuracy["paper"] > 0.9
    assert accuracy["both"] > 0.9
    assert accuracy["ours"] < 0.75
