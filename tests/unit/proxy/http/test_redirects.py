import pytest

from proxy.http.errors import InvalidRedirect
from proxy.http.redirects import follow_redirects
from tests.make import a_page

SITE = "http://school.test"


def site(**targets):
    """Pages that redirect to others; what is not named is there."""

    async def get(url):
        target = targets.get(url.rpartition("/")[2])
        if target is None:
            return a_page(url)
        return a_page(url, status=302, headers=(("Location", target),))

    return get


async def test_a_page_comes_with_the_redirects_to_it():
    page, hops = await follow_redirects(site(a="/b", b="c"), f"{SITE}/a", limit=2)
    assert page.url == f"{SITE}/c"
    assert [hop.url for hop in hops] == [f"{SITE}/a", f"{SITE}/b"]


async def test_there_is_an_end_to_redirects():
    with pytest.raises(InvalidRedirect, match="more than 1 "):
        await follow_redirects(site(a="/b", b="c"), f"{SITE}/a", limit=1)


@pytest.mark.parametrize("target", ["", "ftp://school.test/", "javascript:alert(1)", "http://[::1"])
async def test_a_redirect_to_what_is_no_web_address_is_refused(target):
    with pytest.raises(InvalidRedirect, match="nowhere"):
        # An empty Location leads back to the page itself, so it is written as one that is missing.
        await follow_redirects(site(a=target or "mailto:x"), f"{SITE}/a", limit=1)
