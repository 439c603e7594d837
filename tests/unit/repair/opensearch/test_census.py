import numpy as np
import pytest

from repair.collection.index.fulltext import entry_of
from repair.collection.index.vectors import FIELDS, hashes, pack
from repair.model import Document
from repair.opensearch import census
from tests.unit.repair.opensearch.pages import a_collection

_BODY = FIELDS.index("body")


def test_the_census_counts_what_the_collection_counts(tmp_path):
    with a_collection(tmp_path) as collection:
        counted = census.count(collection.packed_vectors(collection.numbers()).values())
        terms = hashes(("water", "river", "delta", "nowhere"))
        theirs, ours = (each.statistics(terms, (_BODY,)) for each in (collection, counted))
        assert (ours.pages, ours.lengths) == (theirs.pages, theirs.lengths)
        assert np.array_equal(ours.df, theirs.df)
        assert np.array_equal(ours.cf, theirs.cf)
        assert np.allclose(counted.rarities, collection.rarities())
        assert counted.document_frequency("river") == collection.document_frequency("river") > 0
        assert counted.document_frequency("nowhere") == 0


def test_a_census_survives_its_way_as_bytes(tmp_path):
    with a_collection(tmp_path) as collection:
        counted = census.count(collection.packed_vectors(collection.numbers()).values())
    again = census.read(census.write(counted))
    assert again.pages == counted.pages
    assert np.array_equal(again.keys, counted.keys)
    assert np.array_equal(again.rarities, counted.rarities)


def test_a_sample_is_scaled_to_the_whole():
    document = Document(url="http://a.test/", title="Water", text="water water river", language="en")
    vector = pack(entry_of(1, document, ()))
    counted = census.count([vector] * 10, share=0.1)
    assert counted.pages == 100
    assert counted.document_frequency("water") == 100


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not a zip", b"x" * 1000])
def test_bytes_that_are_no_census_are_refused(data):
    with pytest.raises(ValueError, match="census"):
        census.read(data)


def test_damaged_vectors_are_passed_over():
    assert census.count([b"", b"short", b"\xff" * 500]).pages == 0
