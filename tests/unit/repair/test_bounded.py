import threading

from repair.bounded import BoundedDict, MemoDict


def test_the_oldest_makes_room_for_the_newest():
    memory = BoundedDict[str, int](2)
    memory["a"], memory["b"], memory["c"] = 1, 2, 3
    assert dict(memory) == {"b": 2, "c": 3}


def test_what_is_written_again_is_new():
    memory = BoundedDict[str, int](2)
    memory["a"], memory["b"], memory["a"], memory["c"] = 1, 2, 3, 4
    assert dict(memory) == {"a": 3, "c": 4}


def test_what_is_read_is_new_only_when_the_reader_says_so():
    memory = BoundedDict[str, int](2)
    memory["a"], memory["b"] = 1, 2
    assert memory.get("a") == 1
    memory.move_to_end("a")
    memory["c"] = 3
    assert dict(memory) == {"a": 1, "c": 3}


def test_every_way_of_writing_is_bounded():
    memory = BoundedDict[int, int](3)
    memory.update((number, number) for number in range(10))
    for number in range(10, 20):
        memory.setdefault(number, number)
    assert list(memory) == [17, 18, 19]


def test_a_memo_begins_anew_when_it_is_full():
    memo = MemoDict[str, int](2)
    assert [memo.keep(key, number) for number, key in enumerate("abc")] == [0, 1, 2]
    assert memo == {"c": 2}


def test_threads_may_share_it():
    memory = BoundedDict[str, int](50)

    def write(name):
        for number in range(5_000):
            memory[f"{name}{number % 97}"] = number

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memory) <= 50 + len(threads)
