"""A response to one user's Cookie or password reaches no other user, and no secret is on disk in clear."""

import pytest

from tests.integration.origin import reply
from tests.integration.processes import eventually

MODIFIED = "Mon, 04 May 2020 12:00:00 GMT"
LARGE = 2 * 1024 * 1024


def by_cookie(*, kind="image/png", size=0, **said):
    """A picture that differs for each Cookie."""

    async def answer(exchange):
        body = f"for {exchange.headers.get('cookie', 'everyone')}".ljust(size)
        await exchange.send(reply(body, kind=kind, **said))

    return answer


def is_hit(answer):
    return "hit" in answer.headers["Cache-Status"]


@pytest.mark.parametrize(
    "kind", ["image/png", "text/css", "application/javascript", "font/woff2", "video/mp4"]
)
@pytest.mark.parametrize(
    "said", [{"Last_Modified": MODIFIED}, {"Cache_Control": "max-age=600", "ETag": '"a"'}]
)
def test_picture_requested_with_a_cookie_is_not_shared(site, alice, bob, path, kind, said):
    site.pages[path] = by_cookie(kind=kind, **said)
    assert alice.get(site.url + path, Cookie="alice").text == "for alice"
    assert bob.get(site.url + path, Cookie="bob").text == "for bob"
    assert bob.get(site.url + path).text == "for everyone"
    assert is_hit(alice.get(site.url + path))


def test_large_picture_requested_with_a_cookie_is_not_shared(site, alice, bob, path):
    site.pages[path] = by_cookie(size=LARGE, Last_Modified=MODIFIED)
    assert alice.get(site.url + path, Cookie="alice").text.strip() == "for alice"
    assert bob.get(site.url + path, Cookie="bob").text.strip() == "for bob"
    assert bob.get(site.url + path).text.strip() == "for everyone"


@pytest.mark.parametrize("said", ["public, max-age=600", "s-maxage=600", "max-age=600, immutable"])
def test_picture_marked_public_is_shared_despite_a_cookie(site, alice, bob, path, said):
    site.pages[path] = reply("a picture", kind="image/png", Cache_Control=said)
    alice.get(site.url + path, Cookie="alice")
    assert is_hit(bob.get(site.url + path, Cookie="bob"))


@pytest.mark.parametrize("size", [10, LARGE])
def test_picture_equal_without_cookie_is_shared(site, alice, bob, path, size):
    site.pages[path] = reply("x" * size, kind="image/png", Cache_Control="max-age=600")
    alice.get(site.url + path)
    reload = {"Cache_Control": "no-cache"}
    assert not is_hit(alice.get(site.url + path, Cookie="alice", **reload))
    site.pages[path] = reply("y" * size, kind="image/png", Cache_Control="max-age=600")
    alice.get(site.url + path, Cookie="alice", **reload)  # other bytes: seen with a Cookie only
    assert bob.get(site.url + path, Cookie="bob").text == "x" * size
    assert is_hit(bob.get(site.url + path, Cookie="bob"))


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "X-Auth-Token"])
def test_response_varying_by_credentials_is_not_stored_and_no_secret_is_on_disk(
    running, site, alice, bob, path, name
):
    site.pages[path] = reply("a page", Cache_Control="public, max-age=600", Vary=name, ETag='"a"')
    secret = f"secret-of-alice-{abs(hash(path + name))}"
    alice.get(site.url + path, **{name.replace("-", "_"): secret})
    assert not is_hit(alice.get(site.url + path, **{name.replace("-", "_"): secret}))
    bob.get(site.url + path)
    assert is_hit(bob.get(site.url + path))  # anonymous users share theirs

    def files_with(word):
        return [file for file in running.data.rglob("*") if file.is_file() and word in file.read_bytes()]

    eventually(lambda: files_with(path.encode()), "the page was not written")
    assert not files_with(secret.encode())


def test_picture_that_all_are_sent_alike_with_cookies_is_asked_for_without_one_and_then_shared(
    site, alice, bob, path
):
    asked = []

    async def answer(exchange):
        asked.append(exchange.headers.get("cookie"))
        await exchange.send(reply("a picture", kind="image/png", Last_Modified=MODIFIED))

    site.pages[path] = answer
    alice.get(site.url + path, Cookie="alice")
    bob.get(site.url + path, Cookie="bob")
    eventually(lambda: is_hit(alice.get(site.url + path, Cookie="alice")), "the picture is not shared")
    assert asked.count(None) == 1
    assert bob.get(site.url + path, Cookie="bob").text == "a picture"


def test_picture_that_only_members_are_sent_is_not_shared_though_they_are_sent_it_alike(
    site, alice, bob, path
):
    asked = []

    async def answer(exchange):
        asked.append(exchange.headers.get("cookie"))
        body = "for members" if asked[-1] else "sign in"
        await exchange.send(reply(body, kind="image/png", Last_Modified=MODIFIED))

    site.pages[path] = answer
    alice.get(site.url + path, Cookie="alice")
    bob.get(site.url + path, Cookie="bob")
    eventually(lambda: None in asked, "nobody asked without a Cookie")
    for user, cookie in (alice, "alice"), (bob, "bob"):
        answered = user.get(site.url + path, Cookie=cookie)
        assert (answered.text, is_hit(answered)) == ("for members", False)
    assert bob.get(site.url + path).text == "sign in"
