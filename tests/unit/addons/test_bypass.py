"""addons.bypass: a client whose bytes are passed on unread is not waited for."""

from types import SimpleNamespace

import pytest

from addons.bypass import Bypass
from proxy.rules.domains import DomainList
from proxy.rules.live import LiveRules
from proxy.settings import ProxySettings
from tests.make import a_flow


@pytest.mark.parametrize(
    ("mode", "name", "passed"),
    [
        ("transparent", "bank.test", True),
        ("transparent", "school.test", False),
        ("regular", "bank.test", False),
    ],
)
def test_only_in_transparent_mode_the_name_in_the_greeting_has_a_say_and_then_no_request_is_awaited(
    tmp_path, mode, name, passed
):
    spoke = []
    client, server = a_flow().client_conn, SimpleNamespace(address=("203.0.113.9", 443))
    client.proxy_mode = SimpleNamespace(type_name=mode)
    hello = SimpleNamespace(
        context=SimpleNamespace(client=client, server=server),
        client_hello=SimpleNamespace(sni=name),
        ignore_connection=False,
    )
    rules = LiveRules(tmp_path / "rules.d")
    Bypass(
        ProxySettings(), rules, DomainList(entries=frozenset({"bank.test"})), spoke=spoke.append
    ).tls_clienthello(hello)
    assert hello.ignore_connection is passed
    assert spoke == ([client] if passed else [])
    assert server.address == ((name if passed else "203.0.113.9"), 443), "the name is looked up by us"
