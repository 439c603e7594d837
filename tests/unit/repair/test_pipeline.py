import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from repair.collection.elsewhere import Confirmation, ConfirmedElsewhere, OtherSchool
from repair.collection.pins import Pins
from repair.evidence.gather import gather_local
from repair.evidence.hints import Hints
from repair.model import Click, Evidence, HeldCopy, Translation
from repair.opensearch.client import SearchUnavailable
from repair.pipeline import Repairer, local_sources
from repair.ranking.learned import LearnedRanker
from repair.ranking.rankers import stop_anchors
from repair.ranking.schoolmodel import NAME, save
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/old/roman-aqueducts.html"
LIBRARY = (
    a_document(
        "/water/aqueducts", title="Roman aqueducts", text="How the Romans brought water to their cities."
    ),
    a_document(
        "/rome",
        title="Rome",
        text="The city of Rome. Its aqueducts are famous.",
        links=[a_link(GONE, "aqueducts")],
    ),
    a_document("/cooking", title="Cooking", text="Soup and bread."),
    a_document("/old/", title="Old pages", text="A list."),
)


@pytest.fixture
def executor():
    with ThreadPoolExecutor(2, thread_name_prefix="repair") as executor:
        yield executor


@pytest.fixture
def collection(tmp_path):
    with a_collection(tmp_path, *LIBRARY) as collection:
        yield collection


@pytest.fixture
def repairer(collection, executor):
    return Repairer(collection, RepairSettings(), executor)


def _paths(found):
    return [alternative.url.removeprefix(SITE) for alternative in found.alternatives]


async def test_an_offered_page_comes_with_its_saved_translations(collection, repairer):
    page = a_document("/la/water/aqueducts", title="Aquae ductus", text="Romani aquam in urbem duxerunt.")
    collection.add(replace(page, language="la"), fetched_at=A_MOMENT)
    found = await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts", source_url=f"{SITE}/cooking"))
    best = found.alternatives[0]
    assert [(each.language, each.url) for each in best.translations] == [("la", f"{SITE}/la/water/aqueducts")]


@pytest.mark.parametrize(
    ("translation", "lost"),
    [("/la/water/aqueducts", f"{SITE}/la/water/aqueducts"), ("/la/water?token=6b3a55e0261b03", GONE)],
)
async def test_no_translation_leads_to_the_lost_page_or_to_an_address_with_a_secret(
    collection, repairer, translation, lost
):
    offered = collection.get(f"{SITE}/water/aqueducts")
    page = a_document(translation, title="Aquae ductus", text="Romani aquam in urbem duxerunt.")
    collection.add(replace(page, language="la"), fetched_at=A_MOMENT)
    named = Translation(language="la", url=f"{SITE}{translation}")
    again = a_document("/water/aqueducts", title=offered.title, text=offered.text, translations=(named,))
    collection.add(replace(again, language="en"), fetched_at=A_MOMENT)
    found = await repairer.repair(a_broken_link(lost, anchor="Roman aqueducts"))
    assert [each.translations for each in found.alternatives if each.url == offered.url] == [()]


async def test_the_lost_page_comes_first(repairer):
    found = await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts", source_url=f"{SITE}/cooking"))
    best = found.alternatives[0]
    assert (best.url, best.title, best.held, best.source) == (
        f"{SITE}/water/aqueducts",
        "Roman aqueducts",
        True,
        "local",
    )
    assert {"anchor", "title", "url", "inlinks", "same_site"} <= set(best.reasons)
    assert 0.5 < best.confidence <= 1.0
    assert any(span.marked and span.text.startswith("Roman") for span in best.snippet)


async def test_words_for_the_search_box_and_for_machines_are_given(repairer):
    found = await repairer.repair(a_broken_link(GONE, anchor="The Roman aqueducts", before="as in"))
    assert found.query == "The Roman aqueducts"
    assert found.keywords == ("roman", "aqueducts")
    assert found.queries["anchor"] == "The Roman aqueducts"
    assert found.queries["url"] == "roman aqueducts"
    assert found.queries["context"] == "as in The Roman aqueducts"


async def test_without_an_anchor_the_words_are_those_of_the_link_graph(repairer):
    for source in (f"{SITE}/rome", f"{SITE}/cooking", None):
        found = await repairer.repair(a_broken_link(f"{SITE}/old/roman-aqueducts.html", source_url=source))
        assert found.link.anchor == "aqueducts"


