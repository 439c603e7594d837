import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from repair.collection.index.fulltext import LINK, FullTextIndex, IndexDamaged, IndexEntry, entry_of
from repair.text import urls
from tests.examples import examples
from tests.holdings import a_document

TEXTS = (
    "water cycle rain river sea",
    "rain rain rain cloud",
    "history of rome and the roman river trade",
    "river river delta mouth of the river sea",
    "cloud computing and data centres",
    "the sea the sea the open sea and its tides and its salt",
    "salt trade routes",
)


@pytest.fixture
def index(tmp_path):
    return FullTextIndex(tmp_path / "index", create=True)


def _body(page, text):
    return IndexEntry(page=page, fields={"body": text.split()})


def _pages(index, *terms, **known):
    return [page for page, _ in index.search([(term, 1.0) for term in terms], limit=10, **known)]


class Lucene(BM25Okapi):
    """rank-bm25 with the idf that tantivy and Lucene use; Okapi's own turns negative for common terms."""

    def _calc_idf(self, nd):
        self.idf = {term: math.log(1 + (self.corpus_size - df + 0.5) / (df + 0.5)) for term, df in nd.items()}


@pytest.mark.parametrize(
    "query", ["river", "river sea", "the sea salt", "rain cloud data", "rome trade river sea rain"]
)
def test_scores_are_those_of_rank_bm25(index, query):
    index.update(_body(page, text) for page, text in enumerate(TEXTS))
    oracle = Lucene([text.split() for text in TEXTS], k1=1.2, b=0.75).get_scores(query.split())
    got = dict(index.search([(term, 1.0) for term in query.split()], limit=10, weights={"body": 1.0}))
    assert got == pytest.approx({page: score for page, score in enumerate(oracle) if score > 0}, rel=1e-5)


def test_one_term_is_ordered_as_by_okapi_itself(index):
    index.update(_body(page, text) for page, text in enumerate(TEXTS))
    oracle = BM25Okapi([text.split() for text in TEXTS], k1=1.2, b=0.75).get_scores(["sea"])
    expected = sorted(
        (page for page in range(len(TEXTS)) if oracle[page] > 0), key=lambda page: -oracle[page]
    )
    assert _pages(index, "sea") == expected


def test_weights_of_terms_multiply_their_scores(index):
    index.update(_body(page, text) for page, text in enumerate(TEXTS))
    ((_, single),) = index.search([("rome", 1.0)], limit=10)
    ((_, double),) = index.search([("rome", 2.0)], limit=10)
    assert double == pytest.approx(2 * single)


def test_a_match_in_the_title_counts_more_than_in_the_body(index):
    index.update(
        [IndexEntry(page=1, fields={"body": ["rome"]}), IndexEntry(page=2, fields={"title": ["rome"]})]
    )
    assert _pages(index, "rome") == [2, 1]
    assert _pages(index, "rome", weights={"body": 1.0}) == [1]


def test_an_entry_replaces_the_older_one_and_an_empty_one_deletes_it(index):
    index.update([_body(1, "old")])
    index.update([_body(1, "new"), _body(1, "newest")])
    assert (_pages(index, "old"), _pages(index, "new"), _pages(index, "newest")) == ([], [], [1])
    index.update([IndexEntry(page=1)])
    assert _pages(index, "newest") == []
    assert index.size() == 0


@pytest.mark.parametrize(
    "term",
    [
        "",
        " ",
        "AND",
        "*",
        "a:b",
        '"',
        "(",
        "\x00",
        "\ud800",
        "x" * 100_000,
        "é" * 70_000,
        "title:rome",
        "~",
        "-a",
    ],
)
def test_any_string_is_a_valid_query(index, term):
    index.update([_body(1, "rome")])
    assert _pages(index, term) == []
    assert _pages(index, term, "rome") == [1]


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_an_invalid_weight_is_ignored(index, weight):
    index.update([_body(1, "rome")])
    assert index.search([("rome", weight)], limit=10) == ()


def test_an_empty_query_finds_nothing(index):
    index.update([_body(1, "rome")])
    assert index.search([], limit=10) == ()
    assert index.search([("rome", 1.0)], limit=0) == ()


def test_a_query_of_very_many_terms_is_cut_to_the_heaviest(index):
    index.update([_body(1, "rome")])
    light = [(f"t{number}", 0.1) for number in range(5_000)]
    assert [page for page, _ in index.search([*light, ("rome", 1.0)], limit=10)] == [1]


