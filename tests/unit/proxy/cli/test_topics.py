"""`linkmend topics`."""

import json

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app
from repair.crawling.topics import InvalidTopic


def run(*args, data, as_json=True):
    return CliRunner().invoke(
        app, ["topics", *map(str, args), "--data", str(data), *(["--json"] if as_json else [])]
    )


def told(result):
    assert result.exit_code == 0, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_topic_is_added_changed_listed_and_removed(tmp_path):
    run("add", "Soil", "--word", "earth", "--seed", "http://A.test", "--pages", 7, data=tmp_path)
    run("add", "soil", "--subtopic", "Clay", "--hours", "22:00-05:00", data=tmp_path)
    (topic,) = told(run("list", data=tmp_path))
    assert (topic["name"], topic["words"], topic["seeds"]) == ("Soil", ["earth"], ["http://a.test/"])
    assert (topic["subtopics"], topic["max_pages"], topic["pages"], topic["fetched"]) == (["Clay"], 7, 0, 0)
    assert run("remove", "Soil", data=tmp_path, as_json=False).exit_code == 0
    assert told(run("list", data=tmp_path)) == []


def test_syllabus_is_imported_and_shown(tmp_path):
    syllabus = tmp_path / "syllabus.csv"
    syllabus.write_text("topic,subtopic\nSoil,Clay\nSoil,Sand\nWater,Rivers\n")
    assert [topic["name"] for topic in told(run("import", syllabus, data=tmp_path / "data"))] == [
        "Soil",
        "Water",
    ]
    (soil,) = told(run("show", "soil", data=tmp_path / "data"))
    assert (soil["subtopics"], soil["pages"], soil["states"]["waiting"]) == (["Clay", "Sand"], [], 0)


def test_person_says_which_pages_belong(tmp_path):
    run("add", "Soil", data=tmp_path)
    page = "http://a.test/clay"
    assert run("yes", "Soil", page, data=tmp_path, as_json=False).exit_code == 0
    assert told(run("show", "Soil", data=tmp_path))[0]["pages"] == [{"url": page, "probability": 1.0}]
    assert run("not", "Soil", page, data=tmp_path, as_json=False).exit_code == 0
    assert told(run("show", "Soil", data=tmp_path))[0]["pages"] == []


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("show", "Water"), LinkmendError, "no such topic: 'Water'"),
        (("add", "Soil", "--seed", "http://a.test/?session=0123456789abcdef"), LinkmendError, "personal"),
        (("add", "Soil", "--seed", "nonsense"), LinkmendError, "not a web address"),
        (("add", "Soil", "--hours", "late"), InvalidTopic, "hours"),
        (("import", "missing.csv"), InvalidTopic, "missing.csv"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, arguments, error, said):
    result = run(*arguments, data=tmp_path)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)
