"""The commands, from the command line to what they print."""

import json
from contextlib import closing
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from proxy.errors import LinkmendError
from proxy.main import app
from proxy.misses.record import MissRecord
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from repair.collection.collection import Collection
from repair.collection.pins import Pins
from repair.evidence.hints import Hints
from repair.memento.database import ArchiveDatabase
from repair.memento.model import ArchiveAnswer, ArchiveOutcome
from repair.memento.store import ArchiveStore
from repair.model import MissKind
from repair.settings import CollectionSettings, RepairSettings
from tests.make import A_MOMENT

PAGE = "<html lang=en><title>{title}</title><body><main><h1>{title}</h1><p>{text}</p></main>"


def linkmend(*arguments):
    return CliRunner().invoke(app, [str(part) for part in arguments])


@pytest.fixture
def held(tmp_path):
    """A data folder into which a small site was imported."""
    site = tmp_path / "site" / "school.test"
    site.mkdir(parents=True)
    link = '<a href="/old-volcanoes.html">volcanoes and their eruptions</a>'
    (site / "index.html").write_text(PAGE.format(title="Start", text=f"Read about {link} today."))
    (site / "volcanoes.html").write_text(
        PAGE.format(title="Volcanoes and eruptions", text="Lava and ash. " * 20)
    )
    (site / "style.css").write_text("body { color: red }")
    data = tmp_path / "data"
    done = linkmend("import", "--data", data, "--json", tmp_path / "site")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["pages"] >= 2
    return data


def test_a_damaged_file_is_imported_up_to_there_and_the_command_fails(tmp_path):
    def record(number):
        body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Page</title><p>Some words."
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/{number}\r\nContent-Length: "
        )
        return head.encode() + b"%d\r\n\r\n%s\r\n\r\n" % (len(body), body)

    damaged, whole = tmp_path / "cut.warc", tmp_path / "whole.warc"
    damaged.write_bytes(record(1) + record(2)[:-20])
    whole.write_bytes(record(3))
    done = linkmend("import", "--data", tmp_path / "data", "--json", damaged, whole)
    assert done.exit_code == 1
    assert str(done.exception) == (
        "cut.warc: record 2: unreadable; stopped here: the file ends early (the rest was imported)"
    )
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [(each["pages"], bool(each["damage"])) for each in told] == [(1, True), (1, False)]


def test_mend_prints_the_json_of_the_repair_page(held):
    done = linkmend("mend", "--data", held, "--json", "http://school.test/old-volcanoes.html")
    told = json.loads(done.stdout)
    assert told["alternatives"][0]["url"] == "http://school.test/volcanoes.html"
    assert told["source_page"] is None
    assert set(told) == {"url", "kind", "source_page", "queries", "alternatives", "mementos", "keywords"}


def test_mend_prints_a_list_for_people(held):
    done = linkmend("mend", "--data", held, "http://school.test/x", "--anchor", "volcanoes and eruptions")
    assert " 1. Volcanoes and eruptions" in done.stdout
    assert "http://school.test/volcanoes.html" in done.stdout


def test_mend_gives_the_reasons_in_words(held):
    done = linkmend(
        "mend", "--data", held, "http://school.test/volcanoes.htm", "--anchor", "volcanoes and eruptions"
    )
    assert "Confidence" in done.stdout
    assert " %; " in done.stdout
    assert "On the same site" in done.stdout
    assert "_" not in done.stdout


@pytest.mark.parametrize("command", ["mend http://a.test/", "df water", "tag http://a.test/", "repairs list"])
def test_data_folder_that_does_not_exist_is_an_error_and_is_not_made(tmp_path, command):
    done = linkmend(*command.split(), "--data", tmp_path / "mistyped")
    assert "mistyped: no saved pages found" in str(done.exception)
    assert not (tmp_path / "mistyped").exists()


def test_settings_file_that_does_not_exist_is_named_with_its_path(tmp_path):
    done = linkmend("mend", "--config", tmp_path / "none.toml", "http://a.test/")
    assert f"{tmp_path}/none.toml: cannot read the file" in str(done.exception)


def test_mend_says_so_when_nothing_comes_close(held):
    done = linkmend("mend", "--data", held, "http://elsewhere.test/qqqqq")
    assert "No saved page is similar enough." in done.stdout


def test_invalid_link_is_one_error_line(held):
    for asked in (("gopher://a",), ("http://a.test/", "--source", "nonsense")):
        done = linkmend("mend", "--data", held, *asked)
        assert isinstance(done.exception, LinkmendError)
        assert "expected an http or https address" in str(done.exception)


def test_mend_takes_a_url_or_a_batch_but_not_neither(held):
    assert linkmend("mend", "--data", held).exit_code == 2


@pytest.fixture
def missed(tmp_path):
    store = MissStore(tmp_path / "misses", MissesSettings(), clock=lambda: A_MOMENT + timedelta(days=1))
    for number, url in enumerate(("http://a.test/x", "http://a.test/x", "http://b.test/y")):
        at = A_MOMENT + timedelta(minutes=number)
        store.record(MissRecord(id=f"id{number}", at=at, url=url, kind=MissKind.GONE))
    store.close()
    return tmp_path


