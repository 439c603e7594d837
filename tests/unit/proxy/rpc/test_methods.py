from typing import Protocol

import pytest
from msgspec import Raw
from msgspec.msgpack import encode

from proxy.rpc.methods import methods_of, notify, request, version_of
from proxy.rpc.protocol import SERVICES


class Library(Protocol):
    @request(within_s=2.0, otherwise=None)
    async def find(self, title: str, *, shelf: int = 3) -> str | None: ...

    @request(within_s=1.0)
    async def wait(self, *, within_s: float) -> int: ...

    @notify()
    def lend(self, title: str, to: str) -> None: ...

    def not_remote(self) -> None: ...


class Shelves:
    def find(self, title, *, shelf):
        return title, shelf

    def lend(self, title, to):
        return title, to


def test_marked_methods_are_remote_and_no_others():
    assert [each.name for each in methods_of(Library)] == ["Library.find", "Library.wait", "Library.lend"]


@pytest.mark.parametrize(
    ("args", "kwargs", "bound"),
    [(("a",), {}, ("a", 3)), ((), {"title": "a", "shelf": 9}, ("a", 9))],
)
def test_arguments_are_sent_in_the_order_of_the_declaration(args, kwargs, bound):
    find = methods_of(Library)[0]
    assert find.bind(args, kwargs) == bound
    assert find.call(Shelves(), Raw(encode(bound))) == bound


def test_a_wrong_argument_is_refused_at_the_call():
    with pytest.raises(TypeError):
        methods_of(Library)[0].bind((), {"colour": "red"})


def test_what_arrives_is_checked_against_the_declaration():
    find = methods_of(Library)[0]
    with pytest.raises(ValueError, match="Expected `str`"):
        find.call(Shelves(), Raw(encode((7, 3))))
    with pytest.raises(ValueError, match="Expected `str | null`"):
        find.read_result(Raw(encode(7)))


def test_the_time_limit_is_declared_or_part_of_the_call():
    find, wait, _ = methods_of(Library)
    assert find.within_s(("a", 3)) == 2.0
    assert wait.within_s((0.5,)) == 1.5


def test_the_version_changes_with_a_declaration():
    class Other(Protocol):
        @notify()
        def lend(self, title: str) -> None: ...

    assert version_of([Library]) == version_of([Library])
    assert version_of([Library]) != version_of([Other])


def test_names_of_services_and_of_all_their_methods_are_unique():
    names = [method.name for service in SERVICES for method in methods_of(service)]
    assert len(set(names)) == len(names)
    assert all(methods_of(service) for service in SERVICES)
