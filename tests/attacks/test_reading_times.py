"""When somebody read a page is not revealed: not by TimeMaps, TimeGates, mementos, copies or search."""

import gzip
import json
import re
import time
from datetime import UTC, datetime

import pytest

from tests.attacks.test_bombs import a_page
from tests.integration.client import PORTAL
from tests.integration.origin import reply
from tests.integration.processes import eventually, linkmend, serving

SETTINGS = "[collection]\ncommit_every_s = 0.2\n"
_STAMP = re.compile(r"/memento/(\d{14})")
_HTTP_DATE = re.compile(r"\w{3}, \d{2} \w{3} \d{4} (\d{2}:\d{2}:\d{2}) GMT")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("times")
    (folder / "school.warc.gz").write_bytes(
        gzip.compress(a_page("http://imported.test/page").replace(b"T00:00:00Z", b"T11:22:33Z"))
    )
    with serving(folder / "data", settings=SETTINGS) as proxy:
        done = linkmend("import", folder / "school.warc.gz", "--data", folder / "data")
        assert done.returncode == 0, done.stderr
        yield proxy


@pytest.fixture(scope="module")
def read(running, site, alice, bob):
    """The address of a page that alice read a moment ago."""
    path = "/read/volcano.html"
    site.pages[path] = reply("<title>volcano read</title><p>volcano words", Cache_Control="max-age=600")
    # At midnight the rounded day equals the exact time.
    if datetime.now(UTC).strftime("%H:%M") == "00:00":
        time.sleep(61)
    assert alice.open_page(site.url + path).status == 200
    eventually(lambda: path in bob.search("volcano").text, "the page is not held")
    return site.url + path


def everything_told(client, url):
    """All responses about the versions of a page, headers included, by name."""
    timemap = client.get(f"{PORTAL}/timemap/link/{url}")
    assert timemap.status == 200
    stamp = _STAMP.search(timemap.text)[1]
    answers = {
        "time map": timemap,
        "time map as JSON": client.get(f"{PORTAL}/timemap/json/{url}"),
        "time gate": client.get(f"{PORTAL}/timegate/{url}"),
        "memento": client.get(f"{PORTAL}/memento/{stamp}/{url}"),
        "raw memento": client.get(f"{PORTAL}/memento/{stamp}id_/{url}"),
        "memento of another second": client.get(f"{PORTAL}/memento/20300101000000/{url}"),
        "copy": client.held_copy(url),
        "search": client.search("volcano"),
    }
    for name, answer in answers.items():
        headers = "\n".join(
            f"{field}: {value}" for field, value in answer.headers.items() if field.lower() != "date"
        )
        yield name, f"{headers}\n{answer.text}"


def test_only_the_day_of_a_visit_is_revealed(read, bob):
    for name, told in everything_told(bob, read):
        assert all(stamp.endswith("000000") for stamp in _STAMP.findall(told)), name
        assert set(_HTTP_DATE.findall(told)) <= {"00:00:00"}, name
        assert not re.search(r"T(?!00:00:00)\d{2}:\d{2}:\d{2}", told), name
    today = datetime.now(UTC).strftime("%Y%m%d")
    assert f"/memento/{today}000000/" in bob.get(f"{PORTAL}/timemap/link/{read}").text


def test_version_is_found_under_its_rounded_day(read, bob):
    stamp = _STAMP.search(bob.get(f"{PORTAL}/timemap/link/{read}").text)[1]
    found = bob.get(f"{PORTAL}/memento/{stamp}id_/{read}")
    assert found.status == 200
    assert "volcano words" in found.text
    assert found.headers["Memento-Datetime"].endswith("00:00:00 GMT")


def test_imported_page_keeps_its_exact_time(running, bob):
    url = "http://imported.test/page"
    eventually(lambda: bob.get(f"{PORTAL}/timemap/link/{url}").status == 200, "the import is not held")
    assert "/memento/20200101112233/" in bob.get(f"{PORTAL}/timemap/link/{url}").text
    listed = json.loads(bob.get(f"{PORTAL}/timemap/json/{url}").text)["mementos"]["list"]
    assert [each["datetime"] for each in listed] == ["2020-01-01T11:22:33Z"]


def test_repair_json_reveals_only_the_day(read, site, bob):
    del site.pages["/read/volcano.html"]
    told = bob.repair(f"{site.url}/read/volcano-lost.html").text
    assert "volcano" in told
    assert not re.search(r"T(?!00:00:00)\d{2}:\d{2}:\d{2}", told)
