import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.archives.findings import Findings
from proxy.misses.record import MissRecord
from proxy.office import messages, wire
from proxy.readers.withheld import Withheld
from repair.memento.model import TimeMap
from repair.model import Alternative, MissKind, Span
from tests.make import A_MOMENT, a_broken_link, a_page

LINK = a_broken_link(anchor="Marmots", source_url="http://school.test/")
NOTES = (
    messages.Record(record=MissRecord(id="a", at=A_MOMENT, url="http://a.test/", kind=MissKind.GONE)),
    messages.Chosen(miss_id="a", number=3, client="b", network="c"),
    messages.Offer(page=a_page(body=b"\x00\xff")),
    messages.Missed(miss_id="a", client="b", link=LINK, ask=True),
)


def heard(reader_bytes):
    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(reader_bytes)
        reader.feed_eof()
        return await wire.read_frame(reader)

    return asyncio.run(read())


@pytest.mark.parametrize("note", NOTES)
def test_a_note_arrives_as_it_was_told(note):
    assert messages.TO_OFFICE.decode(heard(wire.frame(messages.Told(note=note)))).note == note


def test_news_arrive_as_they_were_shared():
    page = Withheld(kind=MissKind.SOFT_404, missed="http://a.test/x", url="http://a.test/", sketch=(1, 2))
    news = messages.PageWithheld(miss_id="a", client="b", page=page)
    assert messages.TO_WORKER.decode(heard(wire.frame(messages.Shared(news=(news,))))).news == (news,)


def test_what_was_found_arrives_with_numbers_of_numpy():
    found = Alternative(
        url="http://a.test/", title="A", snippet=(Span(text="a", marked=True),), score=np.float64(0.5)
    )
    assert messages.ALTERNATIVES.decode(wire.encoded((found,))) == (found,)


def test_answers_of_which_a_part_may_be_missing_arrive():
    assert messages.COPY.decode(wire.encoded(None)) is None
    found = Findings(link=LINK, found=TimeMap(url=LINK.url))
    assert messages.FINDINGS.decode(wire.encoded(found)) == found


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_text_can_be_said(text):
    note = messages.Moved(old=f"http://a.test/{text}", new=text)
    arrived = messages.TO_OFFICE.decode(wire.frame(messages.Told(note=note))[4:]).note
    assert arrived.new == text.encode("utf-8", "replace").decode()


def test_halves_of_surrogate_pairs_in_a_page_do_not_keep_its_bytes_from_being_sent():
    page = a_page(body=b"\xff\xfe", headers=(("X-Name", "caf\udce9"),))
    arrived = messages.TO_OFFICE.decode(wire.frame(messages.Told(note=messages.Offer(page=page)))[4:]).note
    assert arrived.page.body == page.body
    assert arrived.page.fetched_at == page.fetched_at


def test_what_is_too_long_is_neither_sent_nor_read():
    with pytest.raises(wire.TooLong):
        wire.frame(messages.Told(note=messages.Offer(page=a_page(body=bytes(wire.MAX_BYTES)))))
    with pytest.raises(wire.TooLong):
        heard((wire.MAX_BYTES + 1).to_bytes(4))
