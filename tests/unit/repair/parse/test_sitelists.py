"""Sitemaps and feeds, honest and hostile."""

import gzip
from datetime import UTC, datetime

import pytest

from repair.parse import sitelists
from repair.parse.sitelists import SiteListEntry, feeds_of, read_site_list

URL = "https://a.test/list.xml"
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://a.test/clay</loc><lastmod>2026-03-01</lastmod></url>
<url><loc>https://other.test/x</loc></url><url><loc>javascript:alert(1)</loc></url></urlset>"""
RSS = b"""<rss version="2.0"><channel><title>News</title><link>https://a.test/</link>
<item><title>Clay &amp; sand</title><link>/clay</link>
<description>&lt;p&gt;wet &lt;b&gt;soil&lt;/b&gt;&lt;/p&gt;</description>
<pubDate>Sun, 01 Mar 2026 00:00:00 GMT</pubDate></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a.test/"/><entry><title>Clay</title>
<link rel="edit" href="/edit"/><link href="https://a.test/clay"/><updated>2026-03-01T00:00:00Z</updated>
<summary>wet soil</summary></entry></feed>"""
AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("data", "page"),
    [
        (SITEMAP, SiteListEntry(url="https://a.test/clay", changed_at=AT)),
        (gzip.compress(SITEMAP), SiteListEntry(url="https://a.test/clay", changed_at=AT)),
        (
            RSS,
            SiteListEntry(url="https://a.test/clay", title="Clay & sand", summary="wet soil", changed_at=AT),
        ),
        (ATOM, SiteListEntry(url="https://a.test/clay", title="Clay", summary="wet soil", changed_at=AT)),
    ],
)
def test_pages_of_the_same_host_are_listed(data, page):
    assert read_site_list(data, URL).pages == (page,)


def test_index_names_further_sitemaps():
    index = b"<sitemapindex><sitemap><loc>https://a.test/2.xml</loc></sitemap></sitemapindex>"
    found = read_site_list(index, URL)
    assert ([each.url for each in found.lists], found.pages) == (["https://a.test/2.xml"], ())


def test_malformed_list_gives_what_came_before():
    cut = SITEMAP[: SITEMAP.index(b"https://other.test")]
    assert [page.url for page in read_site_list(cut, URL).pages] == ["https://a.test/clay"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html><p>not found</p></html>",
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>https://a.test/&b;</loc></url></urlset>',
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss><item><title>&a;</title></item></rss>',
        b"<a>" * 100_000,
        b"\x1f\x8b" + bytes(50),
        b"<urlset><url><loc>" + b"x" * 1_000_000 + b"</loc></url></urlset>",
    ],
)
def test_what_is_no_list_or_a_trap_gives_nothing(data):
    found = read_site_list(data, URL)
    assert (found.pages, found.lists) == ((), ())


def test_entries_and_unpacked_bytes_are_bounded(monkeypatch):
    many = (
        b"<urlset>" + b"".join(b"<url><loc>/%d</loc></url>" % number for number in range(50)) + b"</urlset>"
    )
    monkeypatch.setattr(sitelists, "MAX_ENTRIES", 5)
    assert len(read_site_list(many, URL).pages) == 5
    monkeypatch.setattr(sitelists, "MAX_BYTES", 1_000)
    bomb = gzip.compress(b"<urlset>" + b" " * 10_000_000 + b"<url><loc>/late</loc></url></urlset>")
    assert read_site_list(bomb, URL).pages == ()


def test_page_names_its_feeds():
    html = """<link rel="alternate" type="application/rss+xml" href="/feed">
    <link rel="alternate" type="application/atom+xml" href="https://other.test/feed">
    <link rel="alternate" hreflang="fr" href="/fr"><link rel="stylesheet" type="application/rss+xml" href="/x">"""
    assert feeds_of(html, "https://a.test/page") == ("https://a.test/feed",)


def test_results_of_a_search_engine_may_be_anywhere():
    body = b"<rss><channel><item><link>https://elsewhere.test/clay</link></item></channel></rss>"
    assert read_site_list(body, URL).pages == ()
    found = read_site_list(body, URL, elsewhere=True)
    assert (found.root, [page.url for page in found.pages]) == ("rss", ["https://elsewhere.test/clay"])
