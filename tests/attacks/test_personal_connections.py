"""When a user authenticates a whole connection, nothing that comes over it is shared."""

import pytest

from tests.attacks.rawservers import HeadsOnly, kept_connection, page
from tests.integration.client import NAVIGATION, Client
from tests.integration.origin import certificate
from tests.integration.processes import eventually, serving

OLD = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"
AS_BROWSER = tuple(f"{name}: {value}" for name, value in NAVIGATION.items())
WORDS = (
    "The violet timetable of class seven, with rooms, teachers and lessons for every day of this long week."
)


class SignsInConnections:
    """An origin that authenticates connections, except for paths under /open."""

    def __init__(self):
        self.signed_in = set()
        self.pages = {}

    def respond(self, head):
        whole = self._whole(head)
        return whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if head.method == "HEAD" else whole

    def _whole(self, head):
        if head.path in self.pages:
            return self.pages[head.path]
        if "/open" in head.path or head.connection in self.signed_in:
            return page(f"<title>{head.path}</title><p>{WORDS} {_word(head.path)}</p>", OLD, cache="")
        scheme, _, token = (head.field("authorization") or "").partition(" ")
        if token == "third":
            self.signed_in.add(head.connection)
            return self._whole(head)
        asked = f"WWW-Authenticate: {scheme or 'NTLM'}{' second' if token == 'first' else ''}"
        return page("who are you?", asked, status="401 Unauthorized", cache="")


def _word(path):
    """A word that is on no other page."""
    return "word" + path.replace("/", "x")


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("certificate"), "127.0.0.1")


@pytest.fixture(scope="module")
def server():
    return SignsInConnections()


@pytest.fixture(scope="module")
def plain(server):
    with HeadsOnly(server.respond, reads_bodies=True) as origin:
        yield origin


@pytest.fixture(scope="module")
def secure(secured):
    with HeadsOnly(SignsInConnections().respond, tls=secured[1], reads_bodies=True) as origin:
        yield origin


@pytest.fixture(scope="module")
def running(tmp_path_factory, secured):
    data = tmp_path_factory.mktemp("personal") / "data"
    with serving(data, settings=f'[proxy]\ntrusted_ca = "{secured[0]}"\n') as proxy:
        yield proxy


@pytest.fixture(scope="module")
def bob(running):
    return Client(running.url, running.ca, source="127.0.2.72")


def _sign_in(client, path, scheme):
    assert client.ask(path, *AS_BROWSER)[0] == 401
    assert client.ask(path, *AS_BROWSER, f"Authorization: {scheme} first")[0] == 401
    return client.ask(path, *AS_BROWSER, f"Authorization: {scheme} third")


def _assert_nobody_elses(origin, bob, path):
    assert bob.open_page(f"{origin.url}{path}").status == 401
    assert path not in bob.search(_word(path)).text
    assert _word(path) not in bob.held_copy(f"{origin.url}{path}").text


def _assert_others_are_stored_and_read(running, origin, bob, path):
    """The control: a page that needs no authentication."""
    shown = f"{path}/open"
    with kept_connection(running, origin) as client:
        assert client.ask(shown, *AS_BROWSER)[0] == 200
    assert bob.open_page(f"{origin.url}{shown}").status == 200
    assert len(origin.asked(shown)) == 1
    eventually(lambda: shown in bob.search(_word(shown)).text, "not found by search")


@pytest.mark.parametrize("scheme", ["NTLM", "Negotiate", "Kerberos", "negotiate", "Strange"])
def test_pages_on_an_authenticated_connection_are_not_shared(running, plain, bob, path, scheme):
    with kept_connection(running, plain) as client:
        assert _sign_in(client, f"{path}/first", scheme)[0] == 200
        status, _, body = client.ask(f"{path}/later", *AS_BROWSER)
        assert status == 200
        assert _word(f"{path}/later") in body.decode()
        assert client.ask(f"{path}/open/too", *AS_BROWSER)[0] == 200
    assert (
        len({head.connection for name in ("first", "later") for head in plain.asked(f"{path}/{name}")}) == 1
    )
    _assert_others_are_stored_and_read(running, plain, bob, path)
    _assert_nobody_elses(plain, bob, f"{path}/first")
    _assert_nobody_elses(plain, bob, f"{path}/later")
    asked = len(plain.asked(f"{path}/open/too"))
    bob.get(f"{plain.url}{path}/open/too")
    assert len(plain.asked(f"{path}/open/too")) == asked + 1


