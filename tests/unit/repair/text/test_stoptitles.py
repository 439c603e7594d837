"""Titles that say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.text.stoptitles import is_stop_title, stop_share


@pytest.mark.parametrize(
    "title",
    ["Home", "HOME PAGE", "Untitled Document", "index.html", "Welcome!", "Appendix A", "Dissertation", "Page 3", "",
     "404", "Home | Welcome", "Página principal", "Accueil", "الصفحة الرئيسية", "Karibu", "मुख्य पृष्ठ", "首页", "ホーム",
     "Новости"],
)  # fmt: skip
def test_titles_that_every_site_has_say_nothing(title):
    assert is_stop_title(title)


@pytest.mark.parametrize(
    "title",
    ["The water cycle", "Introduction to the water cycle", "Home remedies", "About volcanoes",
     "News of the Roman empire", "A", "The Who", "4.3 release notes", "2-6-0", "1984 by George Orwell", "水の循環"],
)  # fmt: skip
def test_titles_with_a_subject_say_something(title):
    assert not is_stop_title(title)


def test_an_admin_may_add_titles():
    assert not is_stop_title("Lesson plan")
    assert is_stop_title("Lesson plan", ["lesson plan"])


def test_the_share_is_by_words_or_letters():
    assert stop_share("Home volcano") == 0.5
    assert stop_share("Introduction x y z w") >= 12 / 16


@given(st.text(max_size=400))
def test_any_title_has_a_share(title):
    assert 0.0 <= stop_share(title) <= 1.0
