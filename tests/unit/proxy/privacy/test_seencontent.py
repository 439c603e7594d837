"""proxy.privacy.seencontent: what was also sent to somebody without a cookie."""

from proxy.privacy.seencontent import SeenContent


def test_content_seen_without_a_cookie_is_shareable_ever_after():
    seen = SeenContent()
    assert not seen.note("http://a.test/", b"1", "session=x")
    assert seen.note("http://a.test/", b"1", None)
    assert seen.note("http://a.test/", b"1", "session=x")


def test_other_content_of_the_same_address_is_not():
    seen = SeenContent()
    seen.note("http://a.test/", b"1", None)
    assert not seen.note("http://a.test/", b"2", "session=x")
    assert not seen.note("http://b.test/", b"1", "session=x")


def test_another_cookie_proves_nothing():
    seen = SeenContent()
    assert not seen.note("http://a.test/", b"1", "session=x")
    assert not seen.note("http://a.test/", b"1", "session=y")


def test_the_memory_of_seen_content_is_bounded_and_forgets_the_oldest():
    seen = SeenContent(max_entries=10)
    for number in range(50):
        seen.note(f"http://a.test/{number}", b"1", None)
    assert len(seen) == 10
    assert not seen.note("http://a.test/0", b"1", "c=1")
    assert seen.note("http://a.test/49", b"1", "c=1")
