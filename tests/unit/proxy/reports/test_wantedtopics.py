"""Searches in vain become topics."""

from hypothesis import given
from hypothesis import strategies as st

from proxy.reports.wantedtopics import VainSearch, group_searches


def a_search(words, *users, times=1):
    return VainSearch(words=words, users=frozenset(users), times=times)


def test_searches_for_the_same_thing_are_one_topic():
    found = group_searches(
        [
            a_search("volcano eruption", "a", "b", times=4),
            a_search("volcanoes erupting", "c"),
            a_search("quadratic equations", "d", "e", "f"),
        ],
        few=3,
    )
    assert [(topic.users, topic.times) for topic in found] == [(3, 5), (3, 1)]
    assert set(found[0].words) == {"volcano", "eruption"}


def test_what_a_few_users_looked_for_is_not_told():
    assert group_searches([a_search("aunt milly's address", "a", "b")], few=3) == ()


def test_a_word_of_one_user_is_not_told_with_the_topic_of_many():
    (topic,) = group_searches(
        [a_search("volcano eruption", "a", "b", "c", times=3), a_search("volcano eruption milly", "d")],
        few=3,
    )
    assert topic.users == 4
    assert "milly" not in topic.words


def test_no_words_are_no_topic():
    assert group_searches([a_search("", "a", "b", "c"), a_search("…", "a", "b", "c")], few=1) == ()


@given(st.lists(st.tuples(st.text(max_size=30), st.sets(st.sampled_from("abcde"), min_size=1)), max_size=8))
def test_every_topic_has_enough_users_and_words(searches):
    for topic in group_searches([a_search(words, *users) for words, users in searches], few=2):
        assert topic.users >= 2
        assert topic.words
