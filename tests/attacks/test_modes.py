"""The families of attacks in the other modes: several workers, Squid as a parent or as the upstream proxy, reverse
mode. What one user does on one connection must not affect others.
"""

import contextlib
from dataclasses import dataclass

import pytest

from tests.attacks.attackers import connection_to
from tests.attacks.rawservers import HeadsOnly, Kept, page
from tests.integration.client import NAVIGATION
from tests.integration.processes import Linkmend, serving
from tests.integration.squid import Squid

EVIL = page("evil", "X-Evil: 1")
TAG = 'ETag: "v1"'
OLD = "Last-Modified: Mon, 04 May 2020 12:00:00 GMT"
WAYS = ["workers", "parent", "upstream", "reverse"]
AS_BROWSER = tuple(f"{name}: {value}" for name, value in NAVIGATION.items())


class Careless:
    """A site that trusts whatever a request says, each kind of path something else."""

    def __init__(self):
        self.signed_in = set()

    def respond(self, head):
        whole = self._whole(head)
        if head.method == "HEAD" or (head.method == "GET" and whole.startswith(b"HTTP/1.1 304")):
            return whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        return whole

    def _whole(self, head):
        kind = head.path.rpartition("/")[2]
        if kind == "smuggled":
            return EVIL
        if kind == "evil-if-odd" and head.method not in ("GET", "HEAD"):
            return page(EVIL)
        if kind == "by-host":
            return page(f"of {head.field('host')}")
        if kind == "by-field":
            said = head.field("x-forwarded-host") or "nobody"
            return page(f"for {said}", TAG, f"Content-Security-Policy: {said}")
        if kind == "head":
            said = head.field("x-forwarded-host") or "nobody"
            return page("the page", TAG, f"Content-Security-Policy: {said}")
        if kind == "by-cookie":
            return page(f"for {head.field('cookie') or 'everyone'}", OLD, cache="")
        if kind.startswith("signed"):
            return self._signed(head)
        return page(f"honest {head.path}")

    def _signed(self, head):
        """NTLM authenticates a connection, not a request."""
        if head.connection in self.signed_in:
            return page("for alice", OLD, cache="")
        token = (head.field("authorization") or "").partition(" ")[2]
        if token == "third":
            self.signed_in.add(head.connection)
            return page("for alice", OLD, cache="")
        asked = f"WWW-Authenticate: NTLM{' second' if token == 'first' else ''}"
        return page("who are you?", asked, status="401 Unauthorized", cache="")


@dataclass
class Way:
    """A running linkmend, and how to request pages of the site."""

    name: str
    running: Linkmend
    site: HeadsOnly

    @contextlib.contextmanager
    def connected(self, *, source="127.0.1.71"):
        """One connection to the proxy."""
        with connection_to(self.running, source=source, timeout_s=10) as connection:
            yield Kept(connection, "" if self.name == "reverse" else self.site.url, self.site.host)

    def ask(self, path, *fields, source="127.0.2.72", **known):
        """As another user, on a new connection: the body and whether it was a hit."""
        with self.connected(source=source) as connection:
            status, head, body = connection.ask(path, *fields, **known)
        last = [line for line in head.lower().split(b"\r\n") if line.startswith(b"cache-status:")][-1:]
        return status, body.decode(), b";hit" in b"".join(last).rpartition(b",")[2], head.decode("latin-1")

    def others_get(self, path, wanted):
        """What several others get, so that every worker is tested; and, as the control, finally from the cache."""
        told = [self.ask(path, source=f"127.0.2.{number}") for number in range(60, 66)]
        assert [body for _, body, _, _ in told] == [wanted] * len(told)
        assert told[-1][2], "the honest page is not stored"


@pytest.fixture(scope="module", params=WAYS)
def way(request, tmp_path_factory, program):
    folder = tmp_path_factory.mktemp(request.param)
    settings, further, also = "", (), {}
    with contextlib.ExitStack() as stack:
        site = stack.enter_context(HeadsOnly(Careless().respond, reads_bodies=False))
        if request.param in ("parent", "upstream"):
            squid = Squid(program("squid"), folder / "squid")
            stack.callback(squid.stop)
            if request.param == "parent":
                settings = f'[proxy]\nparent = "{squid.url}"\n'
            else:
                further = ("--mode", f"upstream:{squid.url}")
        elif request.param == "reverse":
            further = ("--mode", f"reverse:{site.url}")
        else:
            also = {"LINKMEND_PROXY_WORKERS": "2"}
        running = stack.enter_context(serving(folder / "data", *further, settings=settings, also=also))
        yield Way(request.param, running, site)


