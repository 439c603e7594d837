import numpy as np

from repair.crawling.classifier import learn_link_weights, learn_topic
from tests.unit.repair.crawling.pages import FARM, OTHER, farm_texts, other_texts


def test_pages_of_the_topic_are_told_from_others_by_probability():
    model = learn_topic(farm_texts(20), other_texts(20))
    assert all(model.probability(terms) > 0.7 for terms in farm_texts(10, start=50))
    assert all(model.probability(terms) < 0.3 for terms in other_texts(10, start=50))


def test_few_words_are_read_by_the_same_weights():
    model = learn_topic(farm_texts(20), other_texts(20))
    assert model.decide(FARM[:2]) > 0 > model.decide(OTHER[:2])


def test_text_without_known_words_says_as_much_as_an_empty_one():
    model = learn_topic(farm_texts(20), other_texts(20))
    assert model.probability(["zebra"]) == model.probability([])


def test_weights_of_links_follow_what_came_of_them():
    chance = np.random.default_rng(0)
    features = chance.random((60, 2))
    weights, bias = learn_link_weights(features, [bool(row[0] > 0.5) for row in features])
    assert weights[0] > 3 * abs(weights[1])
    assert (np.array([0.9, 0.5]) @ weights + bias) > 0 > (np.array([0.1, 0.5]) @ weights + bias)
