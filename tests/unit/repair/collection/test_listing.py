"""repair.collection.listing: what people may browse, and what single users read stays out of it."""

from datetime import date, timedelta

import pytest

from repair.collection.listing import KEPT_DAYS, PageListing, document_kind
from repair.model import HeldCopy
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import A_MOMENT

TODAY = date(2026, 11, 18)


@pytest.fixture
def collection(tmp_path):
    made = a_collection(tmp_path)
    for number in range(3):
        page = a_document(f"/gathered{number}", title=f"Gathered {number}", language="en")
        made.add(page, fetched_at=A_MOMENT + timedelta(days=number), pinned=True)
    made.add(a_document("/opened", language="sw"), fetched_at=A_MOMENT + timedelta(days=9))
    yield made
    made.close()


@pytest.fixture
def listing(collection):
    return PageListing(collection.database)


def paths(pages):
    return [page.url.removeprefix(SITE) for page in pages]


def read_by(listing, readers, path="/opened", day=TODAY):
    listing.note_readers({listing.page_number(SITE + path): readers}, day)


def test_what_a_user_opened_is_in_no_list_and_what_was_gathered_is(listing):
    assert paths(listing.newest(10)) == ["/gathered2", "/gathered1", "/gathered0"]
    assert listing.most_read(10) == ()
    assert paths(listing.of_site("school.test", 10)) == ["/gathered0", "/gathered1", "/gathered2"]
    assert listing.of_language("sw", 10) == ()
    assert listing.languages(10) == (("en", 3),)
    assert [(site.site, site.pages) for site in listing.sites(10)] == [("school.test", 3)]


def test_pages_without_a_language_make_none(collection, listing):
    for number, code in enumerate(("zxx", "und", "mul", "")):
        page = a_document(f"/pictures{number}", language=code)
        collection.add(page, fetched_at=A_MOMENT, pinned=True)
    assert listing.languages(10) == (("en", 3),)


def test_what_several_users_opened_is_in_all_lists(listing):
    read_by(listing, 5)
    assert paths(listing.newest(1)) == paths(listing.most_read(10)) == paths(listing.of_language("sw", 10))
    assert paths(listing.most_read(10)) == ["/opened"]
    assert listing.sites(10)[0].pages == 4


def test_readers_of_several_days_add_up_and_the_largest_number_of_a_day_counts(listing, collection):
    read_by(listing, 5, "/gathered1")
    read_by(listing, 6, day=TODAY - timedelta(days=1))
    read_by(listing, 7)
    read_by(listing, 5)
    assert paths(listing.most_read(10)) == ["/opened", "/gathered1"]
    numbers = [collection.page_number(SITE + path) for path in ("/opened", "/gathered1", "/gathered2")]
    assert listing.uses(numbers) == {numbers[0]: 13, numbers[1]: 5}


def test_readers_are_forgotten_after_some_weeks_and_with_their_page(listing, collection):
    read_by(listing, 9)
    read_by(listing, 5, "/gathered1", TODAY + timedelta(days=KEPT_DAYS + 1))
    assert paths(listing.most_read(10)) == ["/gathered1"]
    collection.remove(f"{SITE}/gathered1")
    assert listing.most_read(10) == ()


def test_pages_of_a_site_are_in_the_order_of_the_links_to_them(collection, listing):
    hub = a_document("http://other.test/", links=[a_link("/gathered2")])
    collection.add(hub, fetched_at=A_MOMENT, pinned=True)
    assert paths(listing.of_site("school.test", 1)) == ["/gathered2"]
    assert paths(listing.of_site("school.test", 2, 1)) == ["/gathered0", "/gathered1"]
    assert listing.of_site("school", 10) == ()


def test_a_list_shows_no_address_with_a_secret(collection, listing):
    secret = a_document("/mail?token=8f14e45fceea167a5a36dedd4bea2543")
    collection.add(secret, fetched_at=A_MOMENT, pinned=True)
    assert len(listing.newest(10)) == 3


@pytest.mark.parametrize(
    ("url", "content_type", "kind"),
    [
        ("/plan.pdf", "", "pdf"),
        ("/plan", "application/pdf", "pdf"),
        ("/plan.pdf", "text/html; charset=utf-8", "html"),
        ("/plan.odt", "application/octet-stream", "odt"),
        ("/notes", "text/plain; charset=utf-8", "text"),
        ("/", "", "html"),
    ],
)
def test_the_type_of_a_document_is_what_it_was_sent_as(url, content_type, kind):
    assert document_kind(SITE + url, content_type) == kind


def test_lists_say_of_each_page_what_it_is(collection, listing):
    copy = HeldCopy(url=f"{SITE}/plan", content_type="application/pdf", body=b"%PDF-", fetched_at=A_MOMENT)
    collection.add(
        a_document("/plan", title="Plan"), fetched_at=A_MOMENT + timedelta(days=20), copy=copy, pinned=True
    )
    page = listing.newest(1)[0]
    assert (page.title, page.kind, page.saved_on) == ("Plan", "pdf", (A_MOMENT + timedelta(days=20)).date())
