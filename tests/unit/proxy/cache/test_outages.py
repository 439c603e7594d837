from hypothesis import given

from proxy.cache import outages
from proxy.cache.outages import BELIEVED_S, RecentOutages
from tests.caching import FIELD_TEXT, NOW


def test_an_outage_counts_for_one_origin_and_a_limited_time():
    down = RecentOutages()
    down.note("http://school.test/a", NOW)
    assert down.is_ongoing("http://school.test/b?c", NOW + BELIEVED_S - 1)
    assert not down.is_ongoing("http://school.test/b?c", NOW + BELIEVED_S)
    assert not down.is_ongoing("https://school.test/a", NOW)
    assert not down.is_ongoing("http://school.test:81/a", NOW)


def test_an_answer_ends_it():
    down = RecentOutages()
    down.note("http://school.test/a", NOW)
    down.note_answer("http://school.test/b")
    assert not down.is_ongoing("http://school.test/a", NOW)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(outages, "_AT_MOST", 2)
    down = RecentOutages()
    for name in "abc":
        down.note(f"http://{name}.test/", NOW)
    assert [down.is_ongoing(f"http://{name}.test/", NOW) for name in "abc"] == [False, True, True]


@given(FIELD_TEXT)
def test_nothing_raises_whatever_the_url(text):
    down = RecentOutages()
    down.note(text, NOW)
    assert down.is_ongoing(text, NOW)
