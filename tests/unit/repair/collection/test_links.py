import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.collection.database import Database
from repair.collection.links import LinkGraph, intern_urls
from repair.model import InLink
from tests.examples import examples
from tests.holdings import SITE, a_link


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "db")
    yield database
    database.close()


def _page(database, path):
    with database.write() as connection:
        return intern_urls(connection, (SITE + path,))[SITE + path]


def _url_count(database):
    with database.read() as connection:
        return connection.execute("SELECT count(*) FROM urls").fetchone()[0]


def test_links_are_found_from_both_ends(database):
    graph = LinkGraph(database)
    link = a_link("/b", "the b", before="go to", after="now")
    graph.replace(_page(database, "/a"), [link])
    assert graph.outlinks(f"{SITE}/a") == (link,)
    assert graph.inlinks(f"{SITE}/b", 10) == (InLink(source_url=f"{SITE}/a", link=link),)
    assert graph.sources(f"{SITE}/b", 10) == (f"{SITE}/a",)


def test_links_of_running_text_come_before_navigation(database):
    graph = LinkGraph(database)
    graph.replace(_page(database, "/a"), [a_link("/x", "menu", nav=True)])
    graph.replace(_page(database, "/b"), [a_link("/x", "telling")])
    assert [inlink.link.anchor for inlink in graph.inlinks(f"{SITE}/x", 10)] == ["telling", "menu"]


def test_of_too_many_links_the_same_are_chosen_in_whatever_order_pages_came(tmp_path):
    chosen = []
    for name, numbers in (("one", range(40)), ("other", reversed(range(40)))):
        with closing(Database(tmp_path / name)) as database:
            graph = LinkGraph(database)
            for number in numbers:
                links = [a_link("/x", f"first {number}"), a_link("/x", f"second {number}")]
                graph.replace(_page(database, f"/{number}"), links)
            chosen.append(graph.inlinks(f"{SITE}/x", 7))
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == 7
    assert {each.source_url for each in chosen[0]} != {f"{SITE}/{number}" for number in range(4)}


def test_new_links_take_the_place_of_old_ones(database):
    graph = LinkGraph(database)
    page = _page(database, "/a")
    graph.replace(page, [a_link("/b"), a_link("/c")])
    graph.replace(page, [a_link("/c")])
    assert [link.target_url for link in graph.outlinks(f"{SITE}/a")] == [f"{SITE}/c"]
    assert graph.inlinks(f"{SITE}/b", 10) == ()


def test_replace_returns_only_pages_linked_with_other_words(database):
    graph = LinkGraph(database)
    page, same, new = (_page(database, path) for path in ("/a", "/same", "/new"))
    graph.replace(page, [a_link("/same", "as before")])
    assert graph.replace(page, [a_link("/same", "as before"), a_link("/new")]) == {new}
    assert graph.replace(page, [a_link("/same", "otherwise"), a_link("/new")]) == {same}
    assert graph.remove(page) == {same, new}


def test_the_most_informative_of_several_links_is_chosen(database):
    graph = LinkGraph(database)
    links = [
        a_link("/b", "menu", nav=True),
        a_link("/b", ""),
        a_link("/b", "first words"),
        a_link("/b", "second"),
    ]
    graph.replace(_page(database, "/a"), links)
    assert graph.link_between(f"{SITE}/a", f"{SITE}/b") == links[2]
    assert graph.link_between(f"{SITE}/a", f"{SITE}/elsewhere") is None


def test_unused_urls_are_deleted(database):
    graph = LinkGraph(database)
    page = _page(database, "/a")
    graph.replace(page, [a_link(f"/{number}") for number in range(50)])
    graph.remove(page)
    assert _url_count(database) == 1  # the page itself is forgotten with the page


def test_a_page_with_very_many_links_is_saved(database):
    graph = LinkGraph(database)
    graph.replace(_page(database, "/a"), [a_link(f"/{number}") for number in range(3_000)])
    assert len(graph.outlinks(f"{SITE}/a")) == 3_000


def test_anchors_into_a_page_leave_out_navigation_and_its_own_links(database):
    graph = LinkGraph(database)
    page = _page(database, "/x")
    graph.replace(page, [a_link("/x", "myself")])
    graph.replace(
        _page(database, "/a"), [a_link("/x", "words"), a_link("/x", "menu", nav=True), a_link("/x", "")]
    )
    assert graph.anchors(page, 10) == ("words",)


_PATHS = st.sampled_from(["/a", "/b", "/c", "/d"])
_LINKS = st.lists(st.builds(a_link, _PATHS, st.text(max_size=5), nav=st.booleans()), max_size=6)


@examples(40)
@given(st.lists(st.tuples(_PATHS, _LINKS), max_size=8))
def test_the_graph_is_a_dictionary_of_lists(steps):
    model = {}
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "db")
        graph = LinkGraph(database)
        for path, links in steps:
            links = [link for link in links if max(link.anchor, default="") < "\ud800"]
            graph.replace(_page(database, path), links)
            model[SITE + path] = tuple(links)
        for url, links in model.items():
            assert graph.outlinks(url) == links
        for path in ("/a", "/b", "/c", "/d"):
            expected = [
                (source, link)
                for source, links in model.items()
                for link in links
                if link.target_url == SITE + path
            ]
            got = [(inlink.source_url, inlink.link) for inlink in graph.inlinks(SITE + path, 1_000)]
            assert sorted(got, key=repr) == sorted(expected, key=repr)
        database.close()