def test_authenticated_connection_in_a_tunnel_is_not_shared(running, secure, bob, path):
    with kept_connection(running, secure) as client:
        assert _sign_in(client, f"{path}/first", "NTLM")[0] == 200
        assert client.ask(f"{path}/later", *AS_BROWSER)[0] == 200
    _assert_others_are_stored_and_read(running, secure, bob, path)
    _assert_nobody_elses(secure, bob, f"{path}/later")


def test_authenticated_connection_behind_squid_is_not_shared(start_linkmend, start_squid, plain, path):
    squid = start_squid()
    running = start_linkmend("--parent", squid.url)
    bob = Client(running.url, source="127.0.2.72")
    with kept_connection(running, plain) as client:
        _sign_in(client, f"{path}/first", "NTLM")
        client.ask(f"{path}/open/later", *AS_BROWSER)
    asked = len(plain.asked(f"{path}/open/later"))
    bob.get(f"{plain.url}{path}/open/later", Cache_Control="max-age=3000")
    with kept_connection(running, plain) as client:
        assert client.ask(f"{path}/open/shared", *AS_BROWSER)[0] == 200
    assert "hit" in bob.open_page(f"{plain.url}{path}/open/shared").headers["Cache-Status"].split(",")[-1]
    assert asked == 1


@pytest.mark.parametrize(
    "said",
    ["WWW-Authenticate: Negotiate", 'WWW-Authenticate: Basic realm="a, b", NTLM', "Persistent-Auth: true"],
)
def test_challenged_connection_is_not_shared(running, plain, server, bob, path, said):
    """An origin may recognise a client by more than a header, once it has sent a challenge."""
    server.pages[f"{path}/asks"] = page("asks", said, status="401 Unauthorized", cache="")
    with kept_connection(running, plain) as client:
        assert client.ask(f"{path}/asks", *AS_BROWSER)[0] == 401
        assert client.ask(f"{path}/open/later", *AS_BROWSER)[0] == 200
    bob.open_page(f"{plain.url}{path}/open/later")
    assert len(plain.asked(f"{path}/open/later")) == 2
    _assert_others_are_stored_and_read(running, plain, bob, path)


@pytest.mark.parametrize("scheme", ["Basic", "Bearer", "DIGEST", "token"])
def test_per_request_authentication_shares_unauthenticated_responses(
    running, plain, server, bob, path, scheme
):
    server.pages[f"{path}/asks"] = page(
        "asks", f'WWW-Authenticate: {scheme} realm="x, NTLM", b=c', status="401 Unauthorized", cache=""
    )
    with kept_connection(running, plain) as client:
        client.ask(f"{path}/asks", *AS_BROWSER)
        client.ask(f"{path}/open/signed", *AS_BROWSER, f"Authorization: {scheme} abc")
        client.ask(f"{path}/open/later", *AS_BROWSER)
    bob.open_page(f"{plain.url}{path}/open/later")
    assert len(plain.asked(f"{path}/open/later")) == 1
    bob.open_page(f"{plain.url}{path}/open/signed")
    assert len(plain.asked(f"{path}/open/signed")) == 2


def test_connection_authentication_works_with_upload_and_head(running, plain, path):
    """Both usually close a connection, and this one has to stay open."""
    with kept_connection(running, plain) as client:
        assert client.ask(f"{path}/x", "Content-Length: 3", method="POST", body=b"abc")[0] == 401
        assert client.ask(f"{path}/x", method="HEAD")[0] == 401
        assert client.ask(f"{path}/x", "Authorization: NTLM first", method="HEAD")[0] == 401
        assert client.ask(f"{path}/x", "Authorization: NTLM third", method="HEAD")[0] == 200
        assert client.ask(f"{path}/y")[0] == 200
        assert client.ask(f"{path}/z", "Content-Length: 3", method="POST", body=b"abc")[0] == 200
        assert client.ask(f"{path}/y")[0] == 200
