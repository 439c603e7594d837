from hypothesis import given

from proxy.cache import outages
from proxy.cache.outages import BELIEVED_S, Outages
from tests.caching import FIELD_TEXT, NOW


def test_an_origin_is_given_up_for_a_while_and_others_are_not():
    down = Outages()
    down.note("http://school.test/a", NOW)
    assert down.ongoing("http://school.test/b?c", NOW + BELIEVED_S - 1)
    assert not down.ongoing("http://school.test/b?c", NOW + BELIEVED_S)
    assert not down.ongoing("https://school.test/a", NOW)
    assert not down.ongoing("http://school.test:81/a", NOW)


def test_an_answer_ends_it():
    down = Outages()
    down.note("http://school.test/a", NOW)
    down.over("http://school.test/b")
    assert not down.ongoing("http://school.test/a", NOW)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(outages, "_AT_MOST", 2)
    down = Outages()
    for name in "abc":
        down.note(f"http://{name}.test/", NOW)
    assert [down.ongoing(f"http://{name}.test/", NOW) for name in "abc"] == [False, True, True]


@given(FIELD_TEXT)
def test_nothing_raises_whatever_the_url(text):
    down = Outages()
    down.note(text, NOW)
    assert down.ongoing(text, NOW)
