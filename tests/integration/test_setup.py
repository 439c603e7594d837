"""From nothing to a working https client: `linkmend setup`, unattended and on a terminal, and its proxy."""

import json
import os
import pty
import select
import subprocess
import sys
import time

from proxy.settings import Settings, load
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import ROOT, START_S, Running, free_port, linkmend

LONGEST_S = 60.0
PASSWORD = "correct horse battery"


def with_free_ports(config):
    """Other tests may have the default ports of desk and metrics."""
    text = config.read_text(encoding="utf-8")
    for part in (Settings().desk, Settings().metrics):
        text = text.replace(f'#listen = "{part.listen}"', f'listen = "127.0.0.1:{free_port()}"')
    config.write_text(text, encoding="utf-8")


def test_five_steps_lead_to_a_working_https_client(tmp_path, secure_origin):
    """Install (done here), set up, start, trust the certificate, check: the steps of docs/admins.md, timed."""
    secure_origin.pages["/a"] = reply(b"<p>words", Cache_Control="max-age=60")
    config, data, port = tmp_path / "etc" / "linkmend.toml", tmp_path / "data", free_port()
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    began = time.monotonic()

    places = ("--config", config, "--data", data)
    options = ("--listen", f"127.0.0.1:{port}", "--parent", "none", "--content", "demo")
    done = linkmend(
        "setup", "--yes", "--no-service", *places, *options, "--password-file", tmp_path / "password"
    )
    assert "certificate for devices" in done.stdout, done.stdout + done.stderr
    with_free_ports(config)

    trusted = {"LINKMEND_PROXY_TRUSTED_CA": str(secure_origin.pem), "LINKMEND_ARCHIVES_ENABLED": "false"}
    reach = {
        "LINKMEND_PROXY_REACH": '["127.0.0.0/8"]',
        "LINKMEND_PROXY_CONNECT_PORTS": '["1-65535"]',
        "LINKMEND_PROXY_WORKERS": "1",
    }
    running = Running(
        [sys.executable, "-m", "proxy.main", "serve", *map(str, places)], env={**trusted, **reach}
    )
    try:
        running.wait_for_line("linkmend ready on ", timeout_s=START_S)
        device = Client(f"http://127.0.0.1:{port}", ca=data / "ca" / "mitmproxy-ca-cert.pem")
        assert device.open_page(f"{secure_origin.url}/a").body == b"<p>words"
        found = doctor(config, data)
        took_s = time.monotonic() - began
        assert {check: told for check, told in found.items() if told["level"] == "fail"} == {}
        assert {"page (http)", "page (https)", "password"} <= found.keys()
        assert found["page (https)"]["level"] == found["password"]["level"] == "ok"
    finally:
        running.stop()
    assert took_s < LONGEST_S


def doctor(config, data):
    done = linkmend("doctor", "--config", config, "--data", data, "--json")
    return {told["check"]: told for told in map(json.loads, done.stdout.splitlines())}


def test_the_doctor_looks_where_a_running_linkmend_really_listens(tmp_path, start_linkmend):
    running = start_linkmend(  # its port is given with --listen, and stands in no file
        "--offline", settings=f'[desk]\nenabled = false\n[metrics]\nlisten = "127.0.0.1:{free_port()}"\n'
    )
    found = doctor(running.config, running.data)
    assert [told["check"] for told in found.values() if told["level"] == "fail"] == []
    assert f"127.0.0.1:{running.port}" in found["page (https)"]["found"]
    assert "proxy.offline" in found["dns"]["found"]


class Terminal:
    """A command on a terminal of its own: waits for words, types answers."""

    def __init__(self, *arguments):
        ours, theirs = pty.openpty()
        self._screen = ours
        self.process = subprocess.Popen(
            [sys.executable, "-m", "proxy.main", *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""
        self._seen = 0

    def answer(self, question, words):
        self.read_until(question)
        os.write(self._screen, f"{words}\n".encode())

    def read_until(self, words="\0", *, timeout_s=60.0):
        """Read on until the words are there, after the last ones that were looked for; or to the end."""
        end = time.monotonic() + timeout_s
        while words not in self.text[self._seen :]:
            assert time.monotonic() < end, self.text
            if not select.select([self._screen], [], [], 0.5)[0]:
                continue
            try:
                piece = os.read(self._screen, 4096)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                assert words == "\0", self.text
                return
            self.text += piece.decode("utf-8", "replace")
        self._seen = self.text.index(words, self._seen) + len(words)

    def end(self):
        self.read_until()
        return self.process.wait(60)


def test_the_wizard_asks_on_a_terminal(tmp_path):
    config, data, port = tmp_path / "linkmend.toml", tmp_path / "data", free_port()
    terminal = Terminal("setup", "--no-service", "--config", config, "--data", data)
    terminal.answer("Address and port for browsers", "192.0.2.1:80")
    terminal.answer("must be one of this machine's", "")  # the question comes again, with the default before
    terminal.process.kill()
    terminal.process.wait()
    assert not config.exists()

    terminal = Terminal("setup", "--no-service", "--config", config, "--data", data)
    terminal.answer("Address and port for browsers", f"127.0.0.1:{port}")
    terminal.answer("Networks whose devices may use it", "10.7.0.0/16")
    terminal.answer("Parent proxy", f"http://127.0.0.1:{free_port()}")
    terminal.read_until("does not answer: connection refused")
    terminal.answer("Use it?", "n")
    terminal.answer("Parent proxy", "none")
    terminal.answer("Who answers questions", "Ms Achieng, room 12")
    terminal.answer("Password of the desk", "short")
    terminal.answer("The same again", "short")
    terminal.read_until("at least 10 characters")
    terminal.answer("Password of the desk", PASSWORD)
    terminal.answer("The same again", PASSWORD)
    terminal.answer("Pages to begin with", "none")
    terminal.end()
    assert PASSWORD not in terminal.text
    proxy = load(config, environment={}).proxy
    assert (proxy.listen, proxy.parent, proxy.contact) == (
        f"127.0.0.1:{port}",
        "",
        "Ms Achieng, room 12",
    )
    assert proxy.clients == ("127.0.0.0/8", "::1/128", "10.7.0.0/16")
    assert "password" in json.loads((data / "desk.json").read_text(encoding="utf-8"))
    assert "ok, " in terminal.text.splitlines()[-1]  # the doctor's last line


def test_nothing_is_overwritten_unasked(tmp_path):
    config, data = tmp_path / "linkmend.toml", tmp_path / "data"
    config.write_text("[proxy]\nworkers = 3\n")
    places = ("--no-service", "--config", config, "--data", data)
    refused = linkmend("setup", "--yes", *places)
    assert (refused.returncode, config.read_text()) == (1, "[proxy]\nworkers = 3\n")
    assert "--force" in refused.stderr
    assert not data.exists()
    linkmend("setup", "--yes", "--force", *places, "--contact", "room 12")
    proxy = load(config, environment={}).proxy
    assert (proxy.workers, proxy.contact) == (3, "room 12")
    assert (tmp_path / "linkmend.toml.before-setup").read_text() == "[proxy]\nworkers = 3\n"
