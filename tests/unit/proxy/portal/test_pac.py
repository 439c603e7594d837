"""proxy.portal.pac: the proxy auto-configuration file."""

from proxy.portal.pac import pac_file


def test_the_file_names_the_proxy_and_the_portal():
    text = pac_file("10.0.0.2", 8080)
    assert '"PROXY 10.0.0.2:8080"' in text
    assert "linkmend.internal" in text
    assert "function FindProxyForURL(url, host)" in text


def test_ipv6_proxy_is_bracketed_and_a_hostile_name_stays_a_string():
    assert "PROXY [fd00::1]:3128" in pac_file("fd00::1", 3128)
    assert pac_file('"; alert(1); "', 1).count('\\"') == 2