async def test_the_missing_page_and_the_page_of_the_click_are_never_offered(repairer, collection):
    collection.add(a_document(GONE, title="Roman aqueducts"), fetched_at=A_MOMENT)
    collection.commit()
    link = a_broken_link(
        "HTTP://school.test:80/old/roman-aqueducts.html#part",
        anchor="Roman aqueducts",
        source_url=f"{SITE}/water/aqueducts",
    )
    assert not {"/old/roman-aqueducts.html", "/water/aqueducts"} & set(_paths(await repairer.repair(link)))


async def test_pages_with_the_same_content_are_offered_once(repairer, collection):
    for path in ("/mirror/aqueducts", "/mirror2/aqueducts"):
        collection.add(a_document(path, title=LIBRARY[0].title, text=LIBRARY[0].text), fetched_at=A_MOMENT)
    collection.commit()
    found = await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts"))
    assert [a.title for a in found.alternatives].count("Roman aqueducts") == 1


_LONG_TEXT = " ".join(f"Aqueduct number {number} brought water to town {number * 7}." for number in range(60))


async def _offered_beside(collection, executor, *documents):
    """The titles offered for the lost page, once fingerprints of all pages are made."""
    for document in documents:
        collection.add(document, fetched_at=A_MOMENT)
    collection.commit()
    hints = Hints(collection, RepairSettings())
    while hints.catch_up():
        pass
    repairer = Repairer(collection, RepairSettings(), executor, hints=hints)
    found = await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts"))
    return [alternative.title for alternative in found.alternatives]


async def test_pages_that_say_nearly_the_same_under_one_title_are_offered_once(collection, executor):
    copies = [
        a_document(
            f"/copy{number}/aqueducts", title="Roman aqueducts list", text=f"{_LONG_TEXT} Copy {number}."
        )
        for number in range(3)
    ]
    titles = await _offered_beside(collection, executor, *copies)
    assert titles.count("Roman aqueducts list") == 1


async def test_parts_of_a_series_that_resemble_each_other_are_all_offered(collection, executor):
    parts = [
        a_document(f"/part{number}", title=f"Roman aqueducts {number}", text=f"{_LONG_TEXT} Part {number}.")
        for number in (1, 2)
    ]
    titles = await _offered_beside(collection, executor, *parts)
    assert {"Roman aqueducts 1", "Roman aqueducts 2"} <= set(titles)


@pytest.mark.parametrize(
    "link",
    [
        a_broken_link("http://elsewhere.test/quantum-chromodynamics", anchor="Quantum chromodynamics"),
        a_broken_link("http://127.0.0.1/", anchor="click here"),
        a_broken_link("http://127.0.0.1/"),
        a_broken_link("nonsense", anchor="\ud800 *:* AND (", before="\x00", after="'; DROP TABLE pages"),
        a_broken_link("http://elsewhere.test/" + "x" * 7_000, anchor="y" * 100_000),
    ],
)
async def test_when_nothing_matches_nothing_is_offered(repairer, link):
    found = await repairer.repair(link)
    assert found.alternatives == ()
    assert found.copy_at is None


async def test_where_nothing_fits_there_are_search_results_for_the_words_of_the_link(repairer, monkeypatch):
    monkeypatch.setattr(repairer, "_find_own", lambda link, query: ())
    link = a_broken_link("http://elsewhere.test/index", anchor="Famous soup")
    found = await repairer.repair(link)
    assert found.alternatives == ()
    assert {page.url for page in found.searched} == {f"{SITE}/rome", f"{SITE}/cooking"}
    assert (await repairer.repair(a_broken_link("http://elsewhere.test/index", anchor="page"))).searched == ()


async def test_where_something_fits_nothing_is_searched(repairer):
    found = await repairer.repair(a_broken_link(GONE))
    assert found.alternatives
    assert found.searched == ()


async def test_anchors_that_say_nothing_do_not_count(repairer, collection):
    collection.add(a_document("/here", title="Click here"), fetched_at=A_MOMENT)
    collection.commit()
    found = await repairer.repair(a_broken_link("http://elsewhere.test/7", anchor="Click here"))
    assert "/here" not in _paths(found)


