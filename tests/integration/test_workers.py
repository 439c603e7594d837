"""`linkmend serve --workers 2`: several processes that behave as one, and go on when one of them is killed."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, linkmend

SETTINGS = '[log]\nlevel = "debug"\n[collection]\ncommit_every_s = 0.2\n'
MEGABYTE = 1024 * 1024
ERROR_PAGE = (
    "<html><head><title>Page not found | Riverbend School</title></head><body><nav><a href='/'>Home</a></nav>"
    "<main><h1>404</h1><p>Sorry, the page you are looking for does not exist.</p></main></body></html>"
)


class Processes:
    """The processes of one running linkmend, by what they do."""

    def __init__(self, running):
        self.running = running

    def pid(self, role):
        """Of the process that has a role now."""
        return int(re.findall(rf"\b{role} is process (\d+)", self.running.output)[-1])

    def kill(self, role):
        os.kill(self.pid(role), signal.SIGKILL)

    @contextlib.contextmanager
    def only(self, number):
        """Have one worker answer, while the others are held still."""
        others = [self.pid(f"worker {other}") for other in (1, 2) if other != number]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield Client(self.running.url)
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)

    def resident_bytes(self, role):
        status = Path(f"/proc/{self.pid(role)}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


@pytest.fixture
def processes(start_linkmend):
    return Processes(start_linkmend("--workers", "2", settings=SETTINGS))


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def misses(running):
    """All that is written down, oldest first."""
    done = linkmend("misses", "export", "--data", running.data, "--format", "jsonl")
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(origin, client, *names):
    """Have pages of these names opened, and wait until they can be found."""
    for name in names:
        page = f"<title>{name}</title><p>All about {name}, and nothing else in the whole world.</p>"
        origin.pages[f"/{name}"] = reply(page, Cache_Control="max-age=60")
        assert client.open_page(f"{origin.url}/{name}").status == 200
    for name in names:
        place = f'data-url="{origin.url}/{name}"'
        eventually(lambda place=place, name=name: place in client.search(name).text, f"{name} was not read")


def finish_writing(origin, client):
    """Wait until a worker has written what it stored, before it is halted: it drops another page after that."""
    origin.pages["/dropped"] = reply("")
    assert client.get(origin.url + "/dropped", method="POST").status == 200


def test_what_one_worker_has_stored_the_other_serves(origin, processes):
    origin.pages["/page"] = reply("hello", Cache_Control="max-age=60")
    for number in (1, 2, 1):
        with processes.only(number) as client:
            assert client.get(origin.url + "/page").text == "hello"
            finish_writing(origin, client)
    assert origin.asked["/page"] == 1


def test_what_was_not_there_for_one_worker_is_seen_once_another_has_it(origin, processes):
    for number in (1, 2):
        with processes.only(number) as client:
            assert client.get(origin.url + "/page").status == 404
    origin.pages["/page"] = reply("hello", Cache_Control="max-age=60")
    with processes.only(1) as client:
        client.get(origin.url + "/page", Cache_Control="no-cache")
        finish_writing(origin, client)
    with processes.only(2) as client:
        assert "hit" in client.get(origin.url + "/page").headers["Cache-Status"]


def test_what_one_worker_fetches_anew_the_other_no_longer_serves_from_memory(origin, processes):
    origin.pages["/page"] = reply("old", Cache_Control="max-age=60")
    for number in (1, 2, 1, 2):
        with processes.only(number) as client:
            assert client.get(origin.url + "/page").text == "old"
            finish_writing(origin, client)
    origin.pages["/page"] = reply("new", Cache_Control="max-age=60")
    with processes.only(1) as client:
        assert client.get(origin.url + "/page", Cache_Control="no-cache").text == "new"
    with processes.only(2) as client:
        assert client.get(origin.url + "/page").text == "new"
    assert origin.asked["/page"] == 2


def test_what_one_worker_invalidates_the_other_fetches_again(origin, processes):
    origin.pages["/page"] = reply("hello", Cache_Control="max-age=60")
    for number in (1, 2):
        with processes.only(number) as client:
            client.get(origin.url + "/page")
            finish_writing(origin, client)
    with processes.only(1) as client:
        client.get(origin.url + "/page", method="POST")
    asked = origin.asked["/page"]
    with processes.only(2) as client:
        client.get(origin.url + "/page")
    assert origin.asked["/page"] == asked + 1


def test_what_a_class_opens_at_once_is_fetched_once_for_all_workers(origin, processes):
    async def slow(exchange):
        await asyncio.sleep(1)
        await exchange.send(reply("a" * MEGABYTE, Cache_Control="max-age=60"))

    origin.pages["/lesson"] = slow
    clients = [Client(processes.running.url, source=f"127.0.0.{number}") for number in range(2, 32)]
    with ThreadPoolExecutor(len(clients)) as threads:
        answers = list(threads.map(lambda client: client.get(f"{origin.url}/lesson"), clients))
    assert {len(answer.body) for answer in answers} == {MEGABYTE}
    assert origin.asked["/lesson"] == 1


def test_a_worker_that_is_killed_is_replaced_and_no_connection_refused(origin, processes):
    origin.pages["/page"] = reply("hello", Cache_Control="max-age=60")
    client = Client(processes.running.url)
    for _ in range(2):
        before = processes.pid("worker 1")
        processes.kill("worker 1")
        assert [client.get(origin.url + "/page").status for _ in range(20)] == [200] * 20
        eventually(lambda before=before: processes.pid("worker 1") != before, "it was not replaced")
    with processes.only(1) as alone:
        assert alone.get(origin.url + "/page").status == 200


def test_with_all_workers_killed_whoever_connects_waits_for_the_next(origin, processes):
    origin.pages["/page"] = reply("hello")
    for role in ("worker 1", "worker 2"):
        processes.kill(role)
    assert Client(processes.running.url).get(origin.url + "/page").text == "hello"


def test_without_the_backend_pages_pass_and_misses_are_answered_until_it_is_back(origin, processes):
    client = Client(processes.running.url)
    read(origin, client, "marmots", "ocelots")
    before = processes.pid("backend")
    processes.kill("backend")
    assert client.open_page(origin.url + "/marmots").status == 200
    assert client.open_page(origin.url + "/lost-marmots").miss == "not_found"
    assert client.open_page("http://linkmend.internal/").status == 200
    eventually(lambda: processes.pid("backend") != before, "it was not replaced")
    offered = eventually(
        lambda: client.repair(origin.url + "/old/marmots").told["alternatives"], "nothing is offered again"
    )
    assert offered[0]["url"] == origin.url + "/marmots"


def test_a_backend_that_hangs_holds_up_nobody(origin, start_linkmend):
    settings = SETTINGS + "[repair]\ndeadline_s = 0.5\n"
    processes = Processes(start_linkmend("--workers", "2", settings=settings))
    client = Client(processes.running.url)
    origin.pages["/page"] = reply("<title>hello</title>")
    os.kill(processes.pid("backend"), signal.SIGSTOP)
    try:
        assert client.open_page(origin.url + "/page", timeout_s=15).status == 200
        assert client.open_page(origin.url + "/lost", timeout_s=15).miss == "not_found"
    finally:
        os.kill(processes.pid("backend"), signal.SIGCONT)
    eventually(lambda: len(misses(processes.running)) == 1, "the miss was not written down in the end")


def test_when_the_supervisor_is_killed_the_others_end_and_the_port_is_free(origin, processes, start_linkmend):
    origin.pages["/page"] = reply("hello", Cache_Control="max-age=60")
    assert Client(processes.running.url).get(origin.url + "/page").status == 200
    others = [processes.pid(role) for role in ("backend", "worker 1", "worker 2")]
    os.kill(processes.running.process.pid, signal.SIGKILL)

    def is_free():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", processes.running.port)) != 0

    eventually(is_free, "somebody still listens", timeout_s=5)
    eventually(lambda: not any(map(is_running, others)), "somebody still runs")
    again = start_linkmend("--workers", "2", settings=SETTINGS, port=processes.running.port)
    assert "hit" in Client(again.url).get(origin.url + "/page").headers["Cache-Status"]


def test_a_stop_reaches_all_and_nothing_is_left(origin, processes):
    client = Client(processes.running.url)
    assert client.open_page(origin.url + "/lost").miss == "not_found"
    others = [processes.pid(role) for role in ("backend", "worker 1", "worker 2")]
    assert processes.running.stop() == 0
    assert not any(map(is_running, others))
    assert [record["url"] for record in misses(processes.running)] == [origin.url + "/lost"]
    assert not list(Path("/tmp").glob(f"linkmend-{processes.running.process.pid}-*"))


def test_ctrl_c_in_a_terminal_stops_all(processes):
    os.killpg(processes.running.process.pid, signal.SIGINT)  # it goes to every process of the group
    assert processes.running.process.wait(20) == 0


def test_a_reload_reaches_all(origin, processes):
    origin.pages["/page"] = reply("<title>hello</title>", Cache_Control="no-store")
    processes.running.config.write_text(SETTINGS + "[proxy]\noffline = true\n", encoding="utf-8")
    processes.running.process.send_signal(signal.SIGHUP)
    eventually(lambda: processes.running.output.count("settings reloaded") == 3, "not all have reloaded")
    for number in (1, 2):
        with processes.only(number) as client:
            assert client.open_page(origin.url + "/page").miss == "offline"
    processes.kill("worker 1")
    eventually(lambda: processes.running.output.count("worker 1 is process") == 2, "it was not replaced")
    with processes.only(1) as client:
        assert client.open_page(origin.url + "/page").miss == "offline"


def test_what_a_worker_logs_is_seen_at_the_desk(processes):
    desk = processes.running.wait_for_line("linkmend desk on ").split()[-1]
    token = linkmend("desk", "token", "test", "--data", processes.running.data).stdout.split()[-1]

    def sources():
        asked = urllib.request.Request(
            desk + "/admin/api/health", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return [problem["source"] for problem in json.load(answer)["problems"]]

    processes.running.config.write_text("[proxy]\noffline = 'perhaps'\n", encoding="utf-8")
    os.kill(processes.pid("worker 2"), signal.SIGHUP)
    eventually(lambda: "worker 2: proxy.app.serving" in sources(), "nothing is seen of it")


def test_a_bad_file_changes_nothing(origin, processes):
    origin.pages["/page"] = reply("hello")
    processes.running.config.write_text("[proxy]\noffline = 'perhaps'\n", encoding="utf-8")
    processes.running.process.send_signal(signal.SIGHUP)
    assert "proxy.offline: expected bool, got 'perhaps'" in processes.running.wait_for_line(
        "settings not reloaded"
    )
    assert Client(processes.running.url).get(origin.url + "/page").status == 200


def test_what_workers_would_not_start_with_is_not_kept_for_the_next(origin, processes):
    origin.pages["/page"] = reply("hello")
    bad = '[proxy]\npass_through = ["/nowhere/list.txt"]\n'
    processes.running.config.write_text(SETTINGS + bad, encoding="utf-8")
    processes.running.process.send_signal(signal.SIGHUP)
    processes.running.wait_for_line("settings not reloaded")
    processes.kill("worker 1")
    eventually(lambda: processes.running.output.count("worker 1 is process") == 2, "it was not replaced")
    with processes.only(1) as client:
        assert client.get(origin.url + "/page").status == 200


def test_a_click_is_noted_whichever_worker_it_comes_to(origin, processes):
    read(origin, Client(processes.running.url), "marmots", "ocelots")
    with processes.only(1) as client:
        page = client.open_page(origin.url + "/old/marmots")
    ping = re.search(rf'href="{re.escape(origin.url)}/marmots" ping="([^"]+)"', page.text)[1]
    with processes.only(2) as client:
        assert client.get(origin.url + unescape(ping), method="POST").status == 204

    def is_noted():
        return [record["chosen"] for record in misses(processes.running)] == [origin.url + "/marmots"]

    eventually(is_noted, "the choice was not noted")


def test_a_page_that_was_withheld_by_one_worker_is_shown_anyway_by_another(origin, processes):
    origin.pages["/lesson"] = reply(ERROR_PAGE)
    origin.pages["/other"] = reply("<title>hello</title>")
    with processes.only(1) as client:
        page = client.open_page(origin.url + "/lesson")
        # By then the others have been told: a worker that is stopped tells nobody.
        client.open_page(origin.url + "/other")
    assert page.miss == "soft_404"
    anyway = re.search(r'href="([^"]*/anyway[^"]*)"', page.text)[1]
    with processes.only(2) as client:
        shown = eventually(lambda: client.open_page(origin.url + anyway).headers.get("Location"), "not shown")
        assert shown == origin.url + "/lesson"
        assert client.open_page(origin.url + "/lesson").miss is None
    with processes.only(1) as client:
        assert client.open_page(origin.url + "/lesson").miss is None


def test_a_crowd_of_misses_is_answered_to_the_last_while_ordinary_pages_pass(origin, start_linkmend):
    settings = SETTINGS + "[repair]\nat_once = 5\ndeadline_s = 20.0\n"
    processes = Processes(start_linkmend("--workers", "2", settings=settings))
    client = Client(processes.running.url)
    read(origin, client, "marmots", "ocelots")
    with ThreadPoolExecutor(54) as readers:
        lost = [readers.submit(client.repair, f"{origin.url}/old{n}/marmots") for n in range(50)]
        pages = [readers.submit(client.open_page, f"{origin.url}/ocelots") for _ in range(20)]
        assert {answer.result().status for answer in pages} == {200}
        told = [answer.result().told for answer in lost]
    assert len(told) == 50
    assert any(each["alternatives"] for each in told)
    eventually(lambda: len(misses(processes.running)) == 50, "not every miss was written down")


def test_a_worker_does_not_grow_with_what_it_has_carried(origin, processes):
    origin.pages["/page"] = reply("<title>hello</title>" + "words " * 3000, Cache_Control="max-age=60")
    for path in map(str, range(40)):
        origin.pages["/" + path] = reply("words " * 3000, Cache_Control="no-store")
    with processes.only(1) as client:

        def carry(times):
            for number in range(times):
                client.get(f"{origin.url}/{number % 40}")
                client.get(f"{origin.url}/page")

        carry(300)
        before = processes.resident_bytes("worker 1")
        carry(1000)
        assert processes.resident_bytes("worker 1") - before < 8 * MEGABYTE


def test_a_large_download_does_not_grow_a_worker(origin, processes):
    piece = os.urandom(MEGABYTE)

    async def large(exchange):
        await exchange.send(
            b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: %d\r\n\r\n" % (300 * MEGABYTE)
        )
        for _ in range(300):
            await exchange.send(piece)

    origin.pages["/large"] = large
    for _ in range(2):  # from the origin, then from the disk if that has kept up
        with processes.only(1) as client:
            before = processes.resident_bytes("worker 1")
            assert client.download(origin.url + "/large", timeout_s=120).size == 300 * MEGABYTE
            assert processes.resident_bytes("worker 1") - before < 60 * MEGABYTE


@pytest.mark.parametrize("role", ["backend", "worker 1"])
def test_one_that_hangs_is_replaced_and_what_was_committed_is_there(start_linkmend, origin, role):
    running = start_linkmend("--workers", "2", settings=f"{SETTINGS}[proxy]\nhang_timeout_s = 4.0\n")
    processes, client = Processes(running), Client(running.url)
    origin.pages["/okapi.html"] = reply(
        "<title>okapi</title><p>The okapi of the Ituri forest.", Cache_Control="no-cache"
    )
    client.open_page(f"{origin.url}/okapi.html")
    eventually(lambda: "okapi.html" in client.search("okapi").text, "the page is not held")
    hung = processes.pid(role)
    os.kill(hung, signal.SIGSTOP)
    if role == "backend":
        assert client.open_page(f"{origin.url}/okapi.html").status == 200  # nobody waits for it
    running.wait_for_line(f"{role} (process {hung}) hangs")
    eventually(lambda: processes.pid(role) != hung, "nobody took its place")
    eventually(lambda: "okapi.html" in client.search("okapi").text, "what was held is gone")
    assert client.open_page(f"{origin.url}/okapi.html").status == 200


def shared_rankings(processes):
    """How many repair pages were made from the ranking for another reader so far."""
    address = eventually(
        lambda: re.search(r"metrics\W+on\W+http://(\S+?)/?\s", processes.running.output), "no metrics"
    )
    text = Client("").get(f"http://{address[1]}/metrics").text
    return int(float(re.search(r"^linkmend_repairs_collapsed_total (\S+)$", text, re.MULTILINE)[1]))


def miss_ids(answer):
    return set(re.findall(r"miss=([\w-]+)", unescape(answer.text)))


def test_thirty_readers_of_one_dead_link_through_two_workers_share_a_ranking(origin, processes):
    read(origin, Client(processes.running.url), "glaciers", "volcanoes")
    clients = [Client(processes.running.url, source=f"127.0.0.{number}") for number in range(2, 32)]

    def click_together():
        before = shared_rankings(processes)
        with ThreadPoolExecutor(len(clients)) as threads:
            answers = list(
                threads.map(lambda each: each.open_page(f"{origin.url}/old/glaciers.html"), clients)
            )
        return answers, shared_rankings(processes) - before

    def everybody_has_a_list():
        answers, _ = click_together()
        place = f'data-url="{origin.url}/glaciers"'
        return answers if all(place in answer.text for answer in answers) else None

    answers = eventually(everybody_has_a_list, "somebody has no list")
    ids = [miss_ids(answer) for answer in answers]
    assert all(len(each) == 1 for each in ids)
    assert len(set().union(*ids)) == len(clients)  # each reader has an id of their own
    # What was read just now may still be indexed; then nothing changes any more.
    eventually(lambda: click_together()[1] == len(clients), "each reader has a ranking of their own")
    read(origin, clients[0], "old-glaciers")
    eventually(
        lambda: (
            f'data-url="{origin.url}/old-glaciers"'
            in clients[0].open_page(f"{origin.url}/old/glaciers.html").text
        ),
        "a ranking is remembered although a better page came in",
    )


def test_readers_who_came_from_different_pages_get_lists_of_their_own(origin, processes):
    reader = Client(processes.running.url, source="127.0.0.2")
    read(origin, reader, "glaciers", "volcanoes")
    for name in ("glaciers", "volcanoes"):
        link = f"<title>Links to {name}</title><p>See <a href='/gone'>{name}</a> for more of it, please.</p>"
        origin.pages[f"/about-{name}"] = reply(link, Cache_Control="max-age=60")
        assert reader.open_page(f"{origin.url}/about-{name}").status == 200
        # A page that is indexed later would change the lists in between.
        found = f"{origin.url}/about-{name}"
        eventually(lambda found=found: found in reader.search("links").text, "the page is not found")

    def offered(number, name):
        """The source page that a reader's list was made for, and the list."""
        client = Client(processes.running.url, source=f"127.0.0.{number}")
        told = client.repair(f"{origin.url}/gone", Referer=f"{origin.url}/about-{name}").told
        return told["source_page"], [each["url"] for each in told["alternatives"]]

    def alone():
        """What readers of the two pages get who ask one after the other, once all is read."""
        lists = {name: offered(3, name) for name in ("glaciers", "volcanoes")}
        has_read = all(source == f"{origin.url}/about-{name}" for name, (source, _) in lists.items())
        return lists if has_read and lists["glaciers"][1] != lists["volcanoes"][1] else None

    expected = eventually(alone, "the links of the two pages were not read")
    names = ["glaciers", "volcanoes"] * 10
    with ThreadPoolExecutor(len(names)) as threads:
        lists = list(threads.map(offered, range(3, 23), names))
    assert lists == [expected[name] for name in names]
