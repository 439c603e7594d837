"""Fix for everybody: proposals, pins, and undo."""

import contextlib

import pytest

from proxy.lessons.errors import WorksheetError
from proxy.lessons.fixes import Fixes
from proxy.lessons.model import ProposalState
from proxy.lessons.teacherstore import TeacherStore
from repair.collection.database import Database
from repair.collection.pins import Pins

DEAD, NEW, OTHER = "http://site.test/dead", "http://site.test/new", "http://site.test/other"


@pytest.fixture
def pins(tmp_path):
    return Pins(Database(tmp_path / "pins.sqlite"))


@pytest.fixture
def fixes(tmp_path, pins):
    with contextlib.closing(TeacherStore(tmp_path / "teachers.sqlite")) as store:
        yield Fixes(store, pins)


def target(pins):
    found = pins.of(DEAD)
    return found.target if found else None


def test_a_proposal_is_pinned_only_when_it_is_approved_and_undone_again(fixes, pins):
    made = fixes.propose(DEAD, NEW, "Ms A", at_once=False)
    assert (made.state, target(pins)) == (ProposalState.WAITING, None)
    assert fixes.approve(made.id, "admin").by == "Ms A"
    assert target(pins) == NEW
    assert fixes.approve(made.id, "admin") is None
    fixes.undo(made.id, "admin")
    assert target(pins) is None
    assert fixes.refuse(made.id, "admin").state is ProposalState.REFUSED
    assert target(pins) is None


def test_undoing_brings_back_what_was_pinned_before(fixes, pins):
    first = fixes.propose(DEAD, OTHER, "Mr B", at_once=True)
    second = fixes.propose(DEAD, NEW, "Ms A", at_once=True)
    assert (first.state, target(pins)) == (ProposalState.APPROVED, NEW)
    fixes.take_back(second.id, "Ms A")
    assert target(pins) == OTHER


def test_undoing_leaves_a_later_pin_alone(fixes, pins):
    made = fixes.propose(DEAD, NEW, "Ms A", at_once=True)
    later = fixes.propose(DEAD, OTHER, "Mr B", at_once=True)
    fixes.undo(made.id, "admin")
    assert target(pins) == OTHER
    assert later.state is ProposalState.APPROVED


def test_a_teacher_takes_back_only_what_is_theirs_and_no_reviewer_approved(fixes, pins):
    made = fixes.propose(DEAD, NEW, "Ms A", at_once=False)
    fixes.take_back(made.id, "Mr B")
    fixes.approve(made.id, "admin")
    with pytest.raises(WorksheetError, match="decided"):
        fixes.take_back(made.id, "Ms A")
    assert target(pins) == NEW


@pytest.mark.parametrize(
    ("url", "to"),
    [
        (DEAD, "http://site.test/reset?token=9f8e7d6c5b4a39281706f5e4d3c2b1a0"),
        ("http://site.test/reset?token=9f8e7d6c5b4a39281706f5e4d3c2b1a0", NEW),
        (DEAD, DEAD + "/"),
        (DEAD, "javascript:alert(1)"),
    ],
)
def test_what_is_private_or_no_page_is_not_for_everybody(fixes, pins, url, to):
    with pytest.raises(WorksheetError):
        fixes.propose(url, to, "Ms A", at_once=True)
    assert pins.count() == 0


def test_proposals_of_one_teacher_are_bounded(fixes):
    for number in range(100):
        fixes.propose(f"{DEAD}/{number}", NEW, "Ms A", at_once=False)
    with pytest.raises(WorksheetError, match="too_many"):
        fixes.propose(DEAD, NEW, "Ms A", at_once=False)
    assert fixes.propose(DEAD, NEW, "Mr B", at_once=False)


def test_removed_page_leaves_no_proposal_and_no_suggestion(fixes, tmp_path):
    fixes.propose("http://lost.test/x", "http://gone.test/secret-page", "Ms A", at_once=False)
    fixes.store.suggest("", "http://www.gone.test/secret-page/", "unusual words")
    fixes.store.suggest("", "http://gone.test/other", "kept")
    assert fixes.store.forget("https://gone.test/secret-page") == 2
    assert fixes.store.proposals() == ()
    assert [each.words for each in fixes.store.suggestions("")] == ["kept"]
    for file in tmp_path.glob("teachers.sqlite*"):
        assert b"secret-page" not in file.read_bytes()
        assert b"unusual" not in file.read_bytes()