def test_a_page_is_indexed_by_title_headings_address_anchors_and_text():
    document = a_document(
        "/water-cycle", title="Rain", text="Clouds form.", headings=("Rivers",), keywords=("sea",)
    )
    fields = entry_of(7, document, ["the tides", "click here"]).fields
    assert fields["title"] == ["rain"]
    assert {"river", "sea"} <= set(fields["headings"])
    assert {"water", "cycl"} <= set(fields["url"])
    assert fields["anchors"] == ["tide"]
    assert fields["body"] == ["cloud", "form"]


def test_another_process_sees_what_was_committed(tmp_path, index):
    other = FullTextIndex(tmp_path / "index")
    index.update([_body(1, "rome")])
    assert _pages(other, "rome") == []
    other.reload()
    assert _pages(other, "rome") == [1]


def test_document_frequencies_are_fresh_after_every_commit(tmp_path, index):
    index.update([_body(1, "rome"), _body(2, "rome")])
    other = FullTextIndex(tmp_path / "index")
    assert [each.document_frequency("rome", "body") for each in (index, other)] == [2, 2]
    index.update([_body(3, "rome")])
    assert [each.document_frequency("rome", "body") for each in (index, other)] == [3, 2]
    other.reload()
    assert other.document_frequency("rome", "body") == 3


def test_a_second_writer_is_refused(tmp_path, index):
    index.update([_body(1, "rome")])
    with pytest.raises(IndexDamaged, match="LockBusy"):
        FullTextIndex(tmp_path / "index").update([_body(2, "rome")])


def test_a_folder_without_an_index_is_none(tmp_path):
    with pytest.raises(IndexDamaged, match="no index found"):
        FullTextIndex(tmp_path)


@pytest.mark.parametrize("suffix", ["meta.json", ".managed.json", ".idx", ".term", ".fast", ".fieldnorm"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "missing"])
def test_damage_raises_or_is_harmless_but_never_ends_the_process(tmp_path, index, suffix, damage):
    index.update(_body(page, f"rome w{page} w{page % 7}") for page in range(300))
    index.close()
    for file in tmp_path.glob(f"index/*{suffix}"):
        data = file.read_bytes()
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(
                data[: len(data) // 2]
                if damage == "cut"
                else bytes(b ^ 0xFF for b in data[:-200]) + data[-200:]
            )
    with contextlib.suppress(IndexDamaged):
        damaged = FullTextIndex(tmp_path / "index")
        damaged.search([("rome", 1.0), ("w3", 1.0)], limit=50)


_TERM = st.text(st.characters(blacklist_categories=["Z", "C"]), min_size=1, max_size=8)


@examples(25)
@given(st.lists(st.lists(_TERM, min_size=1, max_size=6), min_size=1, max_size=5))
def test_every_term_that_was_put_in_finds_its_page(tmp_path_factory, texts):
    index = FullTextIndex(tmp_path_factory.mktemp("index"), create=True)
    index.update(IndexEntry(page=page, fields={"body": terms}) for page, terms in enumerate(texts))
    for page, terms in enumerate(texts):
        for term in terms:
            assert page in _pages(index, term)


def test_settle_merges_the_segments_of_many_updates(index):
    for page, text in enumerate(TEXTS * 2):
        index.update([_body(page, text)])
    index.settle()
    assert index._index.searcher().num_segments < 8
    assert len(_pages(index, "river")) == 6


def test_the_index_can_be_written_after_settle(index):
    index.update([_body(1, "water")])
    index.settle()
    index.update([_body(2, "water")])
    assert sorted(_pages(index, "water")) == [1, 2]


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test/",
        "http://a.test/b",
        "https://a.test:8080/b/c/",
        "http://a.test/b/c.html?q=/x/y",
        "http://[::1]/b",
    ],
)
def test_links_are_kept_as_addresses_and_as_the_directories_above_them(url):
    links = entry_of(1, a_document("/x"), (), (url,)).fields["links"]
    assert links[:3] == [LINK, url, urls.directory(url)]
    assert links[-1] == urls.resolve(url, "/")


def test_an_update_after_a_failed_one_is_found(index, tmp_path):
    index.update([_body(1, "river")])
    (tmp_path / "index").rename(tmp_path / "away")  # as on a full disk, no file can be opened for writing
    with pytest.raises(IndexDamaged):
        index.update([_body(2, "delta")])
    (tmp_path / "away").rename(tmp_path / "index")
    index.update([_body(2, "delta"), _body(3, "mouth")])
    assert [_pages(index, term) for term in ("river", "delta", "mouth")] == [[1], [2], [3]]
