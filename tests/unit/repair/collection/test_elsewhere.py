import pytest

from repair.collection.database import Database
from repair.collection.elsewhere import Confirmation, ConfirmedElsewhere, OtherSchool

_LOST, _NEW = "http://www.example.org/old", "http://www.example.net/new"
_A, _B, _DISTRICT = (
    OtherSchool(school=1, name="School A"),
    OtherSchool(school=2, name="School B"),
    OtherSchool(school=9, name="the district", is_district=True),
)


@pytest.fixture
def elsewhere(tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    store = ConfirmedElsewhere(database)
    store.keep_schools((_A, _B, _DISTRICT))
    yield store
    database.close()


def said(school, target=_NEW, *, kind="pin", url=_LOST):
    return Confirmation(school=school.school, kind=kind, key=f"{kind} {url}".encode(), url=url, target=target)


def test_the_page_that_most_schools_name_comes_first_and_no_more_than_two_are_offered(elsewhere):
    elsewhere.note([said(_A, "http://a.example/"), said(_B, "http://b.example/")])
    elsewhere.note(
        [said(_A, "http://b.example/", kind="choice"), said(_B, "http://c.example/", kind="other")]
    )
    assert [(offer.target, offer.schools) for offer in elsewhere.offers(_LOST)] == [
        ("http://b.example/", ("School A", "School B")),
        ("http://a.example/", ("School A",)),
    ]


def test_the_districts_pin_comes_before_what_any_number_of_schools_say(elsewhere):
    elsewhere.note([said(_A), said(_B), said(_DISTRICT, "http://d.example/")])
    first, second = elsewhere.offers(_LOST)
    assert (first.target, first.is_pinned, second.is_pinned) == ("http://d.example/", True, False)


def test_a_move_of_the_district_is_no_pin(elsewhere):
    elsewhere.note([said(_DISTRICT, kind="move"), said(_A, kind="move")])
    assert [offer.is_pinned for offer in elsewhere.offers(_LOST)] == [False]


def test_a_school_that_says_something_unfit_says_nothing_any_more(elsewhere):
    elsewhere.note([said(_A)])
    elsewhere.note([said(_A, "http://10.0.0.1/admin")])
    assert elsewhere.offers(_LOST) == ()


def test_a_removed_page_is_neither_offered_nor_replaced(elsewhere):
    elsewhere.note([said(_A), said(_B, _LOST, url="http://www.example.org/older")])
    elsewhere.forget(_LOST)
    assert elsewhere.count() == 0


def test_what_a_school_with_a_signed_file_said_stays_when_the_districts_schools_change(elsewhere):
    signed = OtherSchool(school=-5, name="School C")
    elsewhere.replace_school(signed, [said(signed)])
    elsewhere.note([said(_A)])
    elsewhere.keep_schools((_B,))
    assert [offer.schools for offer in elsewhere.offers(_LOST)] == [("School C",)]
    assert elsewhere.names() == {"School B"}
    elsewhere.replace_school(signed, [])
    assert elsewhere.offers(_LOST) == ()


@pytest.mark.parametrize("url", ["", "mailto:a@b.example", "http://[", _LOST + "/deeper"])
def test_nothing_is_offered_for_other_addresses(elsewhere, url):
    elsewhere.note([said(_A)])
    assert elsewhere.offers(url) == ()
