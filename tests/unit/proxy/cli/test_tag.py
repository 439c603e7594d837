"""`linkmend tag`."""

import json

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app

PAGE = "http://a.test/geo/volcano.html"


def run(*args, data):
    (data / "collection").mkdir(exist_ok=True)
    return CliRunner().invoke(app, ["tag", *map(str, args), "--data", str(data), "--json"])


def tags(result):
    return {(told := json.loads(line))["tag"]: told["times"] for line in result.stdout.splitlines()}


def test_tags_are_added_listed_and_removed(tmp_path):
    assert tags(run(PAGE, "Geology", "fire  mountains", data=tmp_path)) == {"geology": 1, "fire mountains": 1}
    assert tags(run(PAGE, "geology", data=tmp_path))["geology"] == 2
    assert tags(run(PAGE, "GEOLOGY", "--remove", data=tmp_path)) == {"fire mountains": 1}
    assert tags(run(PAGE, data=tmp_path)) == {"fire mountains": 1}


@pytest.mark.parametrize(("url", "tag", "said"), [("nonsense", "x", "http"), (PAGE, " ", "1 to 60")])
def test_invalid_address_or_tag_is_refused(tmp_path, url, tag, said):
    result = run(url, tag, data=tmp_path)
    assert isinstance(result.exception, LinkmendError)
    assert said in str(result.exception)
