"""A HEAD or a 304 that updates a stored page passes the same checks as a page itself."""

import pytest

from tests.integration.origin import reply
from tests.integration.processes import eventually

TAG = '"v1"'


def is_hit(answer):
    return "hit" in answer.headers["Cache-Status"]


def echoing(*names, max_age=600):
    """A page whose Link and policy repeat what it was sent; it confirms its ETag."""

    async def answer(exchange):
        said = " ".join(exchange.headers[name] for name in names if name in exchange.headers)
        told = {"ETag": TAG, "Cache_Control": f"max-age={max_age}", "Content_Security_Policy": said or "none"}
        if exchange.headers.get("if-none-match") == TAG:
            fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
            await exchange.send(f"HTTP/1.1 304 Not Modified\r\n{fields}\r\n".encode())
        elif exchange.method == "HEAD":
            await exchange.send(reply("the page", **told).partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        else:
            await exchange.send(reply("the page", **told))

    return answer


ODD = [
    ("X-Forwarded-Host", "evil.test"),
    ("Cookie", "user=alice"),
    ("Authorization", "Basic ZXZpbA=="),
    ("X-Anything", "evil"),
    ("User-Agent", "<script>"),
]


@pytest.mark.parametrize(("name", "value"), ODD)
def test_head_with_an_unusual_field_changes_no_stored_page(site, alice, bob, path, name, value):
    site.pages[path] = echoing(name.lower())
    site.pages[path] = echoing(*(() if name == "User-Agent" else (name.lower(),)))
    alice.get(site.url + path)
    site.pages[path] = echoing(name.lower())
    head = alice.get(
        site.url + path, method="HEAD", Cache_Control="no-cache", **{name.replace("-", "_"): value}
    )
    assert head.headers["Content-Security-Policy"] == value
    after = bob.get(site.url + path)
    assert (after.headers["Content-Security-Policy"], is_hit(after)) == ("none", True)


def test_a_plain_head_refreshes_the_page(site, alice, bob, path):
    site.pages[path] = echoing()
    alice.get(site.url + path)
    changed = reply("the page", ETag=TAG, Cache_Control="max-age=600", Content_Security_Policy="new")
    site.pages[path] = changed
    alice.get(site.url + path, method="HEAD", Cache_Control="no-cache")
    after = bob.get(site.url + path)
    assert (after.headers["Content-Security-Policy"], is_hit(after)) == ("new", True)


def test_only_a_plain_head_removes_a_page_that_has_changed(site, alice, bob, path):
    site.pages[path] = echoing()
    alice.get(site.url + path)
    site.pages[path] = reply("a newer page", ETag='"v2"', Cache_Control="max-age=600")
    reload = {"method": "HEAD", "Cache_Control": "no-cache"}
    alice.get(site.url + path, X_Odd="1", **reload)
    assert is_hit(bob.get(site.url + path))
    alice.get(site.url + path, **reload)
    assert bob.get(site.url + path).text == "a newer page"


@pytest.mark.parametrize(("name", "value"), ODD)
def test_a_304_to_an_unusual_request_changes_no_stored_page(site, alice, bob, path, name, value):
    site.pages[path] = echoing(*(() if name == "User-Agent" else (name.lower(),)), max_age=0)
    alice.get(site.url + path)
    site.pages[path] = echoing(name.lower())
    mine = alice.get(site.url + path, **{name.replace("-", "_"): value})
    assert (mine.status, mine.headers["Content-Security-Policy"]) == (200, value)
    site.pages[path] = echoing()
    after = bob.get(site.url + path)
    assert (after.text, after.headers["Content-Security-Policy"]) == ("the page", "none")
    assert "fwd-status=304" in after.headers["Cache-Status"]  # the control: this one was merged
    assert is_hit(alice.get(site.url + path))


def test_a_304_to_a_background_request_changes_no_stored_page(site, alice, bob, path):
    told = {
        "ETag": TAG,
        "Cache_Control": "max-age=0, stale-while-revalidate=600",
        "Link": "<http://home.test/>",
    }
    site.pages[path] = reply("the page", **told)
    alice.get(site.url + path)
    asked = []

    async def answer(exchange):
        asked.append(exchange.headers)
        link = exchange.headers.get("x-forwarded-host", "") + exchange.headers.get("cookie", "")
        await exchange.send(reply("the page", **{**told, "Link": f"<http://{link or 'new.test'}/>"}))

    site.pages[path] = answer
    odd = {"X_Forwarded_Host": "evil.test", "Cookie": "a=1", "Authorization": "Basic eA=="}
    assert alice.get(site.url + path, **odd).text == "the page"
    eventually(lambda: asked, "nothing is asked in the background")
    # It carries nothing of the client whose request caused it, so the response is shared.
    assert not {"x-forwarded-host", "cookie", "authorization"} & asked[0].keys()
    eventually(
        lambda: bob.get(site.url + path).headers["Link"] == "<http://new.test/>", "what came is not stored"
    )


def test_changed_policies_of_a_304_reach_a_client_that_has_the_page(site, alice, bob, path):
    """As without a proxy: the browser gets what the site sends with its 304."""
    site.pages[path] = echoing(max_age=0)
    alice.get(site.url + path)

    async def answer(exchange):
        fields = f"ETag: {TAG}\r\nCache-Control: max-age=600\r\nContent-Security-Policy: new\r\n"
        fields += "Access-Control-Allow-Origin: *\r\n"
        await exchange.send(f"HTTP/1.1 304 Not Modified\r\n{fields}\r\n".encode())

    site.pages[path] = answer
    for client in (alice, bob):  # the first is asked for at the site, the second is a hit
        got = client.get(site.url + path, If_None_Match=TAG)
        assert got.status == 304
        assert (got.headers["Content-Security-Policy"], got.headers["Access-Control-Allow-Origin"]) == (
            "new",
            "*",
        )
        assert got.headers["Content-Length"] is None
        assert got.headers["Content-Type"] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("If-None-Match", "unquoted"), ("If-None-Match", 'W/"a" junk'), ("If-Modified-Since", "x")],
)
def test_unusual_condition_is_forwarded_unchanged(site, alice, path, name, value):
    site.pages[path] = echoing(max_age=0)
    alice.get(site.url + path)
    alice.get(site.url + path, **{name.replace("-", "_"): value})
    assert site.seen[-1].headers[name.lower()] == value
    alice.get(site.url + path, If_None_Match='"other"')
    assert (
        site.seen[-1].headers["if-none-match"] == TAG
    )  # the control: ours take the place of what we understand
