"""proxy.privacy.serviceworkers: which origins have a service worker."""

from proxy.privacy.serviceworkers import ServiceWorkerOrigins


def test_an_origin_is_a_scheme_a_host_and_a_port():
    workers = ServiceWorkerOrigins()
    workers.note("https://school.test/worker.js")
    assert workers.has("https://school.test/any/page?x")
    assert not workers.has("http://school.test/")
    assert not workers.has("https://school.test:8443/")
    assert not workers.has("https://other.test/")
    assert not workers.has("nonsense")


def test_other_processes_and_later_ones_know_it_too(tmp_path):
    path = tmp_path / "readers" / "workers.sqlite"
    first, second = ServiceWorkerOrigins(path), ServiceWorkerOrigins(path)
    assert not second.has("https://school.test/")
    first.note("https://school.test/worker.js")
    assert second.has("https://school.test/")
    first.close()
    second.close()
    third = ServiceWorkerOrigins(path)
    assert third.has("https://school.test/")
    third.close()


def test_no_more_are_remembered_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr("proxy.privacy.serviceworkers._MOST", 3)
    monkeypatch.setattr("proxy.privacy.serviceworkers._REMEMBERED", 2)
    workers = ServiceWorkerOrigins(tmp_path / "workers.sqlite")
    for number in range(6):
        workers.note(f"https://{number}.test/")
    assert [workers.has(f"https://{number}.test/") for number in range(6)] == [False] * 3 + [True] * 3
    workers.close()


def test_without_a_file_that_can_be_used_it_is_known_to_the_process(tmp_path):
    (tmp_path / "file").write_text("")
    workers = ServiceWorkerOrigins(tmp_path / "file" / "workers.sqlite")
    workers.note("https://school.test/")
    assert workers.has("https://school.test/")


def test_a_network_that_tells_of_too_many_has_none_forgotten_and_counts_as_one_with_workers_everywhere(
    tmp_path,
):
    workers = ServiceWorkerOrigins(tmp_path / "workers.sqlite")
    workers.note("https://school.test/worker.js", "aaaaaa01")
    for number in range(1_100):
        workers.note(f"https://{number}.test/worker.js", f"bbbbbb{number}")
    assert workers.has("https://999.test/", "aaaaaa01")
    assert not workers.has("https://1050.test/", "aaaaaa01")
    assert workers.has("https://1050.test/", "bbbbbb01")
    assert workers.has("https://school.test/", "aaaaaa01")
