"""Collections in which links are broken, and our model over them."""

import pytest

from repair.evaluate.bench import bench
from repair.simulate import Plan, Variant
from tests.folders import a_folder


@pytest.fixture
def on_bench(tmp_path):
    def made(variant):
        plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant(variant))
        return bench(plan, tmp_path / "cache", None)

    return made


def test_the_page_with_the_link_may_not_be_returned_nor_one_that_is_gone(on_bench):
    with on_bench("kept") as made:
        case = next(made.cases())
        assert case.link.source_url in made.hidden(case)
        assert case.truth not in made.hidden(case)
    with on_bench("gone") as made:
        case = next(made.cases())
        assert {case.truth, case.link.source_url} <= made.hidden(case)
        assert len(made.numbers(made.hidden(case))) == 2


def test_what_a_page_that_is_gone_says_of_others_is_not_known(on_bench):
    with on_bench("gone") as made:
        for case in made.cases():
            for url in made.collection.addresses("http://site.test/", 99):
                assert case.truth not in {inlink.source_url for inlink in made.view.inlinks(url)}


def test_the_answer_is_among_the_candidates_and_addresses_can_be_left_out_of_it(on_bench):
    with on_bench("moved") as made:
        case = next(made.cases())
        pages, rows, _ = made.ranker().matrix(case.link, hidden=made.hidden(case))
        assert case.truth in [page.url for page in pages]
        assert len(rows) == len(pages)
        _, _, clues = made.ranker(addresses=False).matrix(case.link)
        assert not clues.compare_addresses
