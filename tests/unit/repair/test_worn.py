"""Older versions of pages, made up."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from repair.model import HeldPage
from repair.worn import worn


def a_page(url="http://a.test/1", text="One. Two. Three. Four. Five. Six. Seven.", title="Seven numbers"):
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    return HeldPage(
        url=url, title=title, text=text, language="en", fetched_at=moment, pinned=False, has_copy=False
    )


def test_an_older_version_has_some_of_the_sentences_in_their_order():
    page = a_page()
    older = [sentence for sentence in worn(page).text.split() if sentence]
    assert older == [sentence for sentence in page.text.split() if sentence in older]


def test_it_is_the_same_every_time_and_differs_from_page_to_page():
    assert worn(a_page()) == worn(a_page())
    assert len({worn(a_page(url=f"http://a.test/{at}")).text for at in range(20)}) > 5


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_page_can_be_worn(text, title):
    assert worn(a_page(text=text, title=title)).url == "http://a.test/1"
