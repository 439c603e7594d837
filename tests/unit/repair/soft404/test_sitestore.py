"""repair.soft404.sitestore: what is stored about each site."""

import threading

import pytest

from repair.errors import CollectionError
from repair.soft404 import sitestore as sites_module
from repair.soft404.sitestore import ASK_EVERY_S, ASKED_PER_SITE, PER_SITE, SiteStore
from repair.soft404.sketch import sketch
from tests.fakes import FakeClock
from tests.make import spoil

PAGE = "http://school.test/lessons/gone.html"


def a_sketch(name="a", size=40):
    return sketch([f"{name}{number}" for number in range(size)])


@pytest.fixture
def sites(tmp_path):
    made = SiteStore(tmp_path / "soft404" / "sites.sqlite")
    yield made
    made.close()


def test_error_pages_are_recognised_on_their_own_site_only(sites):
    sites.remember(PAGE, a_sketch())
    assert sites.is_error_page("http://school.test/other", a_sketch())
    assert not sites.is_error_page("http://other.test/", a_sketch())
    assert not sites.is_error_page(PAGE, a_sketch("b"))


def test_a_vouched_page_is_fine_and_its_sketch_deleted(sites):
    sites.remember(PAGE, a_sketch())
    sites.vouch(PAGE, a_sketch())
    assert sites.is_fine(PAGE)
    assert not sites.is_fine("http://school.test/lessons/other.html")
    assert not sites.is_error_page(PAGE, a_sketch())


def test_a_school_that_reports_without_end_displaces_only_itself(sites, monkeypatch):
    monkeypatch.setattr(sites_module, "_DROP_REPORTED", (sites_module._DROP_REPORTED[0], (20,)))
    for school in (1, 2):
        sites.note_reported(school, b"honest", "school.test", a_sketch())
    for number in range(60):
        sites.note_reported(3, b"%d" % number, f"{number}.test", a_sketch(f"{number}"))
    assert sites.is_error_page(PAGE, a_sketch())


def test_a_directory_may_be_probed_once_in_a_while(tmp_path):
    clock = FakeClock(1_000.0)
    first = SiteStore(tmp_path / "sites.sqlite", clock=clock)
    second = SiteStore(tmp_path / "sites.sqlite", clock=clock)
    assert first.claim_probe("http://school.test/lessons/")
    assert not second.claim_probe("http://school.test/lessons/")
    assert second.claim_probe("http://school.test/other/")
    clock.now += ASK_EVERY_S + 1
    assert second.claim_probe("http://school.test/lessons/")
    first.close()
    second.close()


def test_probes_of_a_site_are_limited_per_day(tmp_path):
    """Otherwise somebody could make endless pages in doubt under a domain and have each of its names probed."""
    clock = FakeClock(1_000.0)
    sites = SiteStore(tmp_path / "sites.sqlite", clock=clock)

    def asked():
        return sum(
            sites.claim_probe(f"http://www{number % 3}.school.test/{number}/") for number in range(100)
        )

    assert asked() == ASKED_PER_SITE
    assert sites.claim_probe("http://other.test/lessons/")
    clock.now += ASK_EVERY_S + 1
    assert asked() == ASKED_PER_SITE
    sites.close()


def test_hosts_of_one_domain_do_not_evict_error_pages_of_others(sites, monkeypatch):
    monkeypatch.setattr(sites_module, "MAX_ROWS", 20)
    monkeypatch.setattr(sites_module, "PER_DOMAIN", 10)
    sites.remember(PAGE, a_sketch())
    for number in range(50):
        sites.remember(f"http://h{number}.evil.test/", a_sketch())
    assert sites.is_error_page(PAGE, a_sketch())
    assert not sites.is_error_page("http://h39.evil.test/", a_sketch())
    assert sites.is_error_page("http://h40.evil.test/", a_sketch())


def test_one_of_many_concurrent_probes_is_allowed(sites):
    told = []
    threads = [
        threading.Thread(target=lambda: told.append(sites.claim_probe("http://school.test/a/")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * 7 + [True]


def test_sketches_per_site_and_all_tables_are_bounded(sites, monkeypatch):
    monkeypatch.setattr(sites_module, "MAX_ROWS", 20)
    for number in range(PER_SITE + 3):
        sites.remember(PAGE, a_sketch(f"s{number}x"))
    assert not sites.is_error_page(PAGE, a_sketch("s0x"))
    assert sites.is_error_page(PAGE, a_sketch(f"s{PER_SITE + 2}x"))
    for number in range(25):
        sites.vouch(f"http://school.test/{number}", ())
    assert not sites.is_fine("http://school.test/0")
    assert sites.is_fine("http://school.test/24")


def test_other_processes_see_error_pages_and_addresses_are_stored_hashed(tmp_path):
    path = tmp_path / "sites.sqlite"
    first, second = SiteStore(path), SiteStore(path)
    first.remember(PAGE, a_sketch())
    first.vouch("http://school.test/reset?token=SECRET", ())
    assert second.is_error_page(PAGE, a_sketch())
    first.close()
    second.close()
    assert b"SECRET" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_a_damaged_file_is_set_aside(tmp_path):
    (tmp_path / "sites.sqlite").write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    sites = SiteStore(tmp_path / "sites.sqlite")
    sites.remember(PAGE, a_sketch())
    assert sites.is_error_page(PAGE, a_sketch())
    assert (tmp_path / "sites.sqlite.damaged1").exists()
    sites.close()


def test_an_unusable_folder_is_an_error_with_its_name(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CollectionError, match="cannot open the database"):
        SiteStore(tmp_path / "file" / "sites.sqlite")


def test_late_damage_loses_only_what_was_stored(tmp_path):
    SiteStore(tmp_path / "sites.sqlite").close()
    spoil(tmp_path / "sites.sqlite")
    sites = SiteStore(tmp_path / "sites.sqlite")
    with pytest.raises(CollectionError, match="malformed"):
        sites.remember(PAGE, a_sketch())
    sites.remember(PAGE, a_sketch())
    assert sites.is_error_page(PAGE, a_sketch())
    assert (tmp_path / "sites.sqlite.damaged1").exists()
    sites.close()
