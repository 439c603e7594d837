"""How rare all terms are."""

from repair.collection.index.idf import BUCKETS, InverseFrequencies, buckets
from repair.collection.index.vectors import hashes
from tests.holdings import a_collection, a_document


def weight(collection, word):
    return float(collection.rarities()[buckets(hashes([word]))[0]])


def test_a_word_that_all_pages_have_weighs_less_than_one_of_few(tmp_path):
    documents = [a_document(f"/{at}", text="water" + (" crater" if at < 2 else "")) for at in range(9)]
    with a_collection(tmp_path, *documents) as collection:
        assert weight(collection, "water") < weight(collection, "crater") < weight(collection, "unheard")


def test_weights_follow_when_the_collection_has_grown_much(tmp_path):
    with a_collection(tmp_path, a_document("/1", text="water")) as collection:
        assert collection.rarities().shape == (BUCKETS,)
        rarities = InverseFrequencies(collection.database)
        before = rarities.weights(10)
        assert rarities.weights(11) is before
        assert rarities.weights(20) is not before
