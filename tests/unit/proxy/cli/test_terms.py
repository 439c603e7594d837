"""Document frequencies, and a page's characteristic terms."""

import json

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app
from tests.holdings import SITE, a_collection, a_document


@pytest.fixture
def data(tmp_path):
    pages = [
        a_document("/rain", title="Rain", text="Rain falls from clouds. Rainy days bring more rain."),
        a_document("/snow", title="Snow", text="Snow falls from clouds in winter."),
        a_document("/hail", title="Hail", text="Hail falls from clouds and hail is hard."),
    ]
    a_collection(tmp_path / "collection", *pages).close()
    return tmp_path


def run(data, *words):
    return CliRunner().invoke(app, [*words, "--data", str(data)])


def told(data, *words):
    return [json.loads(line) for line in run(data, *words, "--json").stdout.splitlines()]


def test_words_are_counted_in_pages_and_in_all(data):
    rain, clouds, fog = told(data, "df", "Rain", "clouds", "fog")
    assert rain == {"word": "Rain", "term": "rain", "df": 1, "cf": 2, "pages": 3}
    assert (clouds["df"], clouds["cf"]) == (3, 3)
    assert (fog["df"], fog["cf"]) == (0, 0)


def test_a_phrase_is_counted_word_by_word(data):
    assert [each["term"] for each in told(data, "df", "snow clouds")] == ["snow", "cloud"]


def test_signature_contains_characteristic_terms(data):
    (found,) = told(data, "signature", f"{SITE}/hail", "--terms", "2")
    assert (found["title"], found["pages"]) == ("Hail", 3)
    assert found["terms"][0]["term"] == "hail"
    assert (found["terms"][0]["tf"], found["terms"][0]["df"]) == (2, 1)
    assert len(found["terms"]) == 2
    assert "fall" not in {each["term"] for each in found["terms"]}


def test_both_print_tables_for_people(data):
    assert "Of 3 pages" in run(data, "df", "rain").stdout
    assert "tf-idf" in run(data, "signature", f"{SITE}/rain").stdout


def test_page_not_saved_has_no_signature(data):
    error = run(data, "signature", f"{SITE}/none").exception
    assert isinstance(error, LinkmendError)
    assert "no saved page with this address" in str(error)
