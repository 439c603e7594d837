import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.messages import StoredResponse
from proxy.store.records import DamagedRecord, decode, encode, record_of, response_of, variant_name

TEXT = st.text(st.characters(max_codepoint=255))
HEADERS = st.lists(st.tuples(TEXT, TEXT), max_size=4).map(tuple)
RESPONSES = st.builds(
    StoredResponse,
    status=st.integers(100, 599),
    reason=TEXT,
    headers=HEADERS,
    body=st.binary(max_size=100),
    vary=HEADERS,
    requested_at=st.floats(0, 1e10),
    received_at=st.floats(0, 1e10),
    pinned=st.booleans(),
)


@given(RESPONSES)
def test_a_response_comes_back_as_it_went(response):
    record = decode(encode(record_of(response, in_record_bytes=100)))
    assert response_of(record, record.body) == response


@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_the_reading(data):
    for attempt in (data, b"\x01" + data, None, "text", 5):
        with pytest.raises(DamagedRecord):
            decode(attempt)


@given(RESPONSES, st.data())
def test_a_record_with_any_byte_changed_or_lost_is_damaged(response, data):
    whole = encode(record_of(response, in_record_bytes=100))
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    for attempt in (bytes(changed), whole[:place]):
        with pytest.raises(DamagedRecord):
            decode(attempt)


def test_variants_have_names_of_their_own():
    varies = [(), (("a", "b"),), (("a", ""), ("b", "")), (("ab", ""),), (("", "ab"),)]
    assert len({variant_name(vary) for vary in varies}) == len(varies)