async def test_the_answer_has_the_date_of_a_saved_copy_or_none(repairer, collection):
    copy = HeldCopy(url=GONE, content_type="text/html", body=b"x", fetched_at=A_MOMENT)
    collection.add(a_document(GONE), fetched_at=A_MOMENT, copy=copy)
    day = A_MOMENT.replace(hour=0)  # to the second it would tell when somebody read it
    assert (await repairer.repair(a_broken_link(GONE))).copy_at == day
    assert (await repairer.repair(a_broken_link(f"{SITE}/rome"))).copy_at is None


async def test_shorter_urls_are_offered_when_they_are_saved(repairer):
    assert (await repairer.repair(a_broken_link(GONE))).shortened == (f"{SITE}/old/",)


async def test_no_more_than_the_settings_ask_for_are_listed(collection, executor):
    for number in range(6):
        collection.add(a_document(f"/{number}", title=f"Roman aqueducts {number}"), fetched_at=A_MOMENT)
    collection.commit()
    repairer = Repairer(collection, RepairSettings(alternatives=3), executor)
    assert len((await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts"))).alternatives) == 3


async def test_an_empty_collection_gives_an_empty_answer(tmp_path, executor):
    with a_collection(tmp_path / "empty") as collection:
        found = await Repairer(collection, RepairSettings(), executor).repair(a_broken_link(anchor="Rome"))
        assert found.alternatives == ()
        assert found.query == "Rome"


async def test_nothing_blocking_runs_on_the_event_loop(collection, executor, monkeypatch):
    threads = set()
    for name in ("search", "inlinks", "get", "holds", "document_frequency", "link_between"):
        method = getattr(collection, name)

        def watched(*args, _method=method, **known):
            threads.add(threading.current_thread().name.rpartition("_")[0])
            return _method(*args, **known)

        monkeypatch.setattr(collection, name, watched)
    repairer = Repairer(collection, RepairSettings(), executor)
    await repairer.repair(a_broken_link(GONE, source_url=f"{SITE}/rome"))
    await repairer.repair(a_broken_link(GONE), click=Click())
    await repairer.search("rome", 5)
    assert threads == {"repair"}


async def test_a_short_time_limit_skips_slow_sources(collection, executor):
    class Slow:
        name = "slow"

        async def evidence(self, link):
            await asyncio.sleep(60)

    repairer = Repairer(collection, RepairSettings(deadline_s=60.0), executor, further_sources=(Slow(),))
    async with asyncio.timeout(10):
        found = await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts"), within_s=0.4)
    assert _paths(found)[0] == "/water/aqueducts"


async def test_a_click_gives_the_source_page_and_the_anchor(repairer):
    click = Click(referrer=f"{SITE}/", recent=(f"{SITE}/cooking", f"{SITE}/rome"))
    found = await repairer.repair(a_broken_link(GONE), click=click)
    assert (found.link.source_url, found.link.anchor) == (f"{SITE}/rome", "aqueducts")
    assert found == await repairer.repair(found.link)


async def test_a_repair_is_one_executor_task(collection):
    class Counting(ThreadPoolExecutor):
        handed = 0

        def submit(self, *work, **known):
            self.handed += 1
            return super().submit(*work, **known)

    with Counting(1) as threads:
        click = Click(referrer=f"{SITE}/rome")
        await Repairer(collection, RepairSettings(), threads).repair(a_broken_link(GONE), click=click)
        assert threads.handed == 1


async def test_further_sources_are_used_and_may_fail(collection, executor, caplog):
    class Archive:
        name = "inlinks"

        async def evidence(self, link):
            return Evidence(source="inlinks", terms=(("cook", 1.0),), text="cooking")

    class Broken:
        name = "broken"

        async def evidence(self, link):
            raise OSError("no network")

    repairer = Repairer(collection, RepairSettings(), executor, further_sources=(Broken(), Archive()))
    assert "/cooking" in _paths(await repairer.repair(a_broken_link("http://127.0.0.1/1")))
    assert "evidence source broken: failed" in caplog.text


async def test_users_may_search_the_saved_pages(repairer):
    found = await repairer.search("Aqueducts!", 5)
    assert [alternative.title for alternative in found] == ["Roman aqueducts", "Rome"]
    assert found[0].confidence == 1.0
    assert any(span.marked for span in found[1].snippet)
    assert await repairer.search("", 5) == ()
    assert len(await repairer.search("rome romans cooking", 1)) == 1


async def _source(repairer, url, **click):
    """Where a click is taken to have come from, and the words of the link there."""
    link = (await repairer.repair(a_broken_link(url), click=Click(**click))).link
    return link.source_url, link.anchor


async def test_the_source_is_the_exact_referer_that_has_the_link(repairer):
    assert await _source(repairer, GONE, referrer=f"{SITE}/rome") == (f"{SITE}/rome", "aqueducts")


async def test_otherwise_the_source_is_the_clients_latest_page_with_the_link(repairer, collection):
    collection.add(a_document("/second", links=[a_link(GONE, "here it is")]), fetched_at=A_MOMENT)
    recent = (f"{SITE}/cooking", f"{SITE}/second", f"{SITE}/rome")
    source = await _source(repairer, GONE, referrer="http://school.test/", recent=recent)
    assert source == (f"{SITE}/second", "here it is")


async def test_otherwise_the_source_is_any_page_with_the_link_preferably_of_the_referer_origin(
    repairer, collection
):
    collection.add(
        a_document("http://other.test/page", links=[a_link(GONE, "from afar")]), fetched_at=A_MOMENT
    )
    assert (await _source(repairer, GONE))[0] == f"{SITE}/rome"
    assert (await _source(repairer, GONE, referrer="http://other.test/"))[0] == "http://other.test/page"


@pytest.mark.parametrize(
    ("referrer", "source"),
    [
        ("http://a.test/page", "http://a.test/page"),
        ("http://a.test/", None),
        ("http://elsewhere.test/", "http://elsewhere.test/"),
        ("nonsense", None),
        (None, None),
    ],
)
async def test_otherwise_the_source_is_the_referer_if_it_names_a_page(repairer, referrer, source):
    assert await _source(repairer, "http://elsewhere.test/x", referrer=referrer) == (source, "")


@pytest.fixture
def hints(collection):
    return Hints(collection, RepairSettings())


async def test_a_page_found_by_moves_of_its_neighbours_is_offered_as_moved(collection, executor, hints):
    hints.note_redirect(f"{SITE}/old/cakes", f"{SITE}/new/cakes")
    collection.add(a_document("/new/pies", title="Dough"), fetched_at=A_MOMENT)
    repairer = Repairer(collection, RepairSettings(), executor, hints=hints)
    (offered,) = (await repairer.repair(a_broken_link(f"{SITE}/old/pies"))).alternatives
    assert (offered.url, offered.source, offered.reasons[0]) == (f"{SITE}/new/pies", "local", "moved")


@pytest.mark.parametrize("ranking", ["plain", "decision", "learned"])
async def test_user_choices_are_neither_added_nor_put_first(collection, executor, hints, ranking):
    repairer = Repairer(collection, RepairSettings(ranking=ranking), executor, hints=hints)
    link = a_broken_link(GONE, anchor="Roman aqueducts", source_url=f"{SITE}/start")
    before = await repairer.repair(link)
    assert before.alternatives[0].url == f"{SITE}/water/aqueducts"
    for number in range(30):
        hints.note_choice(GONE, f"{SITE}/cooking", datetime.now(UTC), network=str(number))
    assert hints.favourites(GONE)
    after = await repairer.repair(link)
    assert [each.url for each in after.alternatives] == [each.url for each in before.alternatives]
    assert after.alternatives[0].confidence == before.alternatives[0].confidence
    assert after.queries == before.queries


async def test_user_choices_decide_between_equally_good_pages(collection, executor, hints):
    for name in ("one", "two"):
        collection.add(
            a_document(f"/{name}", title="Wells and springs", text=f"Springs. {name}"), fetched_at=A_MOMENT
        )
    collection.commit()
    repairer = Repairer(collection, RepairSettings(ranking="plain"), executor, hints=hints)
    link = a_broken_link(f"{SITE}/lost", anchor="Wells and springs")
    first, second = (await repairer.repair(link)).alternatives[:2]
    for number in range(3):
        hints.note_choice(link.url, second.url, datetime.now(UTC), network=str(number))
    chosen, other = (await repairer.repair(link)).alternatives[:2]
    assert (chosen.url, chosen.source, other.url) == (second.url, "shared", first.url)
    assert chosen.confidence == second.confidence


def tell(collection, target, *, url=GONE, is_district=False):
    """Another school, or the district, says that a page is to be read instead."""
    school = OtherSchool(school=9 if is_district else 1, name="School A", is_district=is_district)
    said = Confirmation(school=school.school, kind="pin", key=b"k", url=url, target=target)
    ConfirmedElsewhere(collection.database).replace_school(school, [said])


async def test_what_another_school_confirmed_stands_behind_what_is_likely_and_says_who(repairer, collection):
    link = a_broken_link(GONE, anchor="Roman aqueducts")
    before = (await repairer.repair(link)).alternatives
    tell(collection, "http://other.example/aqueducts")
    after = (await repairer.repair(link)).alternatives
    likely = [each.url for each in before if each.confidence >= 0.6]
    assert likely
    assert [each.url for each in after[: len(likely) + 1]] == [*likely, "http://other.example/aqueducts"]
    offered = after[len(likely)]
    assert (offered.source, offered.reasons, offered.told_by) == ("shared", ("elsewhere",), ("School A",))
    assert offered.confidence < 0.6
    assert [each for each in after if each is not offered] == list(before[: len(after) - 1])


async def test_what_another_school_confirmed_is_named_where_it_is_in_the_list_already(repairer, collection):
    link = a_broken_link(GONE, anchor="Roman aqueducts")
    before = (await repairer.repair(link)).alternatives
    tell(collection, before[-1].url)
    after = (await repairer.repair(link)).alternatives
    assert [(each.url, each.confidence) for each in after] == [(each.url, each.confidence) for each in before]
    assert (after[-1].source, after[-1].told_by) == ("shared", ("School A",))


async def test_what_another_school_confirmed_pushes_no_likely_page_out_of_a_short_list(collection, executor):
    link = a_broken_link(GONE, anchor="Roman aqueducts")
    tell(collection, "http://other.example/aqueducts")
    repairer = Repairer(collection, RepairSettings(alternatives=1), executor)
    (only,) = (await repairer.repair(link)).alternatives
    assert only.url != "http://other.example/aqueducts"


async def test_where_nothing_is_found_here_another_schools_page_is_offered(repairer, collection):
    link = a_broken_link("http://nowhere.example/zzz")
    assert (await repairer.repair(link)).alternatives == ()
    tell(collection, f"{SITE}/rome", url=link.url)
    (offered,) = (await repairer.repair(link)).alternatives
    assert (offered.url, offered.held) == (f"{SITE}/rome", True)
    assert offered.title


async def test_a_pin_of_the_district_comes_first_unless_the_school_has_its_own(repairer, collection):
    link = a_broken_link(GONE, anchor="Roman aqueducts")
    tell(collection, "http://other.example/aqueducts", is_district=True)
    first = (await repairer.repair(link)).alternatives[0]
    assert (first.url, first.reasons, first.confidence) == (
        "http://other.example/aqueducts",
        ("pinned_district",),
        1.0,
    )
    Pins(collection.database).pin(GONE, f"{SITE}/rome", "", A_MOMENT)
    first, *others = (await repairer.repair(link)).alternatives
    assert (first.url, first.reasons) == (f"{SITE}/rome", ("pinned",))
    assert ("elsewhere",) in [each.reasons for each in others]


async def test_a_lost_page_with_a_saved_copy_is_found_under_its_new_url(collection, executor, hints):
    text = "Channels of stone carried water for miles over valleys. " * 5
    collection.add(a_document("/x1", title="Stone channels", text=text), fetched_at=A_MOMENT)
    collection.add(a_document("/x2", title="Stone channels", text=text + "More."), fetched_at=A_MOMENT)
    collection.commit()
    while hints.catch_up():
        pass
    found = await Repairer(collection, RepairSettings(), executor, hints=hints).repair(
        a_broken_link(f"{SITE}/x1")
    )
    assert found.query == found.queries["copy"] == "Stone channels"
    assert found.alternatives[0].url == f"{SITE}/x2"
    assert {"same_text", "copy"} <= set(found.alternatives[0].reasons)


async def test_tags_and_neighbourhood_are_in_the_json_evidence(collection, executor, hints):
    hints.tags.attach(GONE, "Antiquity")
    found = await Repairer(collection, RepairSettings(), executor, hints=hints).repair(a_broken_link(GONE))
    assert found.queries["tags"] == "antiquity"
    assert found.queries["neighbourhood"] == "aqueduct"


async def test_the_decision_procedure_can_be_chosen(collection, executor):
    repairer = Repairer(collection, RepairSettings(ranking="decision"), executor)
    found = await repairer.repair(a_broken_link(GONE, anchor="Roman aqueducts"))
    assert found.alternatives[0].url == f"{SITE}/water/aqueducts"
    assert found.alternatives[0].confidence == 1.0
    assert (await repairer.repair(a_broken_link(f"{SITE}/7", anchor="here"))).alternatives == ()


async def test_configured_stop_titles_name_no_lost_page(collection, executor):
    collection.add(
        a_document("/x", title="Hill School", text="Marmots of the mountains."), fetched_at=A_MOMENT
    )
    for stop_titles, named in (((), True), (("hill school",), False)):
        repairer = Repairer(collection, RepairSettings(stop_titles=stop_titles), executor)
        found = await repairer.repair(a_broken_link(f"{SITE}/x"))
        assert ("Hill School" in found.queries["copy"]) is named


SILENT = RepairSettings(stop_titles=("hill school",), stop_anchors=("worksheet",))
FILES = (
    a_document("/lessons/birds", title="A guide to birds", text="Feathers, nests and eggs of birds."),
    a_document("/lessons/rocks", title="A guide to rocks", text="Granite, basalt and other rocks."),
    a_document("/help/pdf", title="What is a pdf", text="How to open files: pdf, docx and jpg."),
    a_document("/start", links=[a_link("/files/h7.pdf", "guide to birds", before="print")]),
)


@pytest.mark.parametrize(
    ("path", "known", "expected"),
    [
        ("/files/birds.pdf", {}, "/lessons/birds"),
        ("/files/Rocks-guide.DOCX", {}, "/lessons/rocks"),
        ("/pictures/rocks.jpg", {}, "/lessons/rocks"),
        ("/files/h7.pdf", {}, "/lessons/birds"),
        ("/files/8841.pdf", {"anchor": "rocks"}, "/lessons/rocks"),
        ("/files/guide.pdf", {"before": "granite and basalt are rocks"}, "/lessons/rocks"),
        ("/files/guide.pdf", {"after": "to nests and eggs of birds"}, "/lessons/birds"),
    ],
    ids=["name", "name and case", "picture", "words of other links", "anchor", "before", "after"],
)
async def test_lost_files_are_found_by_their_names_and_anchors(tmp_path, executor, path, known, expected):
    with a_collection(tmp_path, *FILES) as collection:
        found = await Repairer(collection, RepairSettings(), executor).repair(
            a_broken_link(SITE + path, **known)
        )
    assert _paths(found)[0] == expected
    assert "/help/pdf" not in _paths(found)


def test_the_learned_ranking_uses_configured_stop_anchors(collection):
    collection.add(
        a_document("/x", title="Hill School", text="Marmots of the mountains."), fetched_at=A_MOMENT
    )
    link = a_broken_link(f"{SITE}/x", anchor="Worksheet")
    for settings, name in ((RepairSettings(), "hillschool"), (SILENT, "marmotsmountains")):
        evidence = gather_local(link, local_sources(collection, settings, None), deadline_s=5.0)
        ranker = LearnedRanker(collection, None, is_stop_anchor=stop_anchors(settings, None))
        _, _, query_features = ranker.matrix(link, evidence)
        assert query_features.copy_name == name
        assert query_features.anchor_name == ("" if settings is SILENT else "worksheet")
        assert ("hill" in query_features.terms["copy"]) is (settings is not SILENT)
        assert ("anchor" in query_features.terms) is (settings is not SILENT)


def test_all_that_ranking_sees_of_a_click_is_in_the_placed_link(repairer):
    roman = Click(referrer=f"{SITE}/", recent=(f"{SITE}/cooking", f"{SITE}/rome"))
    other = Click(referrer=f"{SITE}/", recent=(f"{SITE}/rome", "http://private.test/diary"))
    placed = repairer.place(a_broken_link(GONE), roman)
    assert placed == repairer.place(a_broken_link(GONE), other)
    assert (placed.link.source_url, placed.link.anchor) == (f"{SITE}/rome", "aqueducts")
    elsewhere = Click(referrer="http://elsewhere.test/page")
    lost = a_broken_link("http://elsewhere.test/x")
    assert repairer.place(lost, elsewhere) != repairer.place(lost, roman)


async def test_a_placed_link_is_ranked_as_with_its_click(repairer):
    click = Click(recent=(f"{SITE}/rome",))
    placed = repairer.place(a_broken_link(GONE), click)
    outcome = await repairer.rank(placed.link)
    assert outcome.is_whole
    assert outcome.found == await repairer.repair(a_broken_link(GONE), click=click)


async def test_a_ranking_without_all_its_evidence_is_not_whole(collection, executor):
    class Broken:
        name = "broken"

        async def evidence(self, link):
            raise OSError("no network")

    repairer = Repairer(collection, RepairSettings(), executor, further_sources=(Broken(),))
    assert not (await repairer.rank(a_broken_link(GONE))).is_whole


EVENTS = {
    "page": lambda collection, hints: collection.add(a_document("/new"), fetched_at=A_MOMENT),
    "removal": lambda collection, hints: collection.remove(f"{SITE}/cooking"),
    "choice": lambda collection, hints: hints.note_choice(GONE, f"{SITE}/rome", A_MOMENT, network="a"),
    "forgotten choice": lambda collection, hints: hints.forget(f"{SITE}/liked"),
    "pin": lambda collection, hints: Pins(collection.database).pin(GONE, f"{SITE}/rome", "", A_MOMENT),
    "move": lambda collection, hints: hints.note_redirect(f"{SITE}/a", f"{SITE}/b"),
    "index": lambda collection, hints: collection.commit(),
    "model": lambda collection, hints: save(collection.database.path.parent / NAME, b"{}"),
}


@pytest.mark.parametrize("event", EVENTS)
def test_whatever_may_change_a_ranking_changes_the_state(collection, executor, hints, event):
    collection.add(a_document("/pending"), fetched_at=A_MOMENT)
    hints.note_choice(f"{SITE}/liked", f"{SITE}/rome", A_MOMENT, network="a")
    repairer = Repairer(collection, RepairSettings(), executor, hints=hints)
    link, click = a_broken_link(GONE), Click()
    before = repairer.place(link, click)
    assert repairer.place(link, click) == before
    EVENTS[event](collection, hints)
    assert repairer.place(link, click).state != before.state


@pytest.mark.parametrize(
    ("click", "source", "guessed"),
    [
        ({"referrer": f"{SITE}/rome"}, f"{SITE}/rome", False),
        ({"referrer": f"{SITE}/", "recent": (f"{SITE}/rome",)}, f"{SITE}/rome", False),
        ({"recent": (f"{SITE}/rome",)}, f"{SITE}/rome", True),
        ({}, f"{SITE}/rome", True),
        ({"recent": (f"{SITE}/rome",), "typed": True}, None, False),
    ],
    ids=["page named", "site named", "opened lately", "any page with the link", "typed"],
)
async def test_a_source_that_the_browser_did_not_name_is_a_guess(repairer, click, source, guessed):
    link = (await repairer.repair(a_broken_link(GONE), click=Click(**click))).link
    assert (link.source_url, link.source_guessed) == (source, guessed)


async def test_the_source_of_a_frame_is_the_latest_page_of_the_site_around_it(repairer):
    frame, around = "http://video.test/embed/1", ("http://other.test/x", f"{SITE}/cooking", f"{SITE}/rome")
    link = (await repairer.repair(a_broken_link(frame), click=Click(referrer=f"{SITE}/", recent=around))).link
    assert (link.source_url, link.source_guessed) == (f"{SITE}/cooking", True)


def _fails(link, query):
    raise SearchUnavailable("no answer")


@pytest.mark.parametrize(("find", "is_whole"), [(_fails, False), (lambda link, query: (), True)])
async def test_where_no_further_pages_are_found_those_of_the_collection_are_offered(
    repairer, collection, executor, find, is_whole
):
    link = a_broken_link(GONE, anchor="Roman aqueducts")
    more = Repairer(collection, RepairSettings(), executor, find=find)
    outcome = await more.rank(link)
    assert (outcome.found, outcome.is_whole) == ((await repairer.rank(link)).found, is_whole)
    assert outcome.found.alternatives
