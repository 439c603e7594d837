"""The store of lessons: whose they are, what stays, and how they are published."""

import pytest
from msgspec.structs import replace

from proxy.lessons.model import CheckState, LessonLink, LinkFinding
from proxy.lessons.store import LessonStore
from repair.parse.formats.worksheets.model import WorksheetFormat


@pytest.fixture
def store(tmp_path):
    store = LessonStore(tmp_path / "lessons.sqlite", clock=lambda: 100.0)
    yield store
    store.close()


def a_link(number=1):
    return LessonLink(number=number, written=f"http://a.test/{number}#x", url=f"http://a.test/{number}")


def add(store, owner="A", links=1, **known):
    return store.add(owner, "Rocks", WorksheetFormat.TEXT, [a_link(n + 1) for n in range(links)], **known)


def test_lesson_is_found_by_its_owner_alone(store):
    lesson = add(store)
    assert store.get(lesson.id, "A") == lesson
    assert store.get(lesson.id, "B") is None
    assert store.of("B") == ()


def test_changed_link_is_read_again_and_no_longer_waits(store):
    lesson = add(store, links=2)
    assert store.unfinished() == (lesson.id,)
    for number in (1, 2):
        store.change(lesson.id, number, lambda link: replace(link, found=LinkFinding(state=CheckState.WORKS)))
    assert store.unfinished() == ()
    assert [link.found.state for link in store.links(lesson.id)] == [CheckState.WORKS] * 2
    assert store.change(lesson.id, 3, lambda link: link) is None


def test_lesson_keeps_its_code_until_it_is_withdrawn(store):
    lesson = add(store)
    code = store.publish(lesson.id)
    assert store.publish(lesson.id) == code
    assert store.by_code(code.upper()).id == lesson.id
    store.withdraw(lesson.id)
    assert store.by_code(code) is None


def test_oldest_lessons_of_an_owner_make_room_for_new_ones(store):
    other = add(store, "B")
    first, *_, last = [add(store, keep=3, document=b"x") for _ in range(5)]
    assert len(store.of("A")) == 3
    assert store.get(first.id, "A") is None
    assert store.links(first.id) == ()
    assert store.document(first.id) == b""
    assert store.document(last.id) == b"x"
    assert store.get(other.id, "B")


def test_removed_lesson_leaves_nothing(store):
    lesson = add(store)
    store.remove(lesson.id)
    assert (store.of("A"), store.links(lesson.id), store.unfinished()) == ((), (), ())


def test_request_to_unblock_is_noted_once(store):
    assert store.ask_to_unblock("http://a.test/", "games", "A")
    assert store.ask_to_unblock("http://a.test/", "games", "B")
    (asked,) = store.requests()
    assert (asked.by, asked.rule) == ("A", "games")
    assert store.settle(asked.id)
    assert not store.settle(asked.id)
    assert store.requests() == ()
