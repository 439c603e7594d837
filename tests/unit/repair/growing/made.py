"""Misses and topics for tests of growing."""

from repair.crawling.topics import Topic
from repair.growing.termvectors import TermWeights
from repair.growing.wants import WantedMiss, profile

VOLCANOES = Topic(name="Volcanoes", words=("lava", "magma", "crater"))
FARMING = Topic(name="Farming", words=("soil", "crop", "harvest"))
WEIGHTS = TermWeights(lambda term: 1, 100)
PROFILES = tuple(profile(topic, (), WEIGHTS) for topic in (VOLCANOES, FARMING))


def a_wanted_miss(url="http://a.test/lava", words="lava of volcanoes", times=4, readers=2, **known):
    return WantedMiss(url=url, words=words, times=times, readers=readers, **known)
