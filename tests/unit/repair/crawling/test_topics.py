import pytest

from repair.crawling.topics import InvalidTopic, Topic


def test_topic_is_searched_by_its_name_with_words_and_by_each_subtopic():
    topic = Topic(name="Agriculture", words=("farming", "crop"), subtopics=("Soil", "Bees"))
    assert topic.queries == ("Agriculture farming crop", "Soil", "Bees")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"language": "English"}, "language"),
        ({"seeds": ("ftp://a.test/",)}, "seed"),
        ({"hours": "at night"}, "hours"),
        ({"max_pages": 0}, "budget"),
        ({"words": tuple(map(str, range(501)))}, "at most"),
    ],
)
def test_invalid_topic_is_refused_with_its_reason(wrong, said):
    with pytest.raises(InvalidTopic, match=said):
        Topic(**{"name": "Soil", **wrong})
