from repair.growing.nightplan import TriedAddress, plan_night
from repair.growing.wants import Want
from tests.unit.repair.growing.made import FARMING, VOLCANOES, a_wanted_miss

NOW = 1_000_000.0


def a_want(*misses, topic=VOLCANOES, words=("lava",)):
    return Want(topic=topic, words=words, misses=misses)


def plan(*wants, held=(), tried=None, pages=100):
    return plan_night(
        wants,
        holds=frozenset(held).__contains__,
        tried=tried or {},
        site_of=lambda url: url.split("/")[2],
        now=NOW,
        pages=pages,
    )


def test_addresses_that_are_not_held_are_due_and_the_rest_of_the_night_is_a_crawl():
    lava, held = a_wanted_miss(), a_wanted_miss("http://a.test/held")
    (planned,) = plan(a_want(lava, held), held=["http://a.test/held"])
    assert (planned.due, planned.later, planned.crawl_pages) == ((lava,), 0, 99)


def test_address_that_was_tried_lately_waits_and_is_due_again_later():
    lava = a_wanted_miss()
    for next_try, due in ((NOW + 1, ()), (NOW - 1, (lava,))):
        (planned,) = plan(a_want(lava), tried={lava.url: TriedAddress(tries=1, next_try=next_try)})
        assert planned.due == due


def test_addresses_take_half_of_the_night_and_one_site_no_more_than_its_part():
    many = [a_wanted_miss(f"http://s{n}.test/") for n in range(30)]
    (planned,) = plan(a_want(*many), pages=20)
    assert (len(planned.due), planned.later) == (10, 20)
    one_site = [a_wanted_miss(f"http://a.test/{n}") for n in range(30)]
    (planned,) = plan(a_want(*one_site))
    assert len(planned.due) == 20


def test_crawls_share_by_what_was_missed():
    much = a_want(a_wanted_miss("", times=64))
    little = a_want(a_wanted_miss("", "soil", times=4), topic=FARMING)
    first, second = plan(much, little, pages=100)
    assert (first.crawl_pages, second.crawl_pages) == (80, 20)


def test_words_of_few_addresses_are_no_topic_to_crawl():
    violin = [a_wanted_miss(f"http://m{n}.test/", "violin") for n in range(3)]
    assert [each.crawl_pages for each in plan(a_want(*violin[:2], topic=None))] == [0]
    assert plan(a_want(*violin, topic=None))[0].crawl_pages > 0


def test_want_that_was_always_answered_needs_nothing():
    answered = a_wanted_miss("http://a.test/held", times=3, answered=3)
    assert plan(a_want(answered), held=[answered.url]) == ()


def test_plan_says_what_and_why():
    (planned,) = plan(a_want(a_wanted_miss(times=5, readers=3)))
    assert planned.why == "missed 5 times, 5 of them in vain; a topic of the school"
    assert "http://a.test/lava" in planned.steps[0]
    assert "missed 5 times by 3 readers" in planned.steps[0]
    assert planned.steps[-1] == "crawl up to 99 pages about Volcanoes"
