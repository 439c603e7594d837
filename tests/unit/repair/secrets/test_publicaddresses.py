import pytest

from repair.secrets.publicaddresses import is_shareable


def test_public_page_is_shareable():
    assert is_shareable("https://school.test/lessons/water?page=2")


@pytest.mark.parametrize(
    "address",
    [
        "http://school.test/page?sessionid=1",
        "http://school.test/find?q=divorce",
        "http://10.0.0.5/marks",
        "http://intranet/marks",
        "http://files.internal/marks",
        "http://school.test/" + "a" * 2_000,
        "nonsense",
    ],
)
def test_personal_private_and_searched_addresses_are_not(address):
    assert not is_shareable(address)
