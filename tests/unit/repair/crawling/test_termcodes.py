import pytest

from repair.crawling.classifier import learn_topic
from repair.crawling.termcodes import ModelTable, TextBatch, Vocabulary
from tests.unit.repair.crawling.pages import farm_texts, other_texts


def test_many_texts_read_at_once_say_what_each_alone_says():
    model, vocabulary = learn_topic(farm_texts(20), other_texts(20)), Vocabulary()
    table = ModelTable(model, vocabulary)
    texts = [*farm_texts(5, start=50), ["crop", "never-seen", "crop"], *other_texts(5)]
    batch = TextBatch([vocabulary.count(text) for text in texts])
    assert list(table.decide(batch)) == pytest.approx([model.decide(text) for text in texts])
    assert list(table.probabilities(batch)) == pytest.approx([model.probability(text) for text in texts])


def test_text_without_terms_says_nothing():
    vocabulary = Vocabulary()
    table = ModelTable(learn_topic(farm_texts(20), other_texts(20)), vocabulary)
    assert list(table.decide(TextBatch([vocabulary.count([])]))) == [0.0]
    assert list(table.decide(TextBatch([]))) == []


def test_text_comes_back_with_every_term_as_often_as_it_had_it():
    vocabulary = Vocabulary()
    assert sorted(vocabulary.terms(vocabulary.count(["a", "b", "a"]))) == ["a", "a", "b"]
