"""Transparent mode (deploy/transparent.nft), with real packets: a client names any site at any address, and nobody
gets another site's page for it.

The victim's server and the attacker's are two addresses of the internet, each with http and https, IPv4 and IPv6.
"""

import contextlib
import json
import socket
import ssl
import subprocess
from types import SimpleNamespace

import pytest
from cryptography import x509

from proxy.portal.addresses import PREFIX
from tests.attacks.namespaces import ADDRESSES, ROUTER, OriginInside, command_in, inside, networks
from tests.attacks.test_identity import ask, is_hit
from tests.integration.origin import certificate, reply
from tests.integration.processes import eventually, serving

VICTIM, ATTACKER, BANK = "victim.test", "attacker.test", "bank.test"
BROWSER = ("Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")


class Everything(dict):
    """Every path exists, and names its server."""

    def __init__(self, owner):
        self.owner = owner

    def get(self, path, default=None):
        if "missing" in path:
            return reply("<h1>Not here</h1>", status="404 Not Found")
        words = f"<title>Zebra of {self.owner}</title><p>the zebra page {path} of {self.owner}</p>"
        return reply(words, Cache_Control="max-age=600")


@contextlib.contextmanager
def school(folder, *, settings="", parent=False):
    """A school whose router runs linkmend, with its networks and the servers by owner, IP version and port."""
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(networks())
        servers, pems, names = {}, b"", {BANK: [ADDRESSES[4][0]]}
        for place, owner in enumerate((VICTIM, ATTACKER)):
            pem, tls = certificate(folder, owner, *((BANK,) if owner == VICTIM else ()))
            pems += pem.read_bytes()
            names[owner] = [ADDRESSES[4][place], ADDRESSES[6][place]]
            for version in (4, 6):
                for port, context in ((80, None), (443, tls)):
                    server = OriginInside(
                        host=ADDRESSES[version][place], port=port, tls=context, pages=Everything(owner)
                    )
                    server.namespace = made.internet
                    servers[owner, version, port] = stack.enter_context(server)
        (folder / "trusted.pem").write_bytes(pems)
        (folder / "names.json").write_text(json.dumps(names))
        squid = None
        if parent:
            squid = OriginInside(host="127.0.0.1", port=3128, pages=Everything("the parent"))
            squid.namespace = made.router
            stack.enter_context(squid)
        running = stack.enter_context(
            serving(
                folder / "data",
                *("--listen", "0.0.0.0:8080", "--mode", "transparent"),
                settings=f'[proxy]\nreach = []\ntrusted_ca = "{folder / "trusted.pem"}"\n{settings}',
                names=folder / "names.json",
                within=command_in(made.router),
            )
        )
        yield SimpleNamespace(running=running, networks=made, servers=servers, parent=squid, folder=folder)


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transparent")
    (folder / "passed.txt").write_text(f"{BANK}\n")
    with school(folder, settings=f'pass_through = ["{folder / "passed.txt"}"]\n') as made:
        yield made


@contextlib.contextmanager
def connected(school, address, port, *, sni=None, tls=None):
    """A connection from the classroom to an address, by TLS at port 443."""
    with inside(school.networks.client):
        connection = socket.create_connection((address, port), timeout=10)
    with connection:
        if port != 443:
            yield connection
            return
        context = tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(connection, server_hostname=sni) as secure:
            yield secure


def opened(school, owner, path, *lines, version=4, port=80, sni=None, host=VICTIM):
    """A client connects to the owner's server, and sends what it likes."""
    address = ADDRESSES[version][(VICTIM, ATTACKER).index(owner)]
    with connected(school, address, port, sni=sni) as connection:
        said = (*((f"Host: {host}",) if host else ()), *lines)
        return ask(connection, path, *said, *BROWSER)


def assert_own(school, path, *, version=4, stored=False):
    """The victim's https page is its own; and, as the control, the second time it comes from the cache."""
    first = opened(school, VICTIM, path, version=version, port=443, sni=VICTIM)
    second = opened(school, VICTIM, path, version=version, port=443, sni=VICTIM)
    for told in (first, second):
        assert (told.status, f"of {VICTIM}" in told.text) == (200, True), told
    assert (is_hit(first), is_hit(second)) == (stored, True)


@pytest.mark.parametrize("version", [4, 6])
def test_a_real_client_is_served_by_both_schemes(classroom, path, version):
    for scheme, port in (("http", 80), ("https", 443)):
        address = ADDRESSES[version][0]
        told = subprocess.run(
            [
                *command_in(classroom.networks.client),
                *("curl", "-sS", "-m", "20", "--cacert", str(classroom.running.ca)),
                *("--connect-to", f"{VICTIM}:{port}:[{address}]:{port}" if version == 6 else f"::{address}:"),
                f"{scheme}://{VICTIM}{path}",
            ],
            capture_output=True,
            text=True,
        )
        assert f"of {VICTIM}" in told.stdout, told.stderr
    assert classroom.servers[VICTIM, version, 80].asked[path] == 1
    assert_own(classroom, path, version=version, stored=True)


