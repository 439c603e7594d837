"""Site moves learnt from pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.moves import rules
from repair.moves.patterns import place_of
from repair.moves.rules import LearntMoves, Move

A = "http://a.test"


def moves(*pairs):
    return [
        Move(old=old if "://" in old else A + old, new=new if "://" in new else A + new) for old, new in pairs
    ]


def answer(known, url, held):
    """Where a page is said to be now, without the host; the pages moved to are held too."""
    pages = {move.new for move in known} | {page if "://" in page else A + page for page in held}
    found = LearntMoves.learn(known, pages.__contains__).answer(A + url, pages.__contains__)
    return found.url.removeprefix(A) if found else None


@pytest.mark.parametrize(
    ("pairs", "asked", "expected"),
    [
        ([("/css/color", "/reference/css/color")], "/css/margin", "/reference/css/margin"),
        ([("/docs/en/color", "/docs/color")], "/docs/en/margin", "/docs/margin"),
        (
            [("/color", "http://b.test/color"), ("/css/x", "http://b.test/css/x")],
            "/margin",
            "http://b.test/margin",
        ),
        ([("/color.html", "/color/")], "/deep/down/margin.html", "/deep/down/margin/"),
        ([("/Water_Cycle", "/water-cycle")], "/Rock_Cycle", "/rock-cycle"),
        ([("/show.php?id=4711", "/articles/4711")], "/show.php?id=12", "/articles/12"),
        ([("/node/4711", "/?p=4711")], "/node/12", "/?p=12"),
        ([("/docs/element/a1b", "/docs/reference/element/a1b")], "/docs/element", "/docs/reference/element"),
        ([("/a/onclick", "/a/click_event"), ("/a/onblur", "/a/blur_event")], "/b/onload", "/b/load_event"),
    ],
)
def test_what_was_done_to_known_pages_is_done_to_the_missing_one(pairs, asked, expected):
    assert answer(moves(*pairs), asked, [expected]) == expected


@pytest.mark.parametrize(
    ("pairs", "asked", "expected"),
    [
        # dates dropped, gained from the slug, and moved into it
        ([("/2018/10/rain", "/news/rain"), ("/2019/01/snow", "/news/snow")], "/2020/07/hail", "/news/hail"),
        (
            [("/2018-10-11-rain", "/2018/10/11/rain"), ("/2019-01-02-snow", "/2019/01/02/snow")],
            "/2020-07-08-hail",
            "/2020/07/08/hail",
        ),
        (
            [("/2018/10/11/rain", "/p/2018-10-11-rain"), ("/2019/01/02/snow", "/p/2019-01-02-snow")],
            "/2020/07/08/hail",
            "/p/2020-07-08-hail",
        ),
        # a category dropped, kept, moved
        (
            [
                ("/blog/sea/tides-and-waves", "/posts/tides-and-waves"),
                ("/blog/sky/rain-snow-and-hail", "/posts/rain-snow-and-hail"),
            ],
            "/blog/land/rocks-and-rivers",
            "/posts/rocks-and-rivers",
        ),
        (
            [("/sea/old/tide", "/sea/new/tide"), ("/sky/old/rain", "/sky/new/rain")],
            "/land/old/rock",
            "/land/new/rock",
        ),
        # any number of directories dropped
        (
            [
                ("/a/b/c/tides-and-waves", "/all/tides-and-waves"),
                ("/d/rain-snow-and-hail", "/all/rain-snow-and-hail"),
            ],
            "/e/f/rocks-and-rivers",
            "/all/rocks-and-rivers",
        ),
        # languages
        (
            [("/es/doc/lluvia", "/es/guide/lluvia"), ("/fr/doc/pluie", "/fr/guide/pluie")],
            "/ja/doc/ame",
            "/ja/guide/ame",
        ),
        # names joined, repeated, with a literal part below or dropped
        (
            [("/dom/window.open", "/api/Window/open"), ("/dom/event.target", "/api/Event/target")],
            "/dom/range.detach",
            "/api/Range/detach",
        ),
        (
            [("/ref/gists", "/rest/gists/gists"), ("/ref/users", "/rest/users/users")],
            "/ref/teams",
            "/rest/teams/teams",
        ),
        (
            [("/ref/gists", "/rest/gists/about"), ("/ref/users", "/rest/users/about")],
            "/ref/teams",
            "/rest/teams/about",
        ),
        (
            [(f"/{name}/index.html", f"/{name}/") for name in ("rain", "snow", "wind")],
            "/fogs/index.html",
            "/fogs/",
        ),
        ([("/rain?print=1", "/p/rain"), ("/snow?print=2", "/p/snow")], "/hail?print=3", "/p/hail"),
        ([("/node-v0-6-9", "/v0.6.9"), ("/node-v0-7-1", "/v0.7.1")], "/node-v0-8-10", "/v0.8.10"),
    ],
)
def test_what_differs_between_two_pairs_may_be_anything_in_the_missing_one(pairs, asked, expected):
    assert answer(moves(*pairs), asked, [expected]) == expected
    assert answer(moves(pairs[0]), asked, [expected]) is None


def test_a_language_that_never_varied_says_nothing_of_others():
    known = moves(("/es/a/doc/lluvia", "/es/a/guide/lluvia"), ("/es/b/doc/nieve", "/es/b/guide/nieve"))
    assert answer(known, "/es/c/doc/viento", ["/es/c/guide/viento"]) == "/es/c/guide/viento"
    assert answer(known, "/fr/c/doc/vent", ["/fr/c/guide/vent"]) is None


def test_a_name_that_many_pages_have_does_not_say_where_a_page_went():
    known = moves(
        ("/blog/sea/tides-and-waves", "/posts/tides-and-waves"), ("/blog/sky/overview", "/posts/overview")
    )
    assert answer(known, "/blog/land/summary", ["/posts/summary"]) is None


@pytest.mark.parametrize("to", ["/evil", "http://evil.test"])
def test_the_moves_of_one_author_say_nothing_of_another(to):
    names = ["tides-and-waves", "rain-snow-and-hail", "rocks-and-rivers"]
    known = moves(*((f"/~mallory/{at}/{name}", f"{to}/{name}") for at, name in enumerate(names)))
    asked = "/~alice/2/winds-and-storms"
    assert answer(known, asked, [f"{to}/winds-and-storms"]) is None


def test_hostile_pairs_and_urls_cost_a_limited_number_of_trials(monkeypatch):
    monkeypatch.setattr(rules, "_MAX_TRIALS", 3_000)
    monkeypatch.setattr(rules, "_MAX_LOOKED_UP", 5)
    names = [f"{number:04}-of-many-pages" for number in range(2_000)]
    known = moves(*((f"/en/2018/a/{name}", f"/b{name}/2018/{name}") for name in names))
    asked = []

    def holds(url):
        asked.append(url)
        return True

    LearntMoves.learn(known, holds)
    assert 0 < len(asked) <= 3_000
    monkeypatch.setattr(rules, "_MAX_TRIALS", 100_000)
    learnt = LearntMoves.learn(known, holds)
    asked.clear()
    learnt.guesses(f"{A}/en/2018/a/another-of-many-pages", holds)
    assert len(asked) == 5


@pytest.mark.parametrize(
    "old",
    ["/~mallory/", "/~mallory", "/~mallory/{}", "/~mallory/go?to={}", "/go?to={}", "/?to={}"],
)
def test_one_place_of_a_host_leads_no_other_to_another_site(old):
    names = ["color", "margin", "padding"]
    known = moves(
        *(
            (old.format(name), "http://evil.test" + old.format(name).replace("go", "~mallory"))
            for name in names
        )
    )
    asked = "/~alice/rain"
    assert answer(known, asked, [f"http://evil.test{asked}"]) is None
    within = moves(*((f"/old/{name}", f"/new/{name}") for name in names[:1]))
    assert answer([*known, *within], "/old/rain", ["/new/rain"]) == "/new/rain"


def test_a_page_that_is_not_held_is_no_answer():
    assert answer(moves(("/css/color", "/reference/css/color")), "/css/margin", []) is None


def test_one_page_that_changed_its_name_is_no_pattern():
    assert answer(moves(("/a/onclick", "/a/click_event")), "/a/onload", ["/a/load_event"]) is None


def test_a_rewriting_that_is_mostly_wrong_is_not_trusted():
    known = moves(("/a/x1y", "/b/x1y"), ("/a/x2y", "/c/x2y"), ("/a/x3y", "/d/x3y"))
    held = ["/b/x2y", "/b/x3y", "/c/x1y", "/c/x3y", "/d/x1y", "/d/x2y"]
    assert answer(known, "/a/x4y", [*held, "/b/x4y", "/c/x4y", "/d/x4y"]) is None


def test_two_answers_as_good_are_none():
    known = moves(("/a/rain", "/b/rain"), ("/a/snow", "/c/snow"))
    assert answer(known, "/a/hail", ["/b/hail"]) == "/b/hail"
    assert answer(known, "/a/hail", ["/b/hail", "/c/hail"]) is None


def test_http_and_https_are_one_place_to_move_from():
    known = [Move(old="https://a.test/old/rain", new="https://a.test/new/rain")]
    held = {"https://a.test/new/rain", "https://a.test/new/snow"}
    found = LearntMoves.learn(known, held.__contains__).answer("http://a.test/old/snow", held.__contains__)
    assert found is not None
    assert found.url == "https://a.test/new/snow"


def test_more_pairs_make_it_surer():
    names = ["rain", "snow", "hail", "fog"]
    held = {f"{A}/new/{name}" for name in [*names, "dew"]}

    def confidence(number):
        known = moves(*[(f"/old/{name}", f"/new/{name}") for name in names[:number]])
        return (
            LearntMoves.learn(known, held.__contains__)
            .guesses(f"{A}/old/dew", held.__contains__)[0]
            .confidence
        )

    assert confidence(1) < confidence(2) < confidence(4) < 1.0


def test_other_hosts_are_not_touched():
    assert (
        answer(moves(("http://b.test/old/rain", "http://b.test/new/rain")), "/old/snow", ["/new/snow"])
        is None
    )


def test_what_is_no_address_teaches_and_asks_nothing():
    learnt = LearntMoves.learn([Move(old="mailto:a", new=A), Move(old=A, new="")], lambda _: True)
    assert list(learnt.rules()) == []
    assert learnt.guesses("nonsense", lambda _: True) == ()
    assert place_of(A + "/x" * 100) is None


ADDRESS = st.text(alphabet="abAB1-_./?=&%", max_size=25).map(lambda tail: f"http://a.test/{tail}")


@given(st.lists(st.tuples(ADDRESS, ADDRESS), max_size=6), ADDRESS)
def test_every_guess_is_held_and_another_address(pairs, asked):
    held = {new for _, new in pairs}
    learnt = LearntMoves.learn([Move(old=old, new=new) for old, new in pairs], held.__contains__)
    for guess in learnt.guesses(asked, held.__contains__):
        assert guess.url in held
        assert guess.url != asked
        assert 0 < guess.confidence < 1


def test_where_pages_of_a_directory_went_is_known_when_their_names_changed():
    pairs = [("a", "one"), ("b", "two"), ("c", "three")]
    moves = [
        Move(old=f"http://a.test/learn/html/{old}", new=f"http://a.test/core/{new}") for old, new in pairs
    ]
    learnt = LearntMoves.learn(moves, lambda _: True)
    assert learnt.directories("http://a.test/learn/html/tables") == {"http://a.test/core/": 0.75}
    assert learnt.directories("http://a.test/learn/css/grid") == {"http://a.test/core/": 0.75}
    assert learnt.directories("http://b.test/learn/html/tables") == {}
    assert learnt.directories("nonsense") == {}
