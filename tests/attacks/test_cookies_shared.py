"""What was answered to one user's Cookie or password reaches no other, nor the disk in clear."""

import pytest

from tests.integration.origin import reply

MODIFIED = "Mon, 04 May 2020 12:00:00 GMT"
LARGE = 2 * 1024 * 1024


def by_cookie(*, kind="image/png", size=0, **said):
    """A picture that is another one for each Cookie."""

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
def test_a_picture_asked_for_with_a_cookie_is_nobody_elses(site, alice, bob, path, kind, said):
    site.pages[path] = by_cookie(kind=kind, **said)
    assert alice.get(site.url + path, Cookie="alice").text == "for alice"
    assert bob.get(site.url + path, Cookie="bob").text == "for bob"
    assert bob.get(site.url + path).text == "for everyone"
    assert is_hit(alice.get(site.url + path))


def test_a_large_one_is_not_either(site, alice, bob, path):
    site.pages[path] = by_cookie(size=LARGE, Last_Modified=MODIFIED)
    assert alice.get(site.url + path, Cookie="alice").text.strip() == "for alice"
    assert bob.get(site.url + path, Cookie="bob").text.strip() == "for bob"
    assert bob.get(site.url + path).text.strip() == "for everyone"


@pytest.mark.parametrize("said", ["public, max-age=600", "s-maxage=600", "max-age=600, immutable"])
def test_it_is_when_the_site_says_that_it_is_for_everyone(site, alice, bob, path, said):
    site.pages[path] = reply("a picture", kind="image/png", Cache_Control=said)
    alice.get(site.url + path, Cookie="alice")
    assert is_hit(bob.get(site.url + path, Cookie="bob"))


@pytest.mark.parametrize("size", [10, LARGE])
def test_or_when_the_same_bytes_were_also_sent_to_a_request_without_one(site, alice, bob, path, size):
    site.pages[path] = reply("x" * size, kind="image/png", Cache_Control="max-age=600")
    alice.get(site.url + path)
    reload = {"Cache_Control": "no-cache"}
    assert not is_hit(alice.get(site.url + path, Cookie="alice", **reload))
    site.pages[path] = reply("y" * size, kind="image/png", Cache_Control="max-age=600")
    alice.get(site.url + path, Cookie="alice", **reload)  # other bytes: seen with a Cookie only
    assert bob.get(site.url + path, Cookie="bob").text == "x" * size
    assert is_hit(bob.get(site.url + path, Cookie="bob"))


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "X-Auth-Token"])
def test_what_a_site_chooses_by_who_asks_is_not_kept_and_no_secret_stands_on_disk(
    running, site, alice, bob, path, name
):
    site.pages[path] = reply("a page", Cache_Control="public, max-age=600", Vary=name, ETag='"a"')
    secret = f"secret-of-alice-{abs(hash(path + name))}"
    alice.get(site.url + path, **{name.replace("-", "_"): secret})
    assert not is_hit(alice.get(site.url + path, **{name.replace("-", "_"): secret}))
    bob.get(site.url + path)
    assert is_hit(bob.get(site.url + path))  # those who do not say who they are share theirs
    held = [file for file in (running.data / "cache").rglob("*") if file.is_file()]
    assert any(path.encode() in file.read_bytes() for file in held)
    assert not [
        file for file in running.data.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()
    ]
