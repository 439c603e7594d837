import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.district import signedpacks
from proxy.district.signedpacks import own_key, public_text, read_signed, trusted_keys, write_signed
from proxy.errors import SettingsError
from repair.collection.pins import Pin

_NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_PIN = Pin(url="http://a.example/old", target="http://b.example/new", by="ida", at=_NOW)
_REPAIR = b'{"version":1,"school":"A"}\n'


@pytest.fixture
def key(tmp_path):
    return own_key(tmp_path)


@pytest.fixture
def trusted(key):
    return trusted_keys([f"School A = {public_text(key)}"])


def written(key, *, now=_NOW):
    return write_signed("Calls itself B", [_REPAIR], [_PIN], key, now=now)


def test_a_signed_file_is_read_under_the_name_that_this_school_gave_the_key(key, trusted):
    found = read_signed(written(key), trusted, now=_NOW + timedelta(days=59))
    assert (found.school, found.repairs) == ("School A", (_REPAIR.strip(),))
    assert found.pins == ((_PIN.url, _PIN.target),)
    assert signedpacks.is_signed(written(key))
    assert b"ida" not in written(key)


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path, key):
    assert public_text(own_key(tmp_path)) == public_text(key)
    assert (tmp_path / signedpacks.KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_no_byte_of_a_file_can_be_changed(key, trusted):
    content = written(key)
    for at in range(0, len(content) - 1, 7):
        changed = bytes([*content[:at], content[at] ^ 1, *content[at + 1 :]])
        with pytest.raises(ValueError, match=r"."):
            read_signed(changed, trusted, now=_NOW)


def test_no_line_can_be_left_out_added_or_moved_to_another_file(key, trusted):
    header, repair, pin, signature = written(key).splitlines(keepends=True)
    other = written(key).splitlines(keepends=True)
    for lines in (
        (header, pin, signature),
        (header, repair, repair, pin, signature),
        (header, repair, pin),
        (other[0], repair, pin, signature),
        (header, repair, pin, other[3]),
    ):
        with pytest.raises(ValueError, match=r"."):
            read_signed(b"".join(lines), trusted, now=_NOW)


def test_another_key_is_refused_though_it_claims_the_name(tmp_path, trusted):
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="not trusted"):
        read_signed(written(own_key(tmp_path / "other")), trusted, now=_NOW)


@pytest.mark.parametrize("days", [61, -400])
def test_an_expired_file_is_refused_and_one_that_counts_for_ever(key, trusted, days):
    with pytest.raises(ValueError, match="counted until"):
        read_signed(written(key), trusted, now=_NOW + timedelta(days=days))


@given(st.binary(max_size=300))
def test_any_other_bytes_are_refused_with_a_reason(content):
    with pytest.raises(ValueError, match="signed"):
        read_signed(content, {}, now=_NOW)


@pytest.mark.parametrize("named", ["School A", "School A = short", " = " + "A" * 44, "School A=" + "A" * 44])
def test_a_wrong_key_in_the_settings_is_an_error(named):
    with pytest.raises(SettingsError, match="pack_keys"):
        trusted_keys([named])


def test_a_header_of_a_later_form_is_refused(key, trusted):
    header = json.loads(written(key).splitlines()[0])
    assert header["form"].endswith(" 1")
    content = written(key).replace(b"repairs 1", b"repairs 2", 1)
    with pytest.raises(ValueError, match="expected"):
        read_signed(content, trusted, now=_NOW)
