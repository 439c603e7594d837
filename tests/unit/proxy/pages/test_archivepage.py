"""proxy.pages.archivepage, findings and timelinks: what readers and machines are shown of archived versions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proxy.archives.findings import Findings, as_json, key_of
from proxy.pages.archivepage import ArchiveContext, archive_page, archive_part
from proxy.pages.language import LANGUAGES, catalogue
from proxy.pages.repairpage import render
from proxy.pages.timeview import TimeView
from repair.memento.model import Answer, Copy, Outcome, merged
from repair.model import Document
from repair.newversion import Suggestion
from tests.archiving import LOST, NOW, a_memento
from tests.make import a_broken_link, a_page
from tests.offers import MISS_ID, a_context, an_alternative, found

HOSTILE = '"><script>alert(1)</script>'
MEMENTOS = (a_memento("20100301"), a_memento("20130301"), a_memento("20130705", archive="other"))
SAID_AT = datetime.fromtimestamp(NOW, UTC)


def a_copy(memento=MEMENTOS[-1], title="Water"):
    return Copy(memento=memento, page=a_page(), document=Document(url=LOST, title=title, text="rain"))


def findings(*mementos, outcome=Outcome.ANSWERED, **known):
    answers = [Answer(archive="school", outcome=outcome, said_at=SAID_AT, mementos=mementos)]
    known = {"version": 1, "finished": True, **known}
    return Findings(link=a_broken_link(url=LOST), found=merged(LOST, answers), **known)


def context(language="en", **known):
    return ArchiveContext(texts=catalogue(language), miss_id=MISS_ID, now=SAID_AT, **known)


def shown(made, **known):
    return archive_part(made, context(**known)).body.decode()


def test_the_last_good_copy_comes_first_then_the_graph_then_the_list():
    text = shown(findings(*MEMENTOS, best=a_copy()))
    places = [text.index(part) for part in ('class="last"', 'class="graph"', 'class="plain mementos')]
    assert places == sorted(places)
    assert MEMENTOS[-1].url in text
    assert "From 5 July 2013, kept by other." in text


def test_the_part_goes_to_pages_in_the_sandbox_alone():
    headers = dict(archive_part(findings(), context()).headers)
    assert headers["Access-Control-Allow-Origin"] == "null"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in dict(archive_page(findings(), context()).headers)


def test_while_archives_are_asked_the_script_knows_where_to_ask_again():
    assert f"miss={MISS_ID}&amp;part=1&amp;seen=4" in shown(findings(version=4, finished=False))
    assert "data-next" not in shown(findings())


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"version": 0, "finished": False}, "Look in web archives"),
        ({"finished": False}, "are being asked"),
        ({}, "know nothing of this page"),
        ({"outcome": Outcome.LATE}, "No answer from: school"),
    ],
)
def test_it_says_how_far_it_is(known, words):
    assert words in shown(findings(**known))


def test_where_nobody_is_asked_only_what_is_known_is_shown():
    assert "said earlier" in shown(findings(*MEMENTOS, offline=True))
    nothing = findings(version=0, offline=True)
    assert "<section" not in shown(nothing)
    assert "data-next" not in shown(nothing)
    assert "said earlier" in archive_page(nothing, context()).body.decode()


def test_each_bar_and_each_archive_is_a_link_with_a_name():
    text = shown(findings(*MEMENTOS))
    assert f'href="/.well-known/linkmend/mementos?miss={MISS_ID}&amp;year=2013"' in text
    assert "<title>2013: 2 (school 1, other 1)</title>" in text
    assert "archive=other" in text


def test_a_closer_look_lists_only_what_it_is_about():
    text = shown(findings(*MEMENTOS), view=TimeView(year=2013, archive="other"))
    assert MEMENTOS[2].url in text
    assert MEMENTOS[1].url not in text


def test_an_archived_error_is_said_to_be_one():
    assert "(an error page)" in shown(findings(replace(MEMENTOS[0], status=404)))


def test_queries_come_in_their_order_with_a_warning_results_and_an_outside_engine():
    ways = (
        Suggestion(kind="title", query="Home & more", doubtful=True),
        Suggestion(kind="keywords", query="rain"),
    )
    held = {"keywords": (an_alternative(),)}
    made = findings(suggestions=ways, held=held)
    text = shown(made, search_template="https://search.test/?q={searchTerms}")
    assert text.index('value="Home &amp; more"') < text.index('value="rain"')
    assert text.count("many pages have a title like this") == 1
    assert 'href="https://search.test/?q=Home%20%26%20more"' in text
    assert f'href="{an_alternative().url}"' in text
    assert "search.test" not in shown(made)
    assert "javascript:" not in shown(made, search_template="javascript:alert({searchTerms})")


def test_an_expert_sees_the_titles_and_which_one_is_taken():
    titles = ((MEMENTOS[0], "Home", True), (MEMENTOS[1], "", False))
    made = findings(
        *MEMENTOS,
        titles=titles,
        taken=a_copy(MEMENTOS[0]),
        suggestions=(Suggestion(kind="title", query="a"),),
    )
    text = shown(made)
    assert f'value="{key_of(MEMENTOS[0])}" checked' in text
    assert text.count(" checked") == 1
    assert "(says little)" in text
    assert "Fetch the missing titles" in text
    assert "Fetch the missing titles" not in shown(made, view=TimeView(titles=True))


def test_nothing_hostile_gets_through():
    bad = a_memento("20130301", url="javascript:alert(1)")
    made = findings(
        *MEMENTOS,
        bad,
        best=a_copy(title=HOSTILE),
        titles=((MEMENTOS[0], HOSTILE, False), (bad, "", False)),
        suggestions=(Suggestion(kind="title", query=HOSTILE),),
        held={"title": (an_alternative(title=HOSTILE), an_alternative(url="javascript:alert(1)"))},
    )
    for text in (
        shown(made, view=TimeView(archive=HOSTILE)),
        shown(made, view=TimeView(take=HOSTILE)),
        shown(made),
    ):
        assert "<script" not in text
        assert "javascript:" not in text
    assert "javascript:" not in str(as_json(replace(made, best=a_copy(bad))))


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_words_for_all_of_it_in_every_language(language):
    kinds = ("title", "keywords", "tags", "extended", "address")
    made = findings(
        *MEMENTOS, best=a_copy(), suggestions=tuple(Suggestion(kind=kind, query="a") for kind in kinds)
    )
    for view in (TimeView(), TimeView(year=2013), TimeView(year=2013, month=3)):
        assert archive_page(made, context(language, view=view)).status == 200


def test_what_is_remembered_is_in_the_repair_page_at_once():
    page = render(found(), a_context(findings=findings(*MEMENTOS, best=a_copy())))
    assert MEMENTOS[-1].url in page.body.decode()
    assert 'id="archives"' not in render(found(), a_context()).body.decode()


def test_machines_are_told_too():
    told = as_json(findings(*MEMENTOS, best=a_copy()))
    assert told["count"] == 3
    assert told["per_year"] == {"2010": 1, "2013": 2}
    assert told["best"]["title"] == "Water"
    assert told["archives"] == {"school": "answered"}
    assert told["list"][0]["datetime"] == "2010-03-01T00:00:00+00:00"
