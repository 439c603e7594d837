"""repair.collection.spelling: did you mean ...?"""

import pytest

from repair.collection.spelling import suggest
from tests.holdings import a_collection, a_document


@pytest.fixture
def collection(tmp_path):
    with a_collection(
        tmp_path,
        a_document("/1", title="Volcanoes and lava", text="Magma rises. Photosynthesis is another subject."),
        a_document("/2", title="Rivers", text="Water flows downhill. نهر النيل طويل"),
    ) as made:
        yield made


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("volcanos", ""),  # the stem is known
        ("volkanoes", "volcanoes"),
        ("photosyntesis in plants", "photosynthesis in plants"),
        ("Magna and watr", "magma and water"),
        ("xqzzt", ""),
        ("lva", ""),  # too short to tell
        ("", ""),
    ],
)
def test_unknown_words_are_replaced_by_known_ones(collection, typed, meant):
    assert suggest(collection, typed).lower() == meant


def test_an_empty_collection_suggests_nothing(tmp_path):
    with a_collection(tmp_path) as empty:
        assert suggest(empty, "volkanoes") == ""
