import os

from proxy.store.invalidation import LocalInvalidation, SharedInvalidation

KEY = "http://school.test/page"


def test_a_change_changes_the_stamp():
    changes = SharedInvalidation()
    before = changes.stamp(KEY)
    changes.note(KEY)
    assert changes.stamp(KEY) != before


def test_a_change_in_a_forked_process_is_seen_in_the_other():
    changes = SharedInvalidation()
    before = changes.stamp(KEY)
    pid = os.fork()
    if pid == 0:
        changes.note(KEY)
        os._exit(0)
    os.waitpid(pid, 0)
    assert changes.stamp(KEY) != before


def test_most_other_keys_are_not_touched():
    changes = SharedInvalidation()
    others = [f"http://school.test/{number}" for number in range(100)]
    before = [changes.stamp(key) for key in others]
    changes.note(KEY)
    assert sum(changes.stamp(key) != stamp for key, stamp in zip(others, before, strict=True)) <= 1


def test_a_process_alone_has_nothing_to_compare():
    changes = LocalInvalidation()
    changes.note(KEY)
    assert changes.stamp(KEY) == 0
