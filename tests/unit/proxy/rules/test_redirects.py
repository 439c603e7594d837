"""proxy.rules.redirects: templates filled, and nothing in an address that leads out of them."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.redirects import check_template, target


@pytest.mark.parametrize(
    ("template", "url", "leads_to"),
    [
        ("https://new.test{path}", "http://old.test/a/b?c=d", "https://new.test/a/b"),
        ("https://new.test/{path}", "http://old.test/a/b", "https://new.test/a/b"),
        ("https://new.test{path}?{query}", "http://old.test/a?b=c&d=%20", "https://new.test/a?b=c&d=%20"),
        ("https://new.test{path}?{query}", "http://old.test/a", "https://new.test/a"),
        ("https://{host}{path}", "http://old.test:8000/a", "https://old.test/a"),
        (
            "https://find.test/?q={url}",
            "http://old.test/a?b=c&d=e",
            "https://find.test/?q=http%3A%2F%2Fold.test%2Fa%3Fb%3Dc%26d%3De",
        ),
        (
            "https://web.archive.test/web/{url}",
            "http://old.test/a?b=c",
            "https://web.archive.test/web/http://old.test/a%3Fb=c",
        ),
        ("https://new.test/page#part", "http://old.test/", "https://new.test/page#part"),
        ("https://new.test/#{path}", "http://old.test/a b", "https://new.test/#%2Fa%2520b"),
    ],
)
def test_parts_are_encoded_for_where_they_stand(template, url, leads_to):
    check_template(template)
    assert target(template, url) == leads_to


def test_a_redirect_to_the_same_address_has_no_target():
    assert target("https://www.a.test{path}", "https://www.a.test/x") == ""
    assert target("https://www.a.test{path}", "http://www.a.test/x") == "https://www.a.test/x"


def test_the_query_cannot_climb_out_of_its_folder():
    assert target("https://a.test/wiki/{query}", "http://b.test/?/../../admin") == (
        "https://a.test/wiki/%2F..%2F..%2Fadmin"
    )
    assert target("https://a.test/wiki/{query}", "http://b.test/?..") == ""
    assert target("https://a.test/web/{url}", "http://b.test/?/../../../../x").startswith(
        "https://a.test/web/http://b.test/"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "javascript:alert(1)",
        "//evil.test/",
        "ftp://a.test/",
        "{url}",
        "https://{path}/",
        "https://a.test{query}",
        "https://a.test:{path}",
        "https://user@a.test/",
        "https://a.test/{nothing}",
        "https://a.test/{path",
        "https://a.test/}",
        "https:///x",
        "https://a.test\\@b.test/",
        "https://a.test/" + "x" * 2000,
    ],
)
def test_a_template_that_could_lead_anywhere_is_refused(wrong):
    with pytest.raises(ValueError, match="."):
        check_template(wrong)


templates = st.sampled_from(
    [
        "https://new.test{path}?{query}",
        "https://new.test/go?u={url}&h={host}",
        "https://new.test/{url}#{query}",
    ]
)


@given(templates, st.text(max_size=60), st.text(max_size=60))
def test_no_address_leads_to_another_host_than_the_template(template, path, query):
    found = target(template, f"http://old.test/{path}?{query}")
    assert found == "" or urlsplit(found).netloc == "new.test"
    assert found.isascii()
    assert found.isprintable()
    assert " " not in found