@pytest.mark.parametrize("method", ["GET", "POST", "get", "FOO"])
def test_unread_body_does_not_become_a_page(way, path, method):
    if way.name in ("parent", "upstream"):
        pytest.skip("Squid itself may reuse its connection after a body that the origin did not read")
    body = f"GET {path}/smuggled HTTP/1.1\r\nHost: {way.site.host}\r\n\r\n".encode()
    with way.connected() as alice:
        alice.ask(f"{path}/warm")
        alice.ask(f"{path}/odd", f"Content-Length: {len(body)}", method=method, body=body)
        assert alice.ask(f"{path}/victim")[2] in (f"honest {path}/victim".encode(), b"")
    way.others_get(f"{path}/victim", f"honest {path}/victim")
    way.others_get(f"{path}/odd", f"honest {path}/odd")


@pytest.mark.parametrize("method", ["hEaD", "head"])
def test_unusual_method_spelling_is_not_shared(way, path, method):
    with way.connected() as alice:
        alice.ask(f"{path}/evil-if-odd", method=method)
        assert alice.ask(f"{path}/victim")[2] in (f"honest {path}/victim".encode(), b"")
    way.others_get(f"{path}/victim", f"honest {path}/victim")
    way.others_get(f"{path}/evil-if-odd", f"honest {path}/evil-if-odd")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("host", [None, "attacker.test", "attacker.test:80"])
def test_forged_host_does_not_poison_the_site(way, path, host, version):
    base = "" if way.name == "reverse" else way.site.url
    lines = (f"GET {base}{path}/by-host HTTP/{version}", *((f"Host: {host}",) if host else ()))
    with connection_to(way.running, timeout_s=10) as connection:
        for _ in range(2):
            connection.sendall("\r\n".join((*lines, "Connection: keep-alive", "", "")).encode())
            Kept(connection, "", "").read()
    way.others_get(f"{path}/by-host", f"of {way.site.host}")


@pytest.mark.parametrize("kind", ["by-field", "head"])
def test_reflected_field_does_not_poison_the_page(way, path, kind):
    with way.connected() as alice:
        alice.ask(f"{path}/{kind}", "X-Forwarded-Host: evil.test")
    wanted = "the page" if kind == "head" else "for nobody"
    way.others_get(f"{path}/{kind}", wanted)
    for number in range(4):
        way.ask(
            f"{path}/{kind}",
            *("X-Forwarded-Host: evil.test", "Cache-Control: no-cache"),
            method="HEAD",
            source=f"127.0.1.{number + 1}",
        )
    way.others_get(f"{path}/{kind}", wanted)
    for number in range(4):
        assert "evil.test" not in way.ask(f"{path}/{kind}", source=f"127.0.3.{number + 1}")[3]


def test_response_to_a_cookie_is_not_shared(way, path):
    for number in range(4):
        body = way.ask(f"{path}/by-cookie", "Cookie: alice", source=f"127.0.1.{number + 1}")[1]
        assert body == "for alice"
    way.others_get(f"{path}/by-cookie", "for everyone")


def test_authenticated_connection_is_not_shared(way, path):
    with way.connected() as alice:
        told = [
            alice.ask(f"{path}/signed", f"Authorization: NTLM {token}", *AS_BROWSER)
            for token in ("first", "third")
        ]
        later = [alice.ask(f"{path}/signed-{number}", *AS_BROWSER) for number in range(3)]
        alice.ask(f"{path}/honest")
    assert told[0][0] == 401
    others = ["/signed", *(f"/signed-{number}" for number in range(3))]
    for each in others:
        for source in ("127.0.2.72", "127.0.2.73", "127.0.2.74"):
            assert way.ask(path + each, *AS_BROWSER, source=source)[1] == "who are you?"
    if way.name not in (
        "parent",
        "upstream",
    ):  # Squid decides whether it keeps a connection for one client
        assert [body for _, _, body in (told[-1], *later)] == [b"for alice"] * 4
    way.others_get(f"{path}/plain", f"honest {path}/plain")
