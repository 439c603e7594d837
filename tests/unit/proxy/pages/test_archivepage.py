"""proxy.pages.archivepage, findings and timelinks: what users and machines see of archived versions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proxy.pages.archivefindings import ArchiveFindings, as_json, key_of
from proxy.pages.archivepage import ArchiveContext, archive_page, archive_part
from proxy.pages.language import LANGUAGES, catalogue
from proxy.pages.repairpage import render
from proxy.portal.timeparameters import TimeView
from repair.memento.model import ArchiveAnswer, ArchiveOutcome, MementoCopy, merge_answers
from repair.model import Document
from repair.newversion import Suggestion
from tests.archiving import LOST, NOW, a_memento
from tests.make import a_broken_link, a_page
from tests.offers import MISS_ID, a_context, an_alternative, found

HOSTILE = '"><script>alert(1)</script>'
MEMENTOS = (a_memento("20100301"), a_memento("20130301"), a_memento("20130705", archive="other"))
SAID_AT = datetime.fromtimestamp(NOW, UTC)


def a_copy(memento=MEMENTOS[-1], title="Water"):
    return MementoCopy(memento=memento, page=a_page(), document=Document(url=LOST, title=title, text="rain"))


def findings(*mementos, outcome=ArchiveOutcome.ANSWERED, **known):
    answers = [ArchiveAnswer(archive="school", outcome=outcome, said_at=SAID_AT, mementos=mementos)]
    known = {"version": 1, "finished": True, **known}
    return ArchiveFindings(link=a_broken_link(url=LOST), found=merge_answers(LOST, answers), **known)


def context(language="en", **known):
    return ArchiveContext(texts=catalogue(language), miss_id=MISS_ID, now=SAID_AT, **known)


def template_values(made, **known):
    return archive_part(made, context(**known)).body.decode()


def test_the_last_good_copy_comes_first_then_the_graph_then_the_list():
    text = template_values(findings(*MEMENTOS, best=a_copy()))
    places = [text.index(part) for part in ('class="last"', 'class="graph"', 'class="plain mementos')]
    assert places == sorted(places)
    assert MEMENTOS[-1].url in text
    assert "Saved on 5 July 2013 by other." in text


def test_fragment_is_readable_only_from_the_sandbox():
    headers = dict(archive_part(findings(), context()).headers)
    assert headers["Access-Control-Allow-Origin"] == "null"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in dict(archive_page(findings(), context()).headers)


def test_while_archives_are_queried_the_page_has_a_polling_address():
    assert f"miss={MISS_ID}&amp;part=1&amp;seen=4" in template_values(findings(version=4, finished=False))
    assert "data-next" not in template_values(findings())


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"version": 0, "finished": False}, "Search web archives"),
        ({"finished": False}, "Searching web archives"),
        ({}, "No archived version was found."),
        ({"outcome": ArchiveOutcome.LATE}, "Web archives did not answer: school."),
    ],
)
def test_progress_of_archive_queries_is_shown(known, words):
    assert words in template_values(findings(**known))


def test_one_silent_archive_is_named_beside_the_answer_of_the_others():
    answers = [
        ArchiveAnswer(archive="school", outcome=ArchiveOutcome.NOTHING, said_at=SAID_AT),
        ArchiveAnswer(archive="other", outcome=ArchiveOutcome.BROKEN, said_at=SAID_AT),
    ]
    text = template_values(replace(findings(), found=merge_answers(LOST, answers)))
    assert "No archived version was found. No answer from: other." in text


def test_without_queries_only_known_versions_are_shown():
    assert "while offline" in template_values(findings(*MEMENTOS, offline=True))
    nothing = findings(version=0, offline=True)
    assert "<section" not in template_values(nothing)
    assert "data-next" not in template_values(nothing)
    assert "while offline" in archive_page(nothing, context()).body.decode()


def test_each_bar_and_each_archive_is_a_link_with_a_name():
    text = template_values(findings(*MEMENTOS))
    assert f'href="/.well-known/linkmend/mementos?miss={MISS_ID}&amp;year=2013"' in text
    assert "<title>2013: 2 (school 1, other 1)</title>" in text
    assert "archive=other" in text


def test_zoomed_view_lists_only_its_mementos():
    text = template_values(findings(*MEMENTOS), view=TimeView(year=2013, archive="other"))
    assert MEMENTOS[2].url in text
    assert MEMENTOS[1].url not in text


def test_archived_error_is_labelled():
    assert "(error page)" in template_values(findings(replace(MEMENTOS[0], status=404)))


def test_queries_come_in_their_order_with_a_warning_results_and_an_outside_engine():
    ways = (
        Suggestion(kind="title", query="Home & more", doubtful=True),
        Suggestion(kind="keywords", query="rain"),
    )
    held = {"keywords": (an_alternative(),)}
    made = findings(suggestions=ways, held=held)
    text = template_values(made, search_template="https://search.test/?q={searchTerms}")
    assert text.index('value="Home &amp; more"') < text.index('value="rain"')
    assert text.count("many pages have a title like this") == 1
    assert 'href="https://search.test/?q=Home%20%26%20more"' in text
    assert f'href="{an_alternative().url}"' in text
    assert "search.test" not in template_values(made)
    assert "javascript:" not in template_values(made, search_template="javascript:alert({searchTerms})")


def test_an_expert_sees_the_titles_and_which_one_is_taken():
    titles = ((MEMENTOS[0], "Home", True), (MEMENTOS[1], "", False))
    made = findings(
        *MEMENTOS,
        titles=titles,
        taken=a_copy(MEMENTOS[0]),
        suggestions=(Suggestion(kind="title", query="a"),),
    )
    text = template_values(made)
    assert f'value="{key_of(MEMENTOS[0])}" checked' in text
    assert text.count(" checked") == 1
    assert "(too general)" in text
    assert "Fetch the missing titles" in text
    assert "Fetch the missing titles" not in template_values(made, view=TimeView(titles=True))


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
        template_values(made, view=TimeView(archive=HOSTILE)),
        template_values(made, view=TimeView(take=HOSTILE)),
        template_values(made),
    ):
        assert "<script" not in text
        assert "javascript:" not in text
    assert "javascript:" not in str(as_json(replace(made, best=a_copy(bad))))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_exists_in_every_language(language):
    kinds = ("title", "keywords", "tags", "extended", "address")
    made = findings(
        *MEMENTOS, best=a_copy(), suggestions=tuple(Suggestion(kind=kind, query="a") for kind in kinds)
    )
    for view in (TimeView(), TimeView(year=2013), TimeView(year=2013, month=3)):
        assert archive_page(made, context(language, view=view)).status == 200


def test_known_versions_are_in_the_repair_page_at_once():
    page = render(found(), a_context(findings=findings(*MEMENTOS, best=a_copy())))
    assert MEMENTOS[-1].url in page.body.decode()
    assert 'id="archives"' not in render(found(), a_context()).body.decode()


def test_json_contains_archived_versions():
    told = as_json(findings(*MEMENTOS, best=a_copy()))
    assert told["count"] == 3
    assert told["per_year"] == {"2010": 1, "2013": 2}
    assert told["best"]["title"] == "Water"
    assert told["archives"] == {"school": "answered"}
    assert told["list"][0]["datetime"] == "2010-03-01T00:00:00+00:00"
