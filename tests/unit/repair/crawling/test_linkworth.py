from repair.crawling.classifier import learn_link_weights, learn_topic
from repair.crawling.frontier import FrontierLink
from repair.crawling.linkworth import HostRecord, LinkWorth
from repair.crawling.pagejudge import PageJudge
from repair.crawling.topics import Topic
from repair.model import Link
from tests.unit.repair.crawling.pages import farm_texts, other_texts


def a_link(anchor, probability=0.5, host="a.test"):
    link = FrontierLink(url=f"http://{host}/{anchor.replace(' ', '-')}", host=host)
    found = Link(target_url=link.url, anchor=anchor)
    link.note_parent(found, probability, belongs=probability >= 0.5)
    return link


def a_worth(hosts=None):
    judge = PageJudge(Topic(name="Farm"), learn_topic, positives=farm_texts(20), background=other_texts(40))
    judge.learn()
    return LinkWorth(judge, hosts or HostRecord(), learn_link_weights, learn_topic)


def weighed(worth, *links):
    worth.weigh(links)
    return [link.worth for link in links]


def test_likelier_pages_and_words_of_the_topic_make_a_link_worth_more():
    likely, unlikely = weighed(a_worth(), a_link("more", 0.9), a_link("more", 0.1))
    farming, opera = weighed(a_worth(), a_link("crop harvest"), a_link("opera king"))
    assert likely > unlikely
    assert farming > opera


def test_host_that_brought_good_pages_is_worth_more():
    hosts = HostRecord()
    for _ in range(10):
        hosts.note("good.test", belongs=True)
        hosts.note("bad.test", belongs=False)
    good, bad = weighed(a_worth(hosts), a_link("more", host="good.test"), a_link("more", host="bad.test"))
    assert good > bad
    assert hosts.share("bad.test") < hosts.share("new.test") < hosts.share("good.test")


def test_new_words_for_a_link_change_its_worth_as_if_they_had_been_there_at_first():
    worth, told_twice, told_once = a_worth(), a_link("crop"), a_link("crop")
    worth.weigh([told_twice])
    for link in (told_twice, told_once):
        said = Link(target_url=link.url, anchor="opera king", before="all about", after="harvest")
        link.note_parent(said, 0.9, belongs=True)
    worth.weigh([told_twice, told_once])
    assert told_twice.reading == told_once.reading
    assert told_twice.worth == told_once.worth


def test_worth_of_a_link_does_not_depend_on_the_links_beside_it():
    worth, many = a_worth(), [a_link(f"crop number {number}") for number in range(2_500)]
    together = weighed(worth, *many)
    assert [weighed(worth, link)[0] for link in (many[0], many[1_999], many[2_000])] == [
        together[0],
        together[1_999],
        together[2_000],
    ]


def test_outcomes_teach_which_links_are_good():
    """Here, against all appearances, links called "zebra" lead to pages of the topic."""
    worth = a_worth()
    for _ in range(3):
        for _ in range(20):
            worth.note_outcome(a_link("zebra"), belongs=True)
            worth.note_outcome(a_link("tiger"), belongs=False)
        worth.learn()
    zebra, tiger = weighed(worth, a_link("zebra stripe"), a_link("tiger stripe"))
    assert zebra > tiger + 0.2
