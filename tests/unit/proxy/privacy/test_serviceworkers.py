"""proxy.readers.serviceworkers: which origins have a service worker."""

from proxy.readers.serviceworkers import WorkerOrigins


def test_an_origin_is_a_scheme_a_host_and_a_port():
    workers = WorkerOrigins()
    workers.note("https://school.test/worker.js")
    assert workers.has("https://school.test/any/page?x")
    assert not workers.has("http://school.test/")
    assert not workers.has("https://school.test:8443/")
    assert not workers.has("https://other.test/")
    assert not workers.has("nonsense")


def test_other_processes_and_later_ones_know_it_too(tmp_path):
    path = tmp_path / "readers" / "workers.sqlite"
    first, second = WorkerOrigins(path), WorkerOrigins(path)
    assert not second.has("https://school.test/")
    first.note("https://school.test/worker.js")
    assert second.has("https://school.test/")
    first.close()
    second.close()
    third = WorkerOrigins(path)
    assert third.has("https://school.test/")
    third.close()


def test_no_more_are_remembered_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr("proxy.readers.serviceworkers._MOST", 3)
    monkeypatch.setattr("proxy.readers.serviceworkers._REMEMBERED", 2)
    workers = WorkerOrigins(tmp_path / "workers.sqlite")
    for number in range(6):
        workers.note(f"https://{number}.test/")
    assert [workers.has(f"https://{number}.test/") for number in range(6)] == [False] * 3 + [True] * 3
    workers.close()


def test_without_a_file_that_can_be_used_it_is_known_to_the_process(tmp_path):
    (tmp_path / "file").write_text("")
    workers = WorkerOrigins(tmp_path / "file" / "workers.sqlite")
    workers.note("https://school.test/")
    assert workers.has("https://school.test/")
