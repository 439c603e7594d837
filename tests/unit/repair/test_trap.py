"""The trap: what breaking links leaves behind must not tell the answers from other pages.

A model learns whatever tells answers apart. If only they were re-addressed, or only they had lost a link, it would
learn that, be perfect in the experiment and useless in life. So no feature that says something of a page alone,
whatever is asked, may separate the answers from other pages of a collection in which nothing else does.
"""

import gzip
import json

import numpy as np
import pytest

from repair.ranking.features import FEATURES
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import build_testbed
from tests.folders import a_random_folder, lines

pytestmark = pytest.mark.slow

PAGES, BROKEN = 400, 130


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return a_random_folder(tmp_path_factory.mktemp("trap") / "site", PAGES, BROKEN)


def told_apart(made, answers):
    """How well each feature of pages alone tells the answers from the others: the area under its curve."""
    seen = {}
    ranker = made.ranker()
    for case in made.cases():
        pages, rows, _ = ranker.matrix(case.link, hidden=case.hidden)
        for page, row in zip(pages, rows, strict=True):
            seen.setdefault(page.url, []).append(row)
    assert len(seen) > 0.9 * PAGES
    same = np.max([np.ptp(rows, axis=0) for rows in seen.values()], axis=0) < 1e-6
    table = np.array([rows[0] for rows in seen.values()])
    right = np.array([url in answers for url in seen])
    told = same & (np.ptp(table, axis=0) > 1e-6)
    return {FEATURES[at]: area(table[:, at], right) for at in np.flatnonzero(told)}


def area(values, right):
    """The chance that an answer has more than another page, ties counting half."""
    mine, others = values[right][:, None], values[~right][None, :]
    return float((mine > others).mean() + 0.5 * (mine == others).mean())


@pytest.mark.parametrize(
    ("variant", "split"),
    [
        ("moved", "test"),
        ("moved", "train"),
        ("kept", "train"),
        ("renamed", "train"),
        ("readdressed", "train"),
    ],
)
def test_page_properties_alone_do_not_reveal_the_answers(folder, tmp_path, variant, split):
    plan = BreakagePlan(folder=folder, variant=Variant(variant), split=split)
    with build_testbed(plan, tmp_path, None) as made:
        found = told_apart(made, {case.truth for case in made.cases()})
    assert found
    assert {name: round(value, 2) for name, value in found.items() if abs(value - 0.5) > 0.1} == {}


def test_moving_only_the_answers_would_reveal_them(folder, tmp_path):
    """The probe itself: it finds the marks where they are."""
    trapped = tmp_path / "trapped"
    trapped.mkdir()
    for path in folder.iterdir():
        (trapped / path.name).write_bytes(path.read_bytes())
    with gzip.open(folder / "train.jsonl.gz") as file:
        answers = {json.loads(line)["target_url"] for line in file}
    with gzip.open(folder / "pages.jsonl.gz") as file:
        pages = [json.loads(line) for line in file]
    moved = {url: f"http://moved.invalid/{at}" for at, url in enumerate(sorted(answers))}
    lines(trapped, "pages", [page | {"url": moved.get(page["url"], page["url"])} for page in pages])
    plan = BreakagePlan(folder=trapped, variant=Variant.KEPT, split="train")
    with build_testbed(plan, tmp_path / "cache", None) as made:
        found = told_apart(made, set(moved.values()))
    assert max(abs(value - 0.5) for value in found.values()) > 0.4
