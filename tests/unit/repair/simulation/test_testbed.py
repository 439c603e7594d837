"""repair.simulation.testbed: collections with broken links, and our model over them."""

import pytest

from repair.ranking.features import FEATURES
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import build_testbed
from tests.folders import a_folder


@pytest.fixture
def on_bench(tmp_path):
    def made(variant, **known):
        plan = BreakagePlan(folder=a_folder(tmp_path / "site"), variant=Variant(variant))
        return build_testbed(plan, tmp_path / "cache", None, **known)

    return made


def test_source_pages_and_gone_pages_are_hidden(on_bench):
    with on_bench("kept") as made:
        case = next(made.cases())
        assert case.link.source_url in made.hidden(case)
        assert case.truth not in made.hidden(case)
    with on_bench("gone") as made:
        case = next(made.cases())
        assert {case.truth, case.link.source_url} <= made.hidden(case)
        assert len(made.numbers(made.hidden(case))) == 2


def test_links_of_a_gone_page_are_hidden(on_bench):
    with on_bench("gone") as made:
        for case in made.cases():
            for url in made.collection.addresses("http://site.test/", 99):
                assert case.truth not in {inlink.source_url for inlink in made.view.inlinks(url)}


def test_the_answer_is_a_candidate_with_or_without_comparing_addresses(on_bench):
    with on_bench("moved") as made:
        case = next(made.cases())
        pages, rows, _ = made.ranker().matrix(case.link, hidden=made.hidden(case))
        assert case.truth in [page.url for page in pages]
        assert len(rows) == len(pages)
        _, _, query_features = made.ranker(addresses=False).matrix(case.link)
        assert not query_features.compare_addresses


@pytest.mark.parametrize("variant", ["kept", "moved", "gone"])
def test_a_copied_page_gives_evidence_of_its_older_version(on_bench, variant):
    with on_bench(variant, copied=True) as made:
        for case in made.cases():
            (told,) = made.evidence(case)
            subject = case.link.anchor.split()[0]
            assert told.source == "copy"
            assert any(subject.startswith(term) for term, _ in told.terms)
            assert made.view.get(case.link.url).text != ""


def test_pages_without_a_copy_give_no_evidence(on_bench):
    with on_bench("moved") as made:
        for case in made.cases():
            assert made.evidence(case) == ()
            assert made.view.get(case.link.url) is None


def test_features_include_the_copy(on_bench):
    with on_bench("moved", copied=True) as made:
        case = next(made.cases())
        pages, rows, query_features = made.ranker().matrix(
            case.link, made.evidence(case), hidden=made.hidden(case)
        )
        alike = rows[:, FEATURES.index("copy.body_all")]
        assert query_features.terms["copy"]
        assert pages[int(alike.argmax())].url == case.truth
