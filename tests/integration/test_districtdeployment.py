"""What deploy/district/ ships, in use: Squids that share their pages by CARP, HAProxy before two linkmend."""

import json
import os
import re
import shutil
import socket
import subprocess
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from urllib.parse import urlsplit

import pytest

from repair.collection.collection import Collection
from repair.model import Document
from repair.opensearch import publishing
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.outgoing import shared_page
from repair.opensearch.sharedpages import SharedPages
from repair.settings import CollectionSettings
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.postgres import programs
from tests.integration.processes import ROOT, Running, eventually, free_port
from tests.integration.squid import _open_to

_DAY = datetime(2026, 3, 2, tzinfo=UTC)
_HOSTS = [f"site{number}.test" for number in range(23)]  # odd, so that taking turns would not do
_RULE = '[[rule]]\nname = "one device"\nclient = ["127.0.7.0/24"]\naction = "block"\n'
_DISTRICT = ROOT / "deploy" / "district"


def here(name, folder, changes):
    """A shipped Squid configuration with the places and addresses of this test."""
    text = (_DISTRICT / name).read_text(encoding="utf-8")
    common = {
        "/var/spool/squid": str(folder),
        "/var/log/squid/cache.log": f"{folder}/cache.log",
        "/run/squid.pid": f"{folder}/squid.pid",
        "access_log none": f"logformat url %ru\naccess_log stdio:{folder}/access.log logformat=url",
        "dst 127.0.0.0/8": "dst 127.0.0.9/32",
        "src 10.0.0.0/8": "src 127.0.0.0/8 10.0.0.0/8",
    }
    for there, ours in {**common, **changes}.items():
        assert there in text, there
        text = text.replace(there, ours)
    return re.sub(r"cache_dir .*", "", text)


class ShippedSquid(Running):
    """A real Squid with a configuration from deploy/district/."""

    def __init__(self, program, folder, name, changes, *, trusted):
        folder.mkdir()
        self.port, self.log = free_port(), folder / "access.log"
        ports = {"http_port 3128": f"http_port 127.0.0.1:{self.port}"}
        configuration = folder / "squid.conf"
        # On one machine all have its name, and would take the others' marks for a loop.
        more = f"tls_outgoing_options cafile={trusted}\nvisible_hostname {folder.name}.test\n"
        configuration.write_text(here(name, folder, changes | ports) + more, encoding="utf-8")
        _open_to("proxy", folder)
        super().__init__([program, "-N", "-n", f"district{self.port}", "-f", configuration])
        self.wait_for_port(self.port)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def asked(self):
        """The URLs that were asked of it."""
        return self.log.read_text(encoding="utf-8").split() if self.log.exists() else []


@pytest.fixture
def squids(tmp_path, program, secure_origin):
    """Three Squids, and the one before them, which comes last."""
    path, running = program("squid"), []

    def start(folder, name, changes):
        running.append(ShippedSquid(path, tmp_path / folder, name, changes, trusted=secure_origin.pem))

    try:
        for number in (1, 2, 3):
            start(f"squid{number}", "squid-cache.conf", {})
        # Peers are told apart by their names; on one machine all have the address of this one.
        peers = {
            f"cache_peer squid{number} parent 3128": f"cache_peer 127.0.0.1 parent {squid.port}"
            for number, squid in enumerate(running, 1)
        }
        start("front", "squid-front.conf", peers)
        yield running
    finally:
        for squid in running:
            squid.stop()


def test_three_squids_share_what_two_schools_ask_and_one_may_die(
    squids, start_linkmend, origin, secure_origin, tmp_path
):
    *caches, front = squids
    urls = []
    for number in range(30):
        for site in (origin, secure_origin):
            # Without a date Squid asks again each time.
            site.pages[f"/{number}"] = reply(
                b"<p>words", Cache_Control="max-age=600", Date=formatdate(usegmt=True)
            )
            urls.append(f"{site.url}/{number}")
    settings = f'[proxy]\ntrusted_ca = "{secure_origin.pem}"\n'
    for school in ("one", "other"):
        running = start_linkmend("--parent", front.url, data=tmp_path / school, settings=settings)
        pupil = Client(running.url, running.ca)
        assert [pupil.get(url).status for url in urls] == [200] * 60
    # The second school was served by the Squids, and each of them has what the others have not.
    for site in (origin, secure_origin):
        assert {path: site.asked[path] for path in site.pages} == dict.fromkeys(site.pages, 1)
    shares = [{*squid.asked()} & {*urls} for squid in caches]
    assert sorted(url for share in shares for url in share) == sorted(urls)
    assert all(len(share) >= 8 for share in shares), shares

    caches[0].kill()
    for url in shares[0]:
        assert pupil.get(f"{url}?again").status == 404  # the origin's answer, by another Squid


