from repair.growing.wants import group_into_wants
from tests.unit.repair.growing.made import PROFILES, VOLCANOES, WEIGHTS, a_wanted_miss


def wants(*misses, profiles=PROFILES):
    return group_into_wants(misses, profiles, WEIGHTS)


def test_misses_of_a_topic_are_one_want_with_the_most_missed_first():
    few, many = a_wanted_miss(times=2), a_wanted_miss("http://b.test/crater", "a crater lake", times=9)
    (want,) = wants(few, many)
    assert (want.topic, want.misses, want.times, want.name) == (VOLCANOES, (many, few), 11, "Volcanoes")


def test_words_that_fit_no_topic_are_grouped_by_likeness():
    violin = [a_wanted_miss(f"http://m.test/{n}", "violin bow strings") for n in range(3)]
    other = a_wanted_miss("http://x.test/", "goalkeeper penalty football")
    grouped = {want.name: len(want.misses) for want in wants(*violin, other)}
    assert sorted(grouped.values()) == [1, 3]
    assert all("violin" in name for name, count in grouped.items() if count == 3)
    assert not any(want.topic for want in wants(*violin, other))


def test_want_with_the_most_misses_in_vain_comes_first():
    answered = a_wanted_miss(times=20, answered=19)
    vain = a_wanted_miss("http://f.test/soil", "soil and crop", times=5)
    assert [want.name for want in wants(answered, vain)] == ["Farming", "Volcanoes"]


def test_address_speaks_where_words_are_missing():
    (want,) = wants(a_wanted_miss("http://a.test/volcanoes/magma-chamber.html", ""))
    assert want.topic == VOLCANOES


def test_search_without_an_address_belongs_to_its_topic_too():
    (want,) = wants(a_wanted_miss("", "how hot is lava"))
    assert want.topic == VOLCANOES


def test_miss_without_words_is_a_want_of_its_own():
    assert len(wants(a_wanted_miss("http://a.test/", ""), a_wanted_miss("http://b.test/", ""))) == 2
