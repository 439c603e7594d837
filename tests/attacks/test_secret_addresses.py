"""Capability URLs: no search, log, archive or link graph reveals them to anybody else."""

import re
from urllib.parse import unquote, urlsplit

import pytest

from repair.secrets.addresses import has_secret
from tests.capabilities import capability_links
from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, linkmend, serving

SETTINGS = '[collection]\ncommit_every_s = 0.2\n[log]\nlevel = "debug"\n'
FRESH = "max-age=600"
# The random part of an address; its words and numbers are elsewhere too.
_TOKEN = re.compile(r"[A-Za-z0-9_\-]{14,}")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("secrets") / "data", settings=SETTINGS) as proxy:
        yield proxy


def capability_paths(seed):
    """The capability links that need no host of their own: paths and queries; a few unrecognised are left out."""
    links = [link.partition("#")[0] for link in capability_links(seed)]  # no browser sends what is behind a #
    parts = [urlsplit(link) for link in links if has_secret(link) and "//school.example/" in link]
    assert len(parts) >= 60, "capability links are not recognised"
    return [each.path + (f"?{each.query}" if each.query else "") for each in parts]


def tokens_of(paths):
    return {token for path in paths for token in _TOKEN.findall(unquote(path)) if re.search(r"\d", token)}


def files_of(running):
    """All files except the cache, which serves a page only to clients that know its address."""
    for file in running.data.rglob("*"):
        if file.is_file() and "cache" not in file.relative_to(running.data).parts:
            yield file.name, file.read_bytes()


def test_pages_behind_capability_links_are_not_harvested(running, site, alice, bob):
    paths = capability_paths(1)
    for number, path in enumerate(paths):
        site.pages[path] = reply(f"<title>quagga{number}</title><p>quagga hidden marks", Cache_Control=FRESH)
        assert alice.open_page(site.url + path).status == 200
    site.pages["/lessons/volcano.html"] = reply(
        "<title>quagga volcano</title><p>a quagga for all", Cache_Control=FRESH
    )
    assert alice.open_page(f"{site.url}/lessons/volcano.html").status == 200
    eventually(lambda: "/lessons/volcano.html" in bob.search("quagga").text, "the ordinary page is not found")
    assert "hidden marks" not in bob.search("quagga").text
    for path in paths[:5]:
        assert "quagga hidden" not in bob.held_copy(site.url + path).text
    for name, content in files_of(running):
        found = [token for token in tokens_of(paths) if token.encode() in content]
        assert not found, name


def test_a_missing_page_behind_a_capability_link_is_not_logged_in_full(running, site, alice):
    paths = capability_paths(2)
    for path in paths[::3]:
        alice.open_page(site.url + path, Referer=f"{site.url}{paths[0]}")
    assert site.asked[paths[0]] == 1
    assert alice.open_page(f"{site.url}/lost/volcano-of-1883.html").status == 404
    eventually(
        lambda: any(b"volcano-of-1883" in content for name, content in files_of(running) if "misses" in name),
        "the ordinary miss is not logged",
    )
    for name, content in (*files_of(running), ("output", running.output.encode())):
        found = [token for token in tokens_of(paths) if token.encode() in content]
        assert not found, name


def test_links_to_capability_urls_are_not_stored(running, site, alice, bob):
    paths = capability_paths(3)
    links = "".join(f'<a href="{path}">marks</a>' for path in (*paths, "/lessons/linked-from-here.html"))
    site.pages["/links.html"] = reply(f"<title>linkpage</title><p>linkpage {links}", Cache_Control=FRESH)
    assert alice.open_page(f"{site.url}/links.html").status == 200
    eventually(lambda: "/links.html" in bob.search("linkpage").text, "the page is not found")
    kept = b"".join(content for name, content in files_of(running) if name.startswith("collection.sqlite3"))
    assert b"linked-from-here" in kept
    assert not [token for token in tokens_of(paths) if token.encode() in kept]


def test_live_view_and_export_do_not_contain_capability_urls(running, site, alice):
    paths = capability_paths(4)
    for path in paths[::5]:
        alice.open_page(site.url + path)
    alice.open_page(f"{site.url}/lost/exported-page.html")
    told = ""

    def exported():
        nonlocal told
        done = linkmend("misses", "export", "--data", running.data, "--config", running.config)
        told = done.stdout
        return "exported-page" in told

    eventually(exported, "the ordinary miss is not exported")
    assert not [token for token in tokens_of(paths) if token in told]


def test_capability_url_is_not_sent_to_archives(tmp_path):
    with Origin() as archive:
        config = tmp_path / "archives.toml"
        config.write_text(
            f'[archives]\nenabled = true\nlist = ["school timemap={archive.url}/timemap/link/{{url}}"]\n',
            encoding="utf-8",
        )

        def ask(url):
            return linkmend("mementos", url, "--config", config, "--data", tmp_path / "data")

        secret = "http://lost.example/reset-password/0f8e1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b"
        refused = ask(secret)
        assert not archive.asked
        assert "0f8e1a2b" not in refused.stdout
        ask("http://lost.example/lessons/volcano")
        assert archive.asked


def test_page_behind_a_capability_url_is_served_to_its_owner(running, site):
    (path, *_) = capability_paths(5)
    site.pages[path] = reply("<title>mine</title><p>mine alone", Cache_Control=FRESH)
    assert "mine alone" in Client(running.url, source="127.0.3.73").open_page(site.url + path).text