@pytest.fixture
def behind_haproxy(tmp_path, program, start_linkmend, secure_origin):
    """HAProxy as shipped, before two linkmend with one certificate authority, in the places of two machines."""
    text = (_DISTRICT / "haproxy.cfg").read_text(encoding="utf-8")
    names = tmp_path / "names.json"
    names.write_text(json.dumps({host: ["127.0.0.1"] for host in _HOSTS}), encoding="utf-8")
    port, both = free_port(), []
    settings = f'[proxy]\nworkers = 1\ntrusted_ca = "{secure_origin.pem}"\nbalancers = ["127.0.0.1/32"]\n'
    for number in (1, 2):
        metrics = free_port()
        told = f'{settings}[metrics]\nlisten = "127.0.0.1:{metrics}"\n[desk]\nenabled = false\n'
        data = tmp_path / f"linkmend{number}"
        (data / "rules.d").mkdir(parents=True)
        (data / "rules.d" / "client.toml").write_text(_RULE)
        if both:
            shutil.copytree(tmp_path / "linkmend1" / "ca", data / "ca")
        linkmend = start_linkmend(data=data, settings=told, names=names)
        both.append(linkmend)
        place = f"127.0.0.1:{urlsplit(linkmend.url).port} check port {metrics}"
        assert f"linkmend{number}:8080" in text
        text = text.replace(f"linkmend{number}:8080", place)
    text = text.replace("check port 9108 ", "").replace("bind :8080", f"bind 127.0.0.1:{port}")
    (tmp_path / "haproxy.cfg").write_text(text, encoding="utf-8")
    running = Running([program("haproxy"), "-f", tmp_path / "haproxy.cfg"])
    running.wait_for_port(port)
    running.url, running.both = f"http://127.0.0.1:{port}", both
    yield running
    running.stop()


def test_behind_haproxy_a_host_has_one_linkmend_and_another_stands_in(behind_haproxy, origin, secure_origin):
    user = Client(behind_haproxy.url)
    origin.pages["/a"] = reply(b"<title>Kept</title>", Cache_Control="max-age=600")
    urls = [f"http://{host}:{origin.port}/a" for host in _HOSTS]
    # Of a host that went to both linkmend in turns each would ask the origin.
    assert [user.open_page(url).status for url in urls * 3] == [200] * 69
    assert origin.asked["/a"] == 23
    marks = [user.open_page(url).headers["Cache-Status"] for url in urls]
    assert all("hit" in mark for mark in marks)
    assert user.open_page(f"http://{_HOSTS[0]}:{origin.port}/gone").miss == "not_found"

    first, _ = behind_haproxy.both
    secure_origin.pages["/b"] = reply(b"<title>Safe</title>")
    assert Client(behind_haproxy.url, first.ca).open_page(f"{secure_origin.url}/b").status == 200

    first.kill()
    eventually(lambda: all(user.open_page(url).status == 200 for url in urls), "no linkmend stands in")
    assert origin.asked["/a"] > 23
    assert user.open_page(f"http://{_HOSTS[0]}:{origin.port}/gone").miss == "not_found"


