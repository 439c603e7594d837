"""Likeness of addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.urlstructure import UNLIKE, likeness, normalise_name, normalise_part, structure_of

OLD = "http://school.test/science/water-cycle.html"


@pytest.mark.parametrize(
    ("candidate", "feature"),
    [
        ("http://school.test/science/rain.html", "same_directory"),
        ("http://www.school.test/geography/water-cycle.html", "same_site"),
        ("http://school.test/geography/water-cycle.html", "same_name"),
        ("http://school.test/geography/Water_Cycle/", "same_slug"),
        ("http://school.test/geography/WaterCycle.php", "same_slug"),
        ("http://school.test/files/water_cycle.docx", "same_slug"),
        ("http://school.test/pictures/WaterCycle.JPG", "same_slug"),
        ("http://school.test/science/water-cycle/index.html", "same_slug"),
    ],
)
def test_common_parts_of_urls_are_measured(candidate, feature):
    assert getattr(likeness(OLD, candidate), feature) == 1.0


def test_differences_of_urls_are_measured():
    found = likeness(OLD, "http://other.test/geography/rivers.html")
    assert (found.same_site, found.same_directory, found.same_name, found.same_slug) == (0, 0, 0, 0)


def test_the_same_directory_on_another_host_is_not_the_same():
    assert likeness(OLD, "http://other.test/science/rain.html").same_directory == 0.0


def test_a_number_that_moved_from_the_query_into_the_path_is_seen():
    assert likeness("http://a.test/show.php?id=4711", "http://a.test/articles/4711-rain").same_number == 1.0


def test_shared_parameters_count_by_their_share():
    assert likeness("http://a.test/x?id=7&lang=en", "http://a.test/y?lang=fr&id=7").same_parameter == 0.5


def test_a_slug_with_a_word_more_is_likelier_than_another_slug():
    more = likeness(OLD, "http://school.test/the-water-cycle")
    other = likeness(OLD, "http://school.test/volcanoes")
    assert more.slug_within > 0.7 > other.slug_within
    assert more.slug > other.slug


def test_roots_have_no_name_to_share():
    found = likeness("http://a.test/", "http://b.test/index.html")
    assert (found.same_name, found.same_slug, found.slug, found.path) == (0, 0, 0, 0)


def test_only_an_address_s_suffix_of_a_file_says_nothing_a_title_s_may():
    assert normalise_part("water-cycle.jpg") == normalise_name("Water cycle") == "watercycle"
    assert normalise_name("Favicon.png") == "faviconpng"


def test_a_name_of_nothing_but_signs_stays_itself():
    assert normalise_part("---") == "---"
    assert normalise_part(".html") == "html"


@pytest.mark.parametrize("nonsense", ["", "mailto:a@b", "http://", "http://[::1", "x" * 10_000])
def test_an_invalid_url_is_unlike_any_other(nonsense):
    assert likeness(nonsense, OLD) == UNLIKE
    assert likeness(OLD, nonsense) == UNLIKE


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_likeness_is_between_0_and_1(left, right):
    found = likeness(f"http://a.test/{left}", f"http://a.test/{right}")
    assert all(0.0 <= value <= 1.0 for value in found)


@given(st.text(alphabet="abcAB12-_./?=&%", max_size=40))
def test_an_address_is_like_itself(tail):
    found = likeness(f"http://a.test/{tail}", f"http://a.test/{tail}")
    assert found.same_host == found.depth == 1.0
    assert found.path in (0.0, 1.0)


@given(st.text(alphabet="aB1-_./~", max_size=30), st.text(alphabet="aB1-_.=&", max_size=12))
def test_plain_addresses_are_taken_apart_as_all_others_are(path, query):
    """The short way through `build` and the long one, which a user name forces, agree."""
    tail = f"a.test/{path}" + (f"?{query}" if query else "")
    assert structure_of(f"http://{tail}") == structure_of(f"http://user@{tail}")


def test_names_that_a_machine_drew_are_alike_only_when_they_are_the_same():
    drawn = likeness("http://a.test/cafe/face.html", "http://a.test/53ff4d5b38de2ece")
    assert (drawn.path, drawn.slug, drawn.tail, drawn.slug_within, drawn.same_number) == (0, 0, 0, 0, 0)
    kept = likeness("http://a.test/old/53ff4d5b38de2ece", "http://a.test/new/53ff4d5b38de2ece")
    assert kept.same_slug == kept.slug == 1
    assert kept.tail > 0


def test_a_long_number_is_an_identifier_not_noise():
    assert likeness("http://a.test/item/201711240001", "http://a.test/i/201711240001").same_number == 1
