"""A backup taken under load contains everything committed before it began, and linkmend starts on it."""

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import DEMO, ROOT, Linkmend, eventually, linkmend

PAGES = 80
READERS = 4
# In a row, in a file, and streamed to a file: each is written to disk in another way.
SIZES = (2_000, 120_000, 1_500_000)
QUICK = "[collection]\ncommit_every_s = 0.2\n[proxy]\nconnect_timeout_s = 2.0\n"
RULE = '[[rule]]\nname = "rule {0}"\ndomain = ["blocked{0}.test"]\naction = "block"\n'


def content(number):
    """The body of /page/NUMBER, always the same."""
    words = f"lesson{number} about subject{number}. "
    return (
        f"<!doctype html><html lang=en><title>Lesson {number}</title><p>{words}</p>"
        f"<p>{'Plain words that every lesson has in it. ' * 8}</p><!--{'x' * SIZES[number % len(SIZES)]}-->"
    ).encode()


@pytest.fixture
def library():
    with Origin() as running:
        for number in range(PAGES):
            running.pages[f"/page/{number}"] = reply(content(number), Cache_Control="max-age=600")
        yield running


class Load:
    """Users who open pages and dead links, and an admin who writes rules, as fast as they can."""

    def __init__(self, running, library, rules):
        self.stop = threading.Event()
        self.read, self.written = set(), set()
        self._running, self._library, self._rules = running, library, rules

    def readers(self, seed):
        luck, client = random.Random(seed), Client(self._running.url)
        while not self.stop.is_set():
            number = luck.randrange(PAGES)
            client.open_page(f"{self._library.url}/dead/{luck.randrange(10**9)}")
            client.open_page(f"{self._library.url}/page/{number}", Cache_Control="no-cache")
            self.read.add(number)

    def admin(self):
        number = 0
        while not self.stop.is_set():
            fresh = self._rules / f".{number}.new"
            fresh.write_text(RULE.format(number), encoding="utf-8")
            fresh.rename(self._rules / f"{number:04}.toml")
            self.written.add(f"{number:04}.toml")
            number += 1
            time.sleep(0.02)


@contextmanager
def load(running, library, rules):
    rules.mkdir(exist_ok=True)
    at_work = Load(running, library, rules)
    threads = [threading.Thread(target=at_work.readers, args=(f"reader {n}",)) for n in range(READERS)]
    threads.append(threading.Thread(target=at_work.admin))
    for thread in threads:
        thread.start()
    try:
        yield at_work
    finally:
        at_work.stop.set()
        for thread in threads:
            thread.join(30)


def missed(data):
    done = linkmend("misses", "list", "--limit", "1000000", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["id"] for line in done.stdout.splitlines()}


def held(client, numbers):
    """The pages found by a word that only they contain."""
    return {n for n in list(numbers) if f'/page/{n}"' in client.search(f"subject{n}").text}


def test_backup_under_load_contains_everything_committed_before_it(tmp_path, library):
    data, rules, file = tmp_path / "data", tmp_path / "rules.d", tmp_path / "backup.tar.zst"
    assert linkmend("import", DEMO, "--data", data).returncode == 0
    running = Linkmend(data, settings=QUICK)
    try:
        with load(running, library, rules) as at_work:
            eventually(lambda: len(at_work.read) > PAGES // 2, "nobody reads", timeout_s=60)
            client = Client(running.url)
            pages, misses, written = held(client, at_work.read), missed(data), set(at_work.written)
            assert pages
            assert misses
            assert written
            done = linkmend("backup", file, "--data", data, "--config", running.config)
            assert done.returncode == 0, done.stderr
            opened_since = len(at_work.read)
    finally:
        running.stop()
    assert "Traceback" not in running.output, running.output
    assert file.stat().st_mode & 0o777 == 0o600
    assert opened_since  # it was under load to the end

    shutil.rmtree(data)
    new, config = tmp_path / "new", tmp_path / "etc" / "linkmend.toml"
    done = linkmend("restore", file, "--data", new, "--config", config)
    assert done.returncode == 0, done.stderr
    assert misses <= missed(new)
    assert written <= {path.name for path in (config.parent / "rules.d").iterdir()}
    assert all(
        (config.parent / "rules.d" / name).read_text() == RULE.format(int(name[:4])) for name in written
    )
    assert config.read_text() == QUICK
    told = linkmend("rules", "test", "http://blocked0.test/", "--config", config, "--data", new)
    assert "rule 0" in told.stdout, told.stderr
    library.down()
    check_restored(new, library, pages)


def check_restored(data, library, pages):
    running = Linkmend(data, settings=QUICK)
    try:
        client = Client(running.url)
        assert held(client, pages) == pages
        for number in pages:
            answer = client.open_page(f"{library.url}/page/{number}")
            assert (answer.status, answer.body) == (200, content(number))
        assert client.open_page("http://science.school.test/earth/volcanoes.html").status == 200
        assert (data / "ca" / "mitmproxy-ca.pem").stat().st_mode & 0o077 == 0
    finally:
        running.stop()
    assert "Traceback" not in running.output, running.output


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.1])
def test_a_backup_that_is_killed_leaves_nothing_under_its_name_and_the_next_one_works(tmp_path, after_s):
    data, file = tmp_path / "data", tmp_path / "backup.tar.zst"
    assert linkmend("import", DEMO, "--data", data).returncode == 0
    (data / "large").write_bytes(random.Random(1).randbytes(60_000_000))
    command = [sys.executable, "-m", "proxy.main", "backup", str(file), "--data", str(data)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as making:
        eventually(lambda: (tmp_path / ".backup.tar.zst.part").exists(), "the backup does not begin")
        time.sleep(after_s)
        making.send_signal(signal.SIGKILL)
        assert making.wait(20) == -signal.SIGKILL
    assert not file.exists()
    done = linkmend("backup", file, "--data", data)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar.zst", "data"]
    done = linkmend("restore", file, "--data", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "large").stat().st_size == 60_000_000


def test_a_restore_over_a_running_linkmend_is_refused(tmp_path, start_linkmend):
    running, file = start_linkmend(), tmp_path / "backup.tar.zst"
    assert linkmend("backup", file, "--data", running.data).returncode == 0
    done = linkmend("restore", file, "--data", running.data, "--force")
    assert done.returncode == 1
    assert "stop it first" in done.stderr
    assert Client(running.url).open_page("http://linkmend.internal/").status == 200