def test_behind_haproxy_rules_hold_for_the_address_of_each_client_and_nobody_takes_another(
    behind_haproxy, origin, secure_origin
):
    origin.pages["/a"] = reply(b"<title>Kept</title>")
    secure_origin.pages["/b"] = reply(b"<title>Safe</title>")
    direct, ca = f"http://127.0.0.1:{behind_haproxy.both[0].port}", behind_haproxy.both[0].ca
    site, safe = f"http://{_HOSTS[0]}:{origin.port}/a", f"{secure_origin.url}/b"
    # In turns: a connection of HAProxy's that has served one client must not serve another.
    for _ in range(5):
        for source, status in (("127.0.7.1", 403), ("127.0.8.1", 200)):
            assert Client(behind_haproxy.url, source=source).open_page(site).status == status
    for source, status in (("127.0.7.1", 403), ("127.0.8.1", 200)):
        assert Client(behind_haproxy.url, ca, source=source).open_page(safe).status == status

    header = b"PROXY TCP4 127.0.8.1 127.0.0.1 41000 8080\r\n"
    request = f"GET {site} HTTP/1.1\r\nHost: {_HOSTS[0]}:{origin.port}\r\n"
    named = "X-Forwarded-For: 127.0.8.1\r\nForwarded: for=127.0.8.1\r\n"
    for proxy in (behind_haproxy.url, direct):
        assert answer_to(proxy, f"{request}{named}\r\n".encode()).startswith(b"HTTP/1.1 403")
        assert answer_to(proxy, header + f"{request}\r\n".encode()).startswith(b"HTTP/1.1 400")
    # What HAProxy itself would send; and HAProxy that does not say for whom.
    assert answer_to(direct, header + f"{request}\r\n".encode(), source="127.0.0.1").startswith(
        b"HTTP/1.1 200"
    )
    assert answer_to(direct, f"{request}\r\n".encode(), source="127.0.0.1") == b""


def answer_to(proxy, sent, *, source="127.0.7.1"):
    """The first bytes that a proxy sends to a client that sends these."""
    place = urlsplit(proxy)
    with socket.create_connection((place.hostname, place.port), 30, (source, 0)) as client:
        client.sendall(sent)
        try:
            return client.recv(65_536)
        except ConnectionResetError:
            return b""


def test_a_backup_brings_both_engines_back(start_cluster, start_postgres, tmp_path, monkeypatch):
    cluster, postgres = start_cluster(nodes=1), start_postgres()
    try:
        client = OpenSearchClient(cluster.urls)
        publishing.install(client, replicas=0)
        with Collection.open(tmp_path / "school", CollectionSettings()) as school:
            school.add(
                Document(url="https://a.example/1", title="Delta", text="river", language="en"),
                fetched_at=_DAY,
            )
            school.commit()
            page = shared_page(school, school.page_number("https://a.example/1"))
        publishing.publish(client, [page])
        name = urlsplit(postgres.create_database().database).path[1:]
        with postgres.connect(name) as connection:
            connection.execute("CREATE ROLE school_17 LOGIN PASSWORD 'secret'")
            connection.execute("CREATE TABLE told (word text); INSERT INTO told VALUES ('kept')")
            connection.execute("GRANT SELECT ON told TO school_17")
        environment = {
            "DATABASE": f"postgresql://postgres@127.0.0.1:{postgres.port}/{name}",
            "SEARCH": cluster.urls[0],
            "SEARCH_REPOSITORY": str(cluster.backups),
            "KEEP": "1",
            "PATH": f"{programs()}:{os.environ['PATH']}",
        }
        names = [run("backup.sh", environment, tmp_path) for _ in range(2)]
        assert {file.name.partition(".")[0] for file in tmp_path.glob("*.dump")} == {names[1]}

        publishing.bury(client, ["https://a.example/1"], _DAY + timedelta(days=9))
        with postgres.connect(name) as connection:
            connection.execute("DROP TABLE told; DROP ROLE school_17")
        run("restore.sh", environment, tmp_path, names[1])
        shared = SharedPages(client, deadline_s=60.0)
        assert shared.get("https://a.example/1").title == "Delta"
        with postgres.connect(name) as connection:
            assert connection.execute("SELECT word FROM told").fetchall() == [("kept",)]
            query = "SELECT has_table_privilege('school_17', 'told', 'select')"
            assert connection.execute(query).fetchone() == (True,)
    finally:
        cluster.stop()


def run(script, environment, folder, *arguments):
    done = subprocess.run(
        ["sh", _DISTRICT / script, folder, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()
