"""repair.evidence.archivedcopy: what a copy of the lost page says of it."""

from datetime import UTC, datetime, timedelta

import pytest

from repair.evidence.archivedcopy import ArchivedCopy, evidence_of, signature_words, title_query
from repair.memento.model import MementoCopy
from tests.archiving import a_memento
from tests.holdings import a_document
from tests.make import A_MOMENT, a_broken_link, a_page

TEXT = "The delta of the river carries water. Delta, delta: sediment and water, water of the Okavango."


class Collection:
    """So many pages, of which so many have a term."""

    def __init__(self, size=1000, **frequencies):
        self._size = size
        self._frequencies = frequencies

    def document_frequency(self, term, name="body"):
        return self._frequencies.get(term, 0)

    def size(self):
        return self._size


class Archives:
    """Has one copy, and remembers what it was asked."""

    def __init__(self, document, at=A_MOMENT):
        self._copy = MementoCopy(memento=a_memento(at.strftime("%Y%m%d")), page=a_page(), document=document)
        self.asked = []

    async def best(self, url, *, near=None):
        self.asked.append((url, near))
        return self._copy if self._copy.document else None


COMMON = Collection(water=900, river=500, carri=400)


def test_title_weighs_most_then_signature_then_divergent_terms():
    evidence = evidence_of(a_document(title="Inland deltas", text=TEXT), COMMON)
    terms = dict(evidence.terms)
    assert evidence.source == "copy"
    assert evidence.text == "Inland deltas"
    assert terms["inland"] == terms["delta"] == 1.0
    assert 1.0 > terms["okavango"] > terms.get("water", 0.0)


@pytest.mark.parametrize("title", ["Home", "Untitled document", ""])
def test_signature_replaces_a_stop_title(title):
    document = a_document(title=title, text=TEXT)
    evidence = evidence_of(document, COMMON)
    assert "home" not in dict(evidence.terms) or dict(evidence.terms)["home"] < 1.0
    assert evidence.text.split()[0] == "delta"
    assert title_query(document) == ""


def test_stop_titles_can_be_configured():
    assert title_query(a_document(title="Springfield School"), ["springfield school"]) == ""


def test_the_signature_is_seven_words_as_the_page_has_them():
    found = signature_words(a_document(title="", text=TEXT), COMMON)
    assert found[0] == "delta"
    assert {"sediment", "okavango"} < set(found)
    assert len(found) <= 7


def test_in_an_empty_collection_the_most_frequent_words_are_the_signature():
    assert set(signature_words(a_document(title="", text=TEXT), Collection(size=0), 2)) == {"delta", "water"}


def test_the_text_of_an_old_copy_counts_half_but_its_title_does_not():
    document = a_document(title="Inland", text=TEXT)
    fresh, old = (dict(evidence_of(document, COMMON, fresh=fresh).terms) for fresh in (True, False))
    assert old["inland"] == fresh["inland"]
    assert old["okavango"] == pytest.approx(fresh["okavango"] / 2)


def test_a_copy_without_words_is_no_evidence():
    assert evidence_of(a_document(title="", text=""), COMMON) is None


async def test_requests_the_copy_closest_to_the_time_the_link_was_made():
    archives = Archives(a_document(title="Inland deltas"))
    source = ArchivedCopy(archives, COMMON, made_at=lambda link: A_MOMENT)
    assert (await source.evidence(a_broken_link())).text == "Inland deltas"
    assert archives.asked == [("http://school.test/gone", A_MOMENT)]


async def test_memento_datetime_gives_the_age_of_a_copy():
    now = datetime.now(UTC)
    ages = (now - timedelta(days=30), now - timedelta(days=3000))
    document = a_document(title="Inland", text=TEXT)
    new, old = [
        dict((await ArchivedCopy(Archives(document, at), COMMON).evidence(a_broken_link())).terms)
        for at in ages
    ]
    assert old["okavango"] < new["okavango"]


async def test_no_evidence_when_no_archive_has_a_copy():
    assert await ArchivedCopy(Archives(None), COMMON).evidence(a_broken_link()) is None
