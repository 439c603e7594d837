import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.sharing.bounds import LARGEST_FIELD, LARGEST_HEAD, MOST_FIELDS, is_moderate, without_excess
from tests.caching import FIELD_TEXT, HEADERS


def test_headers_of_real_sites_are_within_the_limits():
    assert is_moderate(
        (("Content-Security-Policy", "x" * 12_000), ("Cache-Control", "max-age=1"), ("ETag", '"a"'))
    )


@pytest.mark.parametrize(
    "name", ["Cache-Control", "vary", "ETag", "Age", "Expires", "Content-Language", "Date"]
)
def test_a_field_that_is_read_at_every_hit_has_a_limit_over_all_its_lines(name):
    assert not is_moderate(((name, "a" * LARGEST_FIELD),))
    assert not is_moderate(tuple((name, "a" * 10) for _ in range(100)))
    assert is_moderate(((name, "a" * (LARGEST_FIELD - 50)),))


def test_so_have_all_fields_together_and_their_number():
    assert not is_moderate((("Link", "a" * LARGEST_HEAD),))
    assert not is_moderate((("a" * LARGEST_HEAD, ""),))
    assert not is_moderate(tuple(("a", "") for _ in range(MOST_FIELDS + 1)))


@given(HEADERS, st.sampled_from(["Vary", "Link", "X"]), FIELD_TEXT, st.integers(0, 2000))
def test_an_import_is_cut_to_the_limits(headers, name, text, times):
    assert is_moderate(without_excess((*headers[:4], (name, text * times))))
