"""Repairs exported at one school and imported at another."""

import json

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app
from repair.collection.collection import Collection
from repair.collection.elsewhere import ConfirmedElsewhere
from repair.collection.pins import Pins
from repair.evidence.choices import ChoiceStore
from repair.evidence.hints import Hints
from repair.settings import CollectionSettings, RepairSettings
from tests.holdings import SITE, a_collection, a_document
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/old/rain"


def run(data, *words):
    return CliRunner().invoke(app, ["repairs", *(str(word) for word in words), "--data", str(data)])


def done(data, *words):
    result = run(data, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def school(tmp_path):
    """A school by its name: a data folder where so many networks chose a page for a missing one. Choices of three
    or more are pinned; a collection has one pin for an address.
    """

    def made(name, **chosen):
        data = tmp_path / name
        pages = [a_document(f"/new/{page}", title=page) for page in ("rain", "showers")]
        with a_collection(data / "collection", *pages) as collection:
            store = ChoiceStore(collection.database)
            for page, times in chosen.items():
                for number in range(times):
                    store.vote(GONE, f"{SITE}/new/{page}", network=f"{page}{number}", at=A_MOMENT)
                if times >= 3:
                    Pins(collection.database).pin(GONE, f"{SITE}/new/{page}", "admin", A_MOMENT)
        return data

    return made


def test_export_contains_choices_and_pins_with_the_day_only(school, tmp_path):
    ours, file = school("ours", rain=3, showers=2), tmp_path / "repairs.jsonl"
    assert "1 repairs" in done(ours, "export", file)
    (line,) = file.read_text().splitlines()
    told = json.loads(line)
    assert (told["url"], told["chosen"], told["times"]) == (GONE, f"{SITE}/new/rain", 3)
    assert told["last"] == "2026-05-03"
    assert "12:00" not in line
    assert told["school"].startswith("school-")
    assert done(ours, "export", "-") == line + "\n"


def test_a_school_may_give_its_name(school, tmp_path):
    ours, config = school("ours", rain=3), tmp_path / "linkmend.toml"
    config.write_text('[repair]\nschool = "Riverbend"\n')
    line = done(ours, "export", "-", "--config", config)
    assert json.loads(line)["school"] == "Riverbend"
    file = tmp_path / "repairs.jsonl"
    file.write_text(line)
    told = json.loads(done(ours, "import", file, "--json", "--config", config))
    assert (told["repairs"], told["own"]) == (0, 1)


def test_import_is_idempotent(school, tmp_path):
    here = school("here")
    files = []
    for name, times in (("first", {"showers": 3}), ("second", {"showers": 4}), ("third", {"rain": 5})):
        files.append(tmp_path / f"{name}.jsonl")
        done(school(name, **times), "export", files[-1])
    for _ in range(2):
        told = [json.loads(line) for line in done(here, "import", *files, "--json").splitlines()]
        assert [each["repairs"] for each in told] == [1, 1, 1]
    with Collection.open(here / "collection", CollectionSettings()) as collection:
        found = Hints(collection, RepairSettings()).favourites(GONE)
        assert [each.url.rpartition("/")[2] for each in found] == ["showers", "rain"]
    listed = [json.loads(line) for line in done(here, "list", "--json").splitlines()]
    assert sorted(each["times"] for each in listed) == [3, 4, 5]
    assert len({each["school"] for each in listed}) == 3
    assert "school-" in done(here, "list")
    assert done(here, "forget", listed[0]["school"]) == "1 repairs deleted\n"
    assert len(done(here, "list", "--json").splitlines()) == 2


def test_imported_repairs_are_not_exported(school, tmp_path):
    here, file = school("here"), tmp_path / "repairs.jsonl"
    done(school("there", rain=5), "export", file)
    assert "1 repairs from 1 schools" in done(here, "import", file)
    assert done(here, "export", "-") == ""


def test_own_export_is_not_imported(school, tmp_path):
    ours, file = school("ours", rain=3), tmp_path / "repairs.jsonl"
    done(ours, "export", file)
    assert "0 repairs from 0 schools; skipped 1 of our own" in done(ours, "import", file)


def test_file_with_a_bad_line_is_not_imported(school, tmp_path):
    here, file = school("here"), tmp_path / "repairs.jsonl"
    done(school("there", rain=5), "export", file)
    file.write_text(file.read_text() + "nonsense\n")
    error = run(here, "import", file).exception
    assert isinstance(error, LinkmendError)
    assert str(error).startswith(f"{file}: line 2: ")
    assert done(here, "list", "--json") == ""


def test_unreadable_or_unwritable_file_is_one_error_line(school, tmp_path):
    here = school("here", rain=3)
    for words in (("import", tmp_path / "none"), ("export", tmp_path / "none" / "file")):
        error = run(here, *words).exception
        assert isinstance(error, LinkmendError)
        assert "No such file" in str(error)


def test_choices_of_our_own_users_can_be_forgotten(school):
    ours = school("ours", rain=3)
    with Collection.open(ours / "collection", CollectionSettings()) as collection:
        Hints(collection, RepairSettings()).note_redirect(GONE, f"{SITE}/new/showers")
    assert done(ours, "forget", GONE) == f"{GONE}: deleted\n"
    assert done(ours, "list", "--json") == ""
    with Collection.open(ours / "collection", CollectionSettings()) as collection:
        assert Hints(collection, RepairSettings()).known_targets(a_broken_link(url=GONE)) == ()


def settings_with(tmp_path, *keys):
    file = tmp_path / "linkmend.toml"
    file.write_text(f"[district]\npack_keys = {json.dumps(keys)}\n")
    return file


def offered(data):
    with Collection.open(data / "collection", CollectionSettings()) as collection:
        return [(each.target, each.schools) for each in ConfirmedElsewhere(collection.database).offers(GONE)]


def test_a_signed_file_brings_choices_and_pins_once_and_only_from_a_school_that_is_trusted(school, tmp_path):
    theirs, ours, file = school("theirs", rain=3), school("ours"), tmp_path / "signed.jsonl"
    assert "2 repairs, signed" in done(theirs, "export", file, "--signed")
    refused = run(ours, "import", file)
    assert isinstance(refused.exception, LinkmendError)
    assert "not trusted" in str(refused.exception)
    config = settings_with(tmp_path, f"School B = {done(theirs, 'key').strip()}")

    assert "1 pinned pages" in done(ours, "import", file, "--config", config)
    assert offered(ours) == [(f"{SITE}/new/rain", ("School B",))]
    assert json.loads(done(ours, "list", "--json"))["school"] == "School B"

    again = run(ours, "import", file, "--config", config)
    assert "imported before" in str(again.exception)
    assert "2 repairs deleted" in done(ours, "forget", "School B")
    assert offered(ours) == []


def test_where_keys_are_named_no_unsigned_file_is_accepted(school, tmp_path):
    theirs, ours, file = school("theirs", rain=3), school("ours"), tmp_path / "repairs.jsonl"
    done(theirs, "export", file)
    config = settings_with(tmp_path, f"School B = {done(theirs, 'key').strip()}")
    assert "not signed" in str(run(ours, "import", file, "--config", config).exception)
    done(ours, "import", file)


def test_an_older_signed_file_is_refused_after_a_newer_one(school, tmp_path):
    theirs, ours = school("theirs", rain=3), school("ours")
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    done(theirs, "export", old, "--signed")
    with Collection.open(theirs / "collection", CollectionSettings()) as collection:
        Pins(collection.database).forget(GONE)
    done(theirs, "export", new, "--signed")
    config = settings_with(tmp_path, f"School B = {done(theirs, 'key').strip()}")
    done(ours, "import", new, "--config", config)
    assert "imported before" in str(run(ours, "import", old, "--config", config).exception)
    assert offered(ours) == []
