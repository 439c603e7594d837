"""A page stored compressed is served only to programs that can decode it; with curl, wget and Debian's nginx."""

import subprocess

import pytest

from tests.integration.origin import reply
from tests.integration.processes import Running, free_port

PAGE = "<html><body>" + "A page long enough to be compressed. " * 100

_NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log stderr;
events {{ }}
http {{
  access_log off; gzip on; gzip_min_length 20; gzip_types text/plain application/javascript;
  types {{ text/html html; text/plain txt; application/javascript js; }}
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; expires 10m; }}
}}
"""


@pytest.fixture(scope="module")
def nginx(tmp_path_factory, program):
    """nginx as Debian configures it: it compresses without Vary."""
    path = program("nginx")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    (folder / "www").mkdir()
    for number in range(20):
        (folder / "www" / f"{number}.html").write_text(PAGE, encoding="utf-8")
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port), encoding="utf-8")
    server = Running([path, "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"])
    try:
        server.wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


def run(*command):
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout


def curl(running, url, *more):
    return run("curl", "-s", "--noproxy", "", "-x", running.url, *more, url)


def wget(running, url, *more):
    told = (f"http_proxy={running.url}", "no_proxy=")
    return run("env", *told, "wget", "-q", "-O", "-", *more, url)


@pytest.mark.parametrize("client", ["curl", "wget", "identity"])
def test_compressed_page_is_not_served_to_clients_that_cannot_decode_it(running, nginx, alice, client):
    url = f"{nginx}/{['curl', 'wget', 'identity'].index(client)}.html"
    stored = alice.get(url, Accept_Encoding="gzip, deflate, br")
    assert stored.headers["Content-Encoding"] == "gzip"
    assert stored.headers["Vary"] is None  # the control: this is the server that it is about
    ask = {
        "curl": lambda: curl(running, url),
        "wget": lambda: wget(running, url),
        "identity": lambda: curl(running, url, "-H", "Accept-Encoding: identity"),
    }[client]
    for _ in range(2):  # from the site, then from what is stored
        assert ask().decode() == PAGE
    again = alice.get(url, Accept_Encoding="gzip, deflate, br")
    assert "hit" in again.headers["Cache-Status"]


def test_compressed_page_is_served_to_clients_that_can_decode_it(running, nginx, alice):
    url = f"{nginx}/10.html"
    alice.get(url, Accept_Encoding="gzip, deflate, br")
    for accepted in ("gzip", "br;q=1.0, gzip;q=0.2", "*"):
        answer = alice.get(url, Accept_Encoding=accepted)
        assert (answer.headers["Content-Encoding"], "hit" in answer.headers["Cache-Status"]) == ("gzip", True)
    refused = alice.get(url, Accept_Encoding="gzip;q=0")
    assert (refused.headers["Content-Encoding"], refused.text) == (None, PAGE)
    assert curl(running, url, "--compressed").decode() == PAGE


def test_uncompressed_page_is_served_to_everyone(running, nginx, alice):
    url = f"{nginx}/11.html"
    assert wget(running, url).decode() == PAGE
    answer = alice.get(url, Accept_Encoding="gzip")
    assert (answer.text, "hit" in answer.headers["Cache-Status"]) == (PAGE, True)


def test_many_variants_do_not_evict_those_that_others_use(running, site, alice, bob, path):
    async def answer(exchange):
        said = f"for {exchange.headers.get('accept-language')}"
        await exchange.send(reply(said, Cache_Control="max-age=600", Vary="Accept-Language, Accept-Encoding"))

    site.pages[path] = answer
    usual = {"Accept_Language": "de-CH,de;q=0.9,en;q=0.8", "Accept_Encoding": "identity"}
    bob.get(site.url + path, **usual)
    assert "hit" in bob.get(site.url + path, **usual).headers["Cache-Status"]
    asked = site.asked[path]
    for number in range(60):
        alice.get(site.url + path, Accept_Language=f"en;q=0.{number + 101}", Accept_Encoding="identity")
    assert site.asked[path] == asked + 60  # the control: each was a variant of its own
    assert "hit" in bob.get(site.url + path, **usual).headers["Cache-Status"]
