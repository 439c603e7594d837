import pytest

from repair.evaluation.schoolterm import TermPlan, TermWeb, simulate_term
from repair.evaluation.simulatedweb import SimulatedTopic, SimulatedWeb
from repair.model import Document, Link
from tests.unit.repair.crawling.pages import FARM, OTHER, a_text

PLAN = TermPlan(
    nights=3,
    topics=2,
    readers=30,
    clicks=10,
    missing=0.3,
    held_of_topic=8,
    held_others=10,
    night_pages=12,
    night_bytes=20_000,
)


@pytest.fixture(scope="module")
def world():
    """Two topics of forty pages that link to each other."""
    documents, topics = {}, []
    for name, about in (("Farming", FARM), ("Other", OTHER)):
        addresses = [f"http://web.test/{name.lower()}/{number}" for number in range(40)]
        for number, url in enumerate(addresses):
            links = tuple(
                Link(target_url=addresses[(number * 7 + step) % 40], anchor=a_text(about, f"{step}", 3))
                for step in range(1, 9)
            )
            text = a_text(about, f"{name} {number}", 150)
            documents[url] = Document(url=url, title=f"{name} {number}", text=text, links=links)
        topics.append(SimulatedTopic(name=name, pages=frozenset(addresses)))
    return TermWeb(SimulatedWeb(documents, topics), PLAN)


def test_clicks_lead_from_held_pages_to_pages_that_were_not_held(world):
    held = set(world.held)
    clicks = [click for day in world.days for click in day]
    assert len(world.days) == PLAN.nights + 1
    assert all(click.source in held and click.target not in held for click in clicks)
    assert 0.2 < len(clicks) / (PLAN.readers * PLAN.clicks * len(world.days)) < 0.4


def test_dead_page_can_be_fetched_from_the_night_on_which_it_comes_back(world):
    url, night = next((url, night) for url, night in world.back_on.items() if night <= PLAN.nights)
    assert not world.is_there(url, night - 1)
    assert world.is_there(url, night)


@pytest.mark.slow
def test_school_that_grows_answers_more_and_more_of_its_misses(world, tmp_path):
    days = {arm: list(simulate_term(world, arm, tmp_path / arm)) for arm in ("nothing", "topics", "growing")}
    assert [day.received for day in days["nothing"]] == [0] * 4
    assert days["nothing"][-1].right == 0
    grown = days["growing"]
    assert grown[-1].right / grown[-1].misses > 0.3
    assert grown[-1].right > days["topics"][-1].right
    assert grown[-1].received <= days["topics"][-1].received + PLAN.night_bytes
