"""repair.parse.traversal: one pass over a tree, in one go or in several."""

from hypothesis import given
from hypothesis import strategies as st

from repair.parse.htmlpage import tree
from repair.parse.traversal import HtmlTraversal

PIECES = "<p>|</p>|<nav>|</nav>|<main>|<div class=menu>|</div>|<h1>|</h1>|<a href=/x>|</a>|<br>|rain |a cloud of ash "
pages = st.lists(st.sampled_from(PIECES.split("|")), max_size=40).map("".join)


def notes(walk):
    links = [(link.href, link.nav, link.first, link.last, tuple(link.pieces)) for link in walk.links]
    return walk.blocks, walk.headings, walk.words, links


@given(pages, st.lists(st.integers(0, 30), max_size=4))
def test_a_traversal_in_steps_finds_the_same_as_one_pass(html, stops):
    root = tree(html).root
    at_once, with_stops = HtmlTraversal(100), HtmlTraversal(100)
    at_once.through(root)
    for words in stops:
        with_stops.through(root, words=words)
    with_stops.through(root)
    with_stops.through(root)  # at the end there is nothing more to see
    assert notes(with_stops) == notes(at_once)


def test_a_traversal_stops_at_the_word_limit():
    walk = HtmlTraversal(100)
    walk.through(tree("<nav>Home and away</nav>" + "<p>Rain falls.</p>" * 10).root, words=5)
    assert len(walk.words) == 6
    assert len(walk.blocks) < 6