def test_misses_are_listed_counted_and_exported(missed, monkeypatch):
    config = missed / "linkmend.toml"
    config.write_text("[misses]\nretention_days = 100000\n")
    common = ("--data", missed, "--config", config)
    listed = [json.loads(line) for line in linkmend("misses", "list", *common, "--json").stdout.splitlines()]
    assert [miss["url"] for miss in listed] == ["http://b.test/y", "http://a.test/x", "http://a.test/x"]
    top = [json.loads(line) for line in linkmend("misses", "top", *common, "--json").stdout.splitlines()]
    assert top[0] == {"url": "http://a.test/x", "times": 2}
    assert len(linkmend("misses", "export", *common).stdout.splitlines()) == 4
    assert "http://a.test/x" in linkmend("misses", "list", *common).stdout
    assert "a.test" in linkmend("misses", "top", *common, "--by", "site").stdout
    day_after = f"{A_MOMENT + timedelta(days=2):%Y-%m-%d}"
    assert linkmend("misses", "top", *common, "--json", "--since", day_after).stdout == ""


def test_export_can_be_filtered(missed):
    config = missed / "linkmend.toml"
    config.write_text("[misses]\nretention_days = 100000\n")
    common = ("misses", "export", "--format", "jsonl", "--data", missed, "--config", config)
    assert len(linkmend(*common, "--site", "www.A.test").stdout.splitlines()) == 2
    assert len(linkmend(*common, "--text", "/y").stdout.splitlines()) == 1
    assert linkmend(*common, "--since", "2027-01-01").stdout == ""
    assert linkmend(*common, "--outcome", "opened").stdout == ""


def test_address_is_erased_from_every_store(missed):
    config = missed / "linkmend.toml"
    config.write_text("[misses]\nretention_days = 100000\n")
    with Collection.open(missed / "collection", CollectionSettings()) as collection:
        Pins(collection.database).pin("http://a.test/x", "http://b.test/y", "admin", A_MOMENT)
        Hints(collection, RepairSettings()).note_choice(
            "http://a.test/x", "http://b.test/y", A_MOMENT, network="one"
        )
    with closing(ArchiveDatabase(missed / "archives.sqlite")) as notebook:
        said = ArchiveAnswer(archive="an-archive", outcome=ArchiveOutcome.NOTHING, said_at=A_MOMENT)
        remembered = ArchiveStore(notebook, max_bytes=10**6, clock=lambda: A_MOMENT.timestamp())
        remembered.keep_answer("http://a.test/x", "a.test", said, for_s=1e9)
    common = ("--data", missed, "--config", config)
    done = linkmend("misses", "erase", "--url", "https://a.test/x/", *common)
    assert done.stdout == "deleted; log entries removed: 2\n", done.exception
    kept = [path for path in missed.rglob("*") if path.is_file() and b"a.test/x" in path.read_bytes()]
    assert kept == []
    assert len(linkmend("misses", "export", *common).stdout.splitlines()) == 2


def test_user_is_erased_by_code_and_one_option_is_required(missed):
    common = ("misses", "erase", "--data", missed)
    assert linkmend(*common, "--client", "nobody", "--json").stdout == '{"misses":0}\n'
    assert linkmend(*common).exit_code == 2
    assert linkmend(*common, "--client", "a", "--url", "http://a.test/").exit_code == 2


def test_the_certificate_is_printed_once_there_is_one(tmp_path):
    done = linkmend("ca", "--data", tmp_path)
    assert isinstance(done.exception, LinkmendError)
    assert "linkmend serve" in str(done.exception)
    (tmp_path / "ca").mkdir()
    (tmp_path / "ca" / "mitmproxy-ca-cert.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    assert linkmend("ca", "--data", tmp_path).stdout == "-----BEGIN CERTIFICATE-----\n"


def test_a_pac_file_needs_an_address_that_devices_can_reach():
    assert '"PROXY proxy.school.test:8080"' in linkmend("pac", "--proxy", "proxy.school.test:8080").stdout
    assert "set the proxy's address with --proxy" in str(linkmend("pac").exception)


ERROR_PAGE = "<title>404</title><h1>Page not found</h1><p>The page you are looking for does not exist.</p>"


def test_soft404_tells_error_pages_from_others(tmp_path):
    gone, there = tmp_path / "gone.html", tmp_path / "there.html"
    gone.write_text(ERROR_PAGE, encoding="utf-8")
    there.write_text(PAGE.format(title="Volcanoes", text="Lava and ash. " * 20), encoding="utf-8")
    done = linkmend("soft404", "--json", gone, there)
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["file"], first["soft_404"], first["kind"]) == (str(gone), True, "not_found")
    assert (second["soft_404"], second["kind"]) == (False, "ordinary")
    assert second["probability"] < 0.5 < first["probability"]
    assert "not_found" in linkmend("soft404", gone).stdout


def test_soft404_measures_beside_the_simple_rules(tmp_path):
    (tmp_path / "gone.html").write_text(ERROR_PAGE, encoding="utf-8")
    row = {"file": "gone.html", "label": "error", "kind": "site_404", "split": "test", "repo": "a/b"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(row), encoding="utf-8")
    told = json.loads(linkmend("soft404", "--measure", tmp_path, "--json").stdout)
    assert [detector["recall"] for detector in told["detectors"]] == [1.0, 1.0, 1.0]
    assert "us to judge it" in linkmend("soft404", "--measure", tmp_path).stdout


def test_soft404_wants_files_or_a_folder_and_names_what_it_cannot_read(tmp_path):
    assert linkmend("soft404").exit_code == 2
    assert linkmend("soft404", tmp_path / "a.html", "--measure", tmp_path).exit_code == 2
    done = linkmend("soft404", tmp_path / "none.html")
    assert isinstance(done.exception, LinkmendError)
    assert "none.html" in str(done.exception)
