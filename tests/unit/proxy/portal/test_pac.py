"""proxy.portal.pac: the proxy auto-configuration file."""

import json
import subprocess
from collections import Counter

from proxy.portal.pac import pac_file

_THREE = (("10.0.0.2", 8080), ("10.0.0.3", 8080), ("10.0.0.4", 8080))
_HOSTS = [f"www{number}.site-{number % 37}.example" for number in range(3000)]

# What a browser gives a PAC file: https://developer.mozilla.org/docs/Web/HTTP/Proxy_servers_and_tunneling
_BROWSER = """
function isPlainHostName(host) { return host.indexOf(".") < 0; }
function shExpMatch(text, pattern) {
  return new RegExp("^" + pattern.replace(/[.]/g, "[.]").replace(/[*]/g, ".*") + "$").test(text);
}
"""


def answers(program, text, hosts):
    """What the file answers for each host, in a real JavaScript engine."""
    asked = (
        f"{_BROWSER}{text}\nconsole.log(JSON.stringify({json.dumps(hosts)}.map(h => FindProxyForURL('', h))))"
    )
    done = subprocess.run([program("node"), "-e", asked], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_file_names_the_proxy_and_the_portal():
    text = pac_file([("10.0.0.2", 8080)])
    assert '"PROXY 10.0.0.2:8080"' in text
    assert "linkmend.internal" in text
    assert "function FindProxyForURL(url, host)" in text


def test_ipv6_proxy_is_bracketed_and_a_hostile_name_stays_a_string():
    assert "PROXY [fd00::1]:3128" in pac_file([("fd00::1", 3128)])
    assert pac_file([('"; alert(1); "', 1)]).count('\\"') == 2


def test_a_browser_sends_the_web_and_the_portal_to_the_proxy_and_leaves_the_schools_own_machines(program):
    hosts = ["example.org", "linkmend.internal", "printer", "127.0.0.1", "[::1]", "files.local"]
    proxy = "PROXY 10.0.0.2:8080"
    assert answers(program, pac_file([_THREE[0]]), hosts) == [proxy, proxy, *["DIRECT"] * 4]


def test_of_several_proxies_every_host_has_its_own_first_and_the_others_behind_it(program):
    found = [answer.split("; ") for answer in answers(program, pac_file(_THREE), _HOSTS)]
    assert {frozenset(each) for each in found} == {frozenset(f"PROXY {host}:{port}" for host, port in _THREE)}
    assert all(900 < count < 1100 for count in Counter(first for first, *_ in found).values())
    # Not always the same one stands in for it.
    assert all(420 < count < 580 for count in Counter((one, two) for one, two, _ in found).values())


def test_a_proxy_that_is_taken_away_moves_no_host_of_the_others(program):
    before, after = (answers(program, pac_file(proxies), _HOSTS) for proxies in (_THREE, _THREE[:2]))
    gone = "PROXY 10.0.0.4:8080"
    assert [[each for each in old.split("; ") if each != gone] for old in before] == [
        new.split("; ") for new in after
    ]
