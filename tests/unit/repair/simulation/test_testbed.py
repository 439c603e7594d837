"""Collections in which links are broken, and our model over them."""

import pytest

from repair.evaluate.bench import bench
from repair.features import FEATURES
from repair.simulate import Plan, Variant
from tests.folders import a_folder


@pytest.fixture
def on_bench(tmp_path):
    def made(variant, **known):
        plan = Plan(folder=a_folder(tmp_path / "site"), variant=Variant(variant))
        return bench(plan, tmp_path / "cache", None, **known)

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


@pytest.mark.parametrize("variant", ["kept", "moved", "gone"])
def test_what_an_older_version_of_the_lost_page_says_is_known_if_it_was_copied(on_bench, variant):
    with on_bench(variant, copied=True) as made:
        for case in made.cases():
            (told,) = made.evidence(case)
            subject = case.link.anchor.split()[0]
            assert told.source == "copy"
            assert any(subject.startswith(term) for term, _ in told.terms)
            assert made.view.get(case.link.url).text != ""


def test_nothing_is_known_of_lost_pages_that_were_not_copied(on_bench):
    with on_bench("moved") as made:
        for case in made.cases():
            assert made.evidence(case) == ()
            assert made.view.get(case.link.url) is None


def test_features_tell_what_the_copy_says(on_bench):
    with on_bench("moved", copied=True) as made:
        case = next(made.cases())
        pages, rows, clues = made.ranker().matrix(case.link, made.evidence(case), hidden=made.hidden(case))
        alike = rows[:, FEATURES.index("copy.body_all")]
        assert clues.terms["copy"]
        assert pages[int(alike.argmax())].url == case.truth
