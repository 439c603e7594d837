"""linkmend is killed repeatedly under load: no response is damaged, nothing acknowledged is lost."""

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import DEMO, ROOT, Linkmend, eventually, free_port, linkmend

ROUNDS = 4
READERS = 6
PAGES = 60
# The memory of the store, its files, and streamed bodies: each is written to disk in another way.
SIZES = (200, 30_000, 400_000, 2_500_000)
QUICK = "[collection]\ncommit_every_s = 0.2\n[proxy]\nconnect_timeout_s = 2.0\n"
HELD = "http://science.school.test/earth/volcanoes.html"


def content(number):
    """The body of /page/NUMBER, always the same."""
    line = hashlib.sha256(str(number).encode()).hexdigest() + "\n"
    size = SIZES[number % len(SIZES)]
    return f"<title>Page {number}</title><p>lesson {number}</p>\n<pre>{line * (size // len(line))}</pre>".encode()


@pytest.fixture
def library():
    with Origin() as running:
        for number in range(PAGES):
            running.pages[f"/page/{number}"] = reply(content(number), Cache_Control="max-age=600")
        yield running


@contextmanager
def readers(running, library, seed):
    """Several users who open pages and dead links as fast as they can; yields the errors they see."""
    stop, complaints = threading.Event(), []

    def read(luck):
        client = Client(running.url)
        while not stop.is_set():
            number = luck.randrange(PAGES)
            try:
                client.open_page(f"{library.url}/dead/{number}", timeout_s=10)
                answer = client.open_page(f"{library.url}/page/{number}", timeout_s=10)
            except OSError:
                time.sleep(0.02)  # killed just now
                continue
            except Exception as error:  # noqa: BLE001  half an answer: http.client has many names for it
                if type(error).__module__ != "http.client":
                    complaints.append(repr(error))
                continue
            if answer.status == 200 and answer.body != content(number):
                complaints.append(f"page {number}: {len(answer.body)} bytes, {answer.headers.items()}")

    threads = [threading.Thread(target=read, args=(random.Random(f"{seed} {n}"),)) for n in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        yield complaints
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def missed(data):
    """The ids of all misses that are on disk."""
    done = linkmend("misses", "list", "--limit", "1000000", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["id"] for line in done.stdout.splitlines()}


def test_after_every_kill_responses_are_intact_and_nothing_acknowledged_is_lost(tmp_path, library):
    seed = int(os.environ.get("LINKMEND_TEST_SEED") or random.randrange(10**6))
    print(f"LINKMEND_TEST_SEED={seed}")  # noqa: T201  pytest shows it when the test fails
    luck = random.Random(seed)
    data, port, promised = tmp_path / "data", free_port(), set()
    assert linkmend("import", DEMO, "--data", data).returncode == 0
    for _ in range(ROUNDS):
        running = Linkmend(data, settings=QUICK, port=port)
        before = sum(library.asked.values())
        with readers(running, library, luck.random()) as complaints:
            eventually(lambda so_far=before: sum(library.asked.values()) > so_far + 40, "nobody reads")
            promised |= missed(data)
            time.sleep(luck.uniform(0.0, 0.5))
            running.kill()
        assert complaints == []
        assert "Traceback" not in running.output, running.output

    running = Linkmend(data, settings=QUICK, port=port)
    try:
        assert promised
        assert promised <= missed(data)
        client = Client(running.url)
        library.down()
        held = [check_held(client, library, number) for number in range(PAGES)]
        assert held.count(True) > PAGES // 4  # not one by one: those under way when the power went are gone
        library.up()
        for number in range(PAGES):
            assert client.open_page(f"{library.url}/page/{number}").body == content(number)
        assert "Volcanoes" in client.search("volcanoes").text
        assert client.held_copy(HELD).status == 200
    finally:
        running.stop()
    assert "Traceback" not in running.output, running.output


def check_held(client, library, number):
    """Whether a page is in the cache; if so it must be complete."""
    answer = client.open_page(f"{library.url}/page/{number}")
    if answer.status != 200:
        assert answer.miss == "unreachable"
        return False
    assert answer.body == content(number)
    return True


def test_pages_can_be_imported_and_links_mended_while_the_proxy_runs(tmp_path, start_linkmend):
    data = tmp_path / "data"
    running = start_linkmend(settings=QUICK)
    client = Client(running.url)
    assert "http://science.school.test/" not in client.search("volcanoes").text

    done = linkmend("import", DEMO, "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pages"] > 40
    eventually(lambda: HELD in client.search("volcanoes").text, "the running proxy does not see the import")
    assert client.held_copy(HELD).status == 200

    done = linkmend("mend", "http://science.school.test/volcano.htm", "--anchor", "volcanoes", "--data", data)
    assert done.returncode == 0, done.stderr
    assert HELD in done.stdout
    assert HELD in client.repair("http://science.school.test/volcano.htm").text


def test_killed_import_can_be_repeated(tmp_path, start_linkmend):
    data = tmp_path / "data"
    command = [sys.executable, "-m", "proxy.main", "import", str(DEMO), "--data", str(data)]
    importing = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    eventually(lambda: (data / "collection").exists(), "the import does not begin")
    importing.kill()
    importing.wait(20)
    done = linkmend("import", DEMO, "--data", data)
    assert done.returncode == 0, done.stderr
    client = Client(start_linkmend("--offline", settings=QUICK).url)
    for path in DEMO.rglob("*.html"):
        url = f"http://{path.relative_to(DEMO)}"
        assert client.open_page(url).body == path.read_bytes()