@pytest.mark.parametrize("version", [4, 6])
def test_host_header_for_another_ip_address_poisons_nothing(classroom, path, version):
    """http is not shared here at all: only Host names the site. So the control is that both get their own pages."""
    for _ in range(2):
        forged = opened(classroom, ATTACKER, path, version=version)
        assert f"of {ATTACKER}" in forged.text
        told = opened(classroom, VICTIM, path, version=version)
        assert f"of {VICTIM}" in told.text
        assert not is_hit(told)
    assert_own(classroom, path, version=version)


def test_forged_host_adds_nothing_to_the_collection(classroom, path):
    opened(classroom, ATTACKER, f"{path}-forged")
    assert_own(classroom, f"{path}-honest")
    honest = f"https://{VICTIM}{path}-honest"
    eventually(lambda: copy_of(classroom, honest).status == 200, "the honest page was not collected")
    for url in (f"http://{VICTIM}{path}-forged", f"https://{VICTIM}{path}-forged"):
        assert f"of {ATTACKER}" not in copy_of(classroom, url).text


def copy_of(school, url):
    return opened(school, VICTIM, f"{PREFIX}copy?url={url}", port=443, sni=VICTIM)


@pytest.mark.parametrize("version", [4, 6])
def test_sni_for_another_ip_address_is_refused(classroom, path, version):
    """The certificate there is the attacker's own, and good for the attacker's name."""
    forged = opened(classroom, ATTACKER, path, version=version, port=443, sni=VICTIM)
    assert forged.status == 502
    assert f"of {ATTACKER}" not in forged.text
    honest = opened(classroom, ATTACKER, path, version=version, port=443, sni=ATTACKER, host=ATTACKER)
    assert f"of {ATTACKER}" in honest.text
    assert_own(classroom, path, version=version)


@pytest.mark.parametrize(
    ("sni", "host"), [(ATTACKER, VICTIM), (None, VICTIM), (ATTACKER, f"{VICTIM}:443"), (None, None)]
)
def test_host_header_inside_another_sites_tls_poisons_nothing(classroom, path, sni, host):
    for _ in range(2):
        told = opened(classroom, ATTACKER, path, port=443, sni=sni, host=host)
        assert f"{path} of {VICTIM}" not in told.text  # a repair page offers others
        assert not is_hit(told)
    assert_own(classroom, path)


@pytest.mark.parametrize("target", [f"http://{VICTIM}", f"https://{VICTIM}"])
@pytest.mark.parametrize("port", [80, 443])
def test_an_absolute_form_poisons_nothing(classroom, path, target, port):
    with contextlib.suppress(OSError):
        told = opened(classroom, ATTACKER, target + path, port=port, sni=ATTACKER, host=ATTACKER)
        assert f"of {VICTIM}" not in told.text
    assert_own(classroom, path)


def test_unverified_certificate_proves_no_name(tmp_path, path):
    """With `verify_origins = false` only the attacker claims that its address is the victim's."""
    with school(tmp_path, settings="verify_origins = false\n") as made:
        for _ in range(2):
            forged = opened(made, ATTACKER, path, port=443, sni=VICTIM)
            assert f"of {ATTACKER}" in forged.text
            assert not is_hit(forged)
            told = opened(made, VICTIM, path, port=443, sni=VICTIM)
            assert f"of {VICTIM}" in told.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "2130706433", "[::1]", "169.254.169.254"])
def test_parent_is_not_sent_to_a_refused_address(behind_parent, path, host):
    """The IP address is harmless; the parent gets the Host."""
    assert opened(behind_parent, VICTIM, path, host=host).status == 403
    assert behind_parent.parent.asked[f"http://{host}{path}"] == 0
    assert "of the parent" in opened(behind_parent, VICTIM, path, host=VICTIM).text
    assert behind_parent.parent.asked[f"http://{VICTIM}{path}"] == 1


@pytest.fixture(scope="module")
def behind_parent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parent")
    with school(folder, settings='parent = "http://127.0.0.1:3128"\n', parent=True) as made:
        yield made


def test_sni_of_a_pass_through_site_reaches_that_site_only(classroom, path):
    """Else a client could reach any blocked or recorded site unseen, by sending that name as SNI."""
    trusts = ssl.create_default_context(cafile=str(classroom.folder / f"{VICTIM}.pem"))
    for address in ADDRESSES[4]:
        with connected(classroom, address, 443, sni=BANK, tls=trusts) as connection:
            assert BANK in peer_names(connection)
            told = ask(connection, path, f"Host: {BANK}")
        assert f"of {VICTIM}" in told.text
        assert "linkmend" not in told.cache
    assert classroom.servers[ATTACKER, 4, 443].asked[path] == 0


def peer_names(connection):
    shown = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True))
    names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)


def test_refused_address_stays_unreachable(classroom, path):
    """The router's own port, requested directly: it would contact itself for ever. The control is any other page."""
    with connected(classroom, ROUTER, 8080) as connection:
        assert ask(connection, path, f"Host: {VICTIM}").status == 403
    with connected(classroom, "169.254.169.254", 80) as connection:
        assert ask(connection, path, f"Host: {VICTIM}").status == 403
    assert opened(classroom, VICTIM, path).status == 200
