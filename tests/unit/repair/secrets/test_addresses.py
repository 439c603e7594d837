import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.secrets.addresses import has_secret, without_secret
from tests.capabilities import ORDINARY, TEMPLATES, capability_links


def test_capability_links_of_known_services_are_recognised():
    links = [link for seed in range(5) for link in capability_links(seed)]
    assert len(TEMPLATES) >= 200
    assert sum(map(has_secret, links)) >= 0.97 * len(links)


@pytest.mark.parametrize("url", ORDINARY)
def test_an_ordinary_address_carries_no_secret(url):
    assert not has_secret(url)


def test_an_address_is_kept_without_the_secret():
    for seed in range(3):
        for link in filter(has_secret, capability_links(seed)):
            assert not has_secret(without_secret(link))
            assert without_secret(link).count("/") >= 3


def test_an_ordinary_address_is_kept_as_it_is():
    assert [without_secret(url) for url in ORDINARY] == list(ORDINARY)


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/%72eset/%61%31b2c3d4e5",
        "http://school.test/page?k%65y=a1b2c3d4",
        "http://school.test/go?to=http%3A%2F%2Fa.test%2Fx%3Ftoken%3Deyes" + "A1b2C3d4E5f6G7h8",
        "http://school.test/page?user[reset_password_token]=abc",
        "http://school.test/page;token=abc",
        "http://school.test/page#access_token=abc",
        "http://school.test/page?for=name%2540school.test",
        "http://[bad",
        "http://school.test/a%3Ftoken=abc123",
        "http://school.test/a?x=1%26token=abc123",
        "http://school.test/a?q=1?token=abc123",
        "http://school.test/a?next=http%3A%2F%2Fother.test%2F%3Ftoken%3Dabc123",
        "http://school.test/a?next=https%253A%252F%252Fother.test%252F%253Ftoken%253Dabc123",
    ],
)
def test_a_secret_is_found_however_it_is_written(url):
    assert has_secret(url)


@given(st.text(max_size=200))
def test_any_text_is_accepted(text):
    for url in (text, f"http://a.test/{text}", f"http://a.test/?{text}", f"http://a.test/#{text}"):
        assert not has_secret(without_secret(url))


@pytest.mark.parametrize(
    "piece", ["eyJ", "a@", "a.", "%25", "A1", "/s/", ";s=", "a-b-", "@a.", "&k=1"], ids=lambda piece: piece
)
def test_an_adversarial_url_is_checked_quickly(piece):
    begun = time.process_time()
    has_secret("http://evil.test/x?" + piece * 200_000)
    has_secret("http://evil.test/" + piece * (3_900 // len(piece)))
    has_secret("http://evil.test/?q=" + piece * (3_900 // len(piece)))
    assert time.process_time() - begun < 0.5
