from proxy.cache.sharing import unshared
from proxy.cache.sharing.unshared import REMEMBERED_S, UnsharedUrls
from tests.caching import NOW, URL


def test_a_url_is_remembered_for_a_while():
    seen = UnsharedUrls()
    assert not seen.remembers(URL, NOW)
    seen.note(URL, NOW)
    assert seen.remembers(URL, NOW + REMEMBERED_S - 1)
    assert not seen.remembers(URL, NOW + REMEMBERED_S)


def test_it_is_forgotten_once_it_can_be_shared():
    seen = UnsharedUrls()
    seen.note(URL, NOW)
    seen.forget(URL)
    assert not seen.remembers(URL, NOW)


def test_memory_is_bounded_and_the_oldest_goes(monkeypatch):
    monkeypatch.setattr(unshared, "_AT_MOST", 2)
    seen = UnsharedUrls()
    for name in "abc":
        seen.note(name, NOW)
    assert [seen.remembers(name, NOW) for name in "abc"] == [False, True, True]
