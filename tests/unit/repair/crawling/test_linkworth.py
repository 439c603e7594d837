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
