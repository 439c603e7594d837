"""Bytes to text: content codings and character encodings, honest and otherwise."""

import gzip
import time
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from repair.parse.decode import body_text, identity_body
from tests.make import a_page

LIMIT = 1_000_000
CODINGS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
GERMAN = "<p>Größe, café — “Schule”</p>"
RUSSIAN = "<p>Школьная библиотека открыта по понедельникам и четвергам</p>" * 3
JAPANESE = "<p>学校の図書館は月曜日に開いています。</p>" * 5


def coded(body, coding, content_type="text/html; charset=utf-8"):
    return a_page(body=body, content_type=content_type, headers=(("Content-Encoding", coding),))


@pytest.mark.parametrize("coding", CODINGS)
def test_every_content_coding_of_the_web_is_undone(coding):
    assert body_text(coded(CODINGS[coding](GERMAN.encode()), coding), LIMIT) == GERMAN


@pytest.mark.parametrize("coding", CODINGS)
def test_a_decompression_bomb_stops_at_the_limit_and_gives_nothing(coding):
    bomb = CODINGS[coding](bytes(50_000_000))
    started = time.thread_time()
    assert identity_body(coded(bomb, coding), LIMIT) is None
    assert time.thread_time() - started < 2


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_not(coding):
    body = coded(CODINGS[coding](b"x" * 1000), coding)
    assert identity_body(body, 1000) == b"x" * 1000
    assert identity_body(body, 999) is None


@pytest.mark.parametrize("coding", [*CODINGS, "unheard-of"])
def test_a_broken_or_unknown_coding_gives_nothing(coding):
    assert body_text(coded(b"not what it says", coding), LIMIT) is None


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_cut_short_gives_nothing(coding):
    assert identity_body(coded(CODINGS[coding](GERMAN.encode() * 50)[:-5], coding), LIMIT) is None


def test_raw_deflate_is_decoded_too():
    packer = zlib.compressobj(wbits=-15)
    body = packer.compress(GERMAN.encode()) + packer.flush()
    assert body_text(coded(body, "deflate"), LIMIT) == GERMAN


def test_codings_are_undone_in_reverse():
    assert body_text(coded(brotli.compress(gzip.compress(b"<p>x")), "gzip, br"), LIMIT) == "<p>x"


def test_too_many_codings_give_nothing():
    assert identity_body(coded(b"x", "gzip, gzip, gzip, gzip"), LIMIT) is None


def test_several_gzip_members_and_padding_are_one_body():
    assert identity_body(coded(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0", "gzip"), LIMIT) == b"ab"


def test_an_empty_body_is_empty_whatever_its_coding():
    assert body_text(coded(b"", "br"), LIMIT) == ""


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (GERMAN.encode(), "text/html", GERMAN),
        (GERMAN.encode("cp1252"), "text/html; charset=iso-8859-1", GERMAN),
        (RUSSIAN.encode("cp1251"), "text/html; charset=windows-1251", RUSSIAN),
        (RUSSIAN.encode("cp1251"), "text/html", RUSSIAN),
        (JAPANESE.encode("shift_jis"), "text/html; charset=Shift_JIS", JAPANESE),
        (JAPANESE.encode("euc_jp"), "text/html", JAPANESE),
        (JAPANESE.encode("iso2022_jp"), "text/html; charset=iso-2022-jp", JAPANESE),
        (GERMAN.encode("utf-16"), "text/html", GERMAN),
        (GERMAN.encode("utf-8-sig"), "text/html; charset=iso-8859-1", GERMAN),
    ],
)
def test_the_encoding_comes_from_header_byte_order_mark_or_content(body, content_type, expected):
    assert body_text(a_page(body=body, content_type=content_type), LIMIT) == expected


@pytest.mark.parametrize(
    "meta",
    [
        '<meta charset="windows-1251">',
        "<META http-equiv=Content-Type content='text/html; charset=windows-1251'>",
    ],
)
def test_the_encoding_comes_from_the_page(meta):
    text = meta + "<p>Да"
    assert body_text(a_page(body=text.encode("cp1251"), content_type="text/html"), LIMIT) == text


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (GERMAN.encode(), "text/html; charset=iso-8859-1", GERMAN),
        (RUSSIAN.encode("cp1251"), "text/html; charset=utf-8", RUSSIAN),
        (JAPANESE.encode("euc_jp"), "text/html; charset=shift_jis", JAPANESE),
        (GERMAN.encode(), "text/html; charset=no-such-thing", GERMAN),
        (b"<meta charset=utf-16><p>plain", "text/html", "<meta charset=utf-16><p>plain"),
    ],
)
def test_a_wrong_encoding_label_is_corrected(body, content_type, expected):
    assert body_text(a_page(body=body, content_type=content_type), LIMIT) == expected


def test_the_encoding_in_the_page_overrides_the_server_default():
    text = '<meta charset="koi8-r">' + RUSSIAN
    page = a_page(body=text.encode("koi8_r"), content_type="text/html; charset=iso-8859-1")
    assert body_text(page, LIMIT) == text


def test_a_stray_byte_costs_only_itself():
    body = (GERMAN * 10).encode() + b"\xff" + b"<p>end"
    assert body_text(a_page(body=body), LIMIT) == GERMAN * 10 + "\ufffd<p>end"


@given(st.binary(max_size=300), st.sampled_from([*CODINGS, "", "identity", "gzip, br"]), st.text(max_size=20))
def test_garbage_never_raises(body, coding, charset):
    text = body_text(coded(body, coding, f"text/html; charset={charset}"), LIMIT)
    assert text is None or isinstance(text, str)
