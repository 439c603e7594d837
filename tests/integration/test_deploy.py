"""What deploy/ ships, in use: linkmend behind the unit's system call filter, Squid with our settings."""

import ctypes.util
import re
import sys

import pytest

from tests.files import a_pdf
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import ROOT, Linkmend, Running, eventually, free_port
from tests.integration.squid import _open_to


@pytest.fixture
def shut_in(tmp_path, program, monkeypatch):
    """`linkmend serve` behind the filter of deploy/linkmend.service, with the folders that systemd would make."""
    program("systemd-analyze")
    if not ctypes.util.find_library("seccomp"):
        pytest.skip("libseccomp is not installed")
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    real = Running.__init__
    sandbox = [sys.executable, "-m", "tests.integration.sandbox"]
    monkeypatch.setattr(
        Running, "__init__", lambda self, command, **about: real(self, [*sandbox, *command], **about)
    )
    running = Linkmend(tmp_path / "data")
    yield running
    running.stop()
    assert "Traceback" not in running.output, running.output
    assert "Operation not permitted" not in running.output, running.output


def test_systemd_unit_allows_everything_linkmend_does(shut_in, origin):
    origin.pages["/a"] = reply(
        b"<title>Volcanoes</title><p>" + b"Lava is molten rock. " * 30 + b"<!--" + b"x" * 300_000 + b"-->",
        Cache_Control="max-age=60",
    )
    client = Client(shut_in.url, shut_in.ca)
    assert [client.open_page(f"{origin.url}/a").status for _ in range(2)] == [200, 200]
    assert origin.asked["/a"] == 1
    assert client.open_page(f"{origin.url}/gone").miss == "not_found"
    assert client.open_page("https://linkmend.internal/").status == 200
    eventually(lambda: f"{origin.url}/a" in client.search("volcanoes").text, "the page is not found")
    origin.pages["/b.pdf"] = reply(a_pdf("Basalt cools into columns"), kind="application/pdf")
    assert client.open_page(f"{origin.url}/b.pdf").status == 200
    eventually(
        lambda: f"{origin.url}/b.pdf" in client.search("basalt").text, "the file is not read", timeout_s=60
    )
    assert client.open_page("http://no-such-name.invalid/").miss == "unreachable"


@pytest.fixture
def squid(tmp_path, program):
    """A real Squid with deploy/squid.conf, but for its places and for what it may reach here."""
    port, folder = free_port(), tmp_path / "squid"
    folder.mkdir()
    text = (ROOT / "deploy" / "squid.conf").read_text(encoding="utf-8")
    for there, here in (
        ("127.0.0.1:3128", f"127.0.0.1:{port}"),
        ("/var/spool/squid", str(folder)),
        ("/var/log/squid/cache.log", f"{folder}/cache.log"),
        ("/run/squid.pid", f"{folder}/squid.pid"),
        ("acl own_machine dst 127.0.0.0/8", "acl own_machine dst 127.0.0.9/32"),
    ):
        assert there in text
        text = text.replace(there, here)
    (folder / "squid.conf").write_text(re.sub(r"cache_dir .*", "", text), encoding="utf-8")
    _open_to("proxy", folder)
    running = Running([program("squid"), "-N", "-n", f"deploy{port}", "-f", folder / "squid.conf"])
    running.wait_for_port(port)
    running.url = f"http://127.0.0.1:{port}"
    yield running
    running.stop()


def test_squid_with_our_settings_serves_linkmend_and_refuses_its_own_host(squid, origin, start_linkmend):
    origin.pages["/a"] = reply(b"<p>words", Cache_Control="max-age=60")
    client = Client(start_linkmend("--parent", squid.url).url)
    assert client.open_page(f"{origin.url}/a").body == b"<p>words"
    assert "squid" in client.get(f"{origin.url}/a").headers.get("Via", "")
    assert Client(squid.url).get("http://127.0.0.9/").status == 403
    assert Client(squid.url).get("http://school.test:25/").status == 403
