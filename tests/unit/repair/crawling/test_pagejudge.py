from repair.crawling.classifier import learn_topic
from repair.crawling.pagejudge import BELONGS, PageJudge, TermOdds, TopicWords
from repair.crawling.termcodes import TextBatch, Vocabulary
from repair.crawling.topics import Topic
from tests.unit.repair.crawling.pages import farm_texts, other_texts

TOPIC = Topic(name="Farm", words=("soil", "crop"), subtopics=("cattle",))


def note(judge, url, terms, probability):
    judge.note_page(url, judge.vocabulary.count(terms), probability)


def test_before_anything_is_learnt_the_words_of_the_topic_decide():
    judge = PageJudge(TOPIC, learn_topic, background=other_texts(10))
    assert not judge.learn()
    assert judge.judge(["farm", "soil", "crop"] * 5) > BELONGS > judge.judge(other_texts(1)[0])
    assert judge.read_links(TextBatch([judge.vocabulary.count(["soil"])])) == [0.0]


def test_page_about_one_subtopic_matches_the_topic():
    assert TopicWords(TOPIC, ()).score(["cattl"] * 10) > 0.8


def test_classifier_takes_over_from_twenty_examples_of_each_kind():
    judge = PageJudge(TOPIC, learn_topic, positives=farm_texts(19), background=other_texts(40))
    assert not judge.learn()
    note(judge, "http://a.test/", farm_texts(1, start=30)[0], 0.9)
    assert judge.learn()
    assert judge.judge(["harvest", "plough", "manure", "weed"] * 5) > BELONGS


def test_it_learns_again_only_when_there_is_enough_new():
    judge = PageJudge(TOPIC, learn_topic, positives=farm_texts(20), background=other_texts(40))
    assert judge.learn()
    note(judge, "http://a.test/1", farm_texts(1, start=60)[0], 0.9)
    assert not judge.learn()
    for number, terms in enumerate(farm_texts(20, start=61)):
        note(judge, f"http://b.test/{number}", terms, 0.9)
    assert judge.learn()


def test_not_this_topic_counts():
    """Pages that look like the topic to everybody else."""
    judge = PageJudge(TOPIC, learn_topic, positives=farm_texts(20), background=other_texts(40))
    judge.learn()
    toys = [[*terms, *["toy"] * 20] for terms in farm_texts(25, start=80)]
    before = judge.judge(toys[24])
    for number, terms in enumerate(toys[:24]):
        judge.note_verdict(f"http://toys.test/{number}", terms, False)
    assert judge.learn()
    assert judge.judge(toys[24]) < BELONGS < before


def test_names_that_stand_in_pages_of_the_topic_speak_for_it():
    vocabulary = Vocabulary()
    odds = TermOdds(vocabulary)
    for number in range(5):
        odds.add(vocabulary.count(["wheat", "farm", f"x{number}"]), belongs=True)
        odds.add(vocabulary.count(["king", f"y{number}"]), belongs=False)
    wheat, king, nothing = odds.scores(
        TextBatch([vocabulary.count(text) for text in (["wheat"], ["king"], [])])
    )
    assert wheat > 0 > king
    assert nothing == 0.0


def test_scout_believes_more_readily_since_no_page_is_an_example_twice():
    farms = farm_texts(20)
    judge = PageJudge(TOPIC, learn_topic, positives=farms, background=other_texts(100))
    judge.learn()
    scout = judge.scout()
    for number, terms in enumerate(farms):
        for each in (judge, scout):
            each.note_verdict(f"http://a.test/{number}", terms, True)
    assert judge.learn()
    assert scout.learn()
    half = [*farm_texts(1, start=100)[0], *other_texts(1, start=200)[0]]
    assert judge.judge(half) < scout.judge(half)
    assert scout.judge(farm_texts(1, start=101)[0]) > BELONGS > scout.judge(other_texts(1, start=201)[0])


def test_a_page_of_an_earlier_crawl_speaks_against_the_topic_again():
    judge = PageJudge(TOPIC, learn_topic, positives=farm_texts(20), background=other_texts(10))
    judge.learn()
    assert judge.judge(farm_texts(1)[0]) == judge.words.score(farm_texts(1)[0])  # too few against it to learn
    for number, terms in enumerate(other_texts(30)):
        judge.recall(f"http://left.test/{number}", terms, 0.0, belongs=False)
    assert judge.learn()
