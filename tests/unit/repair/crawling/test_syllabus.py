from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.crawling.syllabus import parse_csv, parse_outline, read_syllabus
from repair.crawling.topics import InvalidTopic

EXAMPLE = Path(__file__).parents[4] / "deploy" / "syllabus-example.txt"


def test_outline_has_topics_subtopics_and_what_else_is_known():
    outline = """
# for the second year
Agriculture
    words: farming, crops
    seeds: https://farm.test/soil, http://farm.test/water,
    language: en
    pages: 300
    hours: 22:00-05:00
    - Soil fertility
    2. Crop rotation
Computers
\tFiles: and folders
"""
    farming, computers = parse_outline(outline)
    assert farming.subtopics == ("Soil fertility", "Crop rotation")
    assert farming.words == ("farming", "crops")
    assert farming.seeds == ("https://farm.test/soil", "http://farm.test/water")
    assert (farming.language, farming.max_pages, farming.hours) == ("en", 300, "22:00-05:00")
    assert computers.subtopics == ("Files: and folders",)


def test_csv_lines_of_one_topic_are_joined():
    table = (
        "Topic,Subtopic,words,pages,groups\nSoil,Sand,grain,,7a;7b\nSoil,Clay,wet,40,\n# no more\nWater,,,,\n"
    )
    soil, water = parse_csv(table)
    assert (soil.subtopics, soil.words, soil.max_pages, soil.groups) == (
        ("Sand", "Clay"),
        ("grain", "wet"),
        40,
        ("7a", "7b"),
    )
    assert water.subtopics == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "header"),
        ("topic\n", "1 to"),
        ("name,words\nx,y", "header"),
        ("topic,pages\nSoil,many", "line 2: pages: expected a number"),
        ("topic\n,", "line 2"),
        ('topic\n"Soil', "CSV"),
    ],
)
def test_wrong_csv_is_refused_with_its_place(text, said):
    with pytest.raises(InvalidTopic, match=said):
        parse_csv(text)


def test_subtopic_before_any_topic_is_refused():
    with pytest.raises(InvalidTopic, match="line 1"):
        parse_outline("   - Soil\n")


@given(st.text())
def test_any_text_is_a_syllabus_or_refused(text):
    for parse in (parse_csv, parse_outline):
        with suppress(InvalidTopic):
            assert parse(text)


def test_shipped_example_has_the_two_subjects_of_the_paper_with_twenty_subtopics_each():
    topics = {topic.name: topic for topic in read_syllabus(EXAMPLE)}
    assert set(topics) == {"Introduction to computers", "Agriculture"}
    assert all(len(topic.subtopics) == 20 for topic in topics.values())


def test_unreadable_file_is_named(tmp_path):
    (tmp_path / "latin.txt").write_bytes("Öl".encode("latin-1"))
    for name, said in (("missing.txt", "missing.txt: cannot read"), ("latin.txt", "not UTF-8 at byte 0")):
        with pytest.raises(InvalidTopic, match=said):
            read_syllabus(tmp_path / name)
