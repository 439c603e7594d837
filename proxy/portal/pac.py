"""The proxy auto-configuration file that browsers and operating systems read (pure)."""

import json
from collections.abc import Sequence

_TEMPLATE = """\
function FindProxyForURL(url, host) {
  // the portal is answered by the proxy itself, though its name has no address
  if (host == "linkmend.internal") return proxiesFor(host);
  // the school's own machines need no proxy
  if (isPlainHostName(host) || host == "127.0.0.1" || host == "[::1]" || shExpMatch(host, "*.local")) return "DIRECT";
  return proxiesFor(host);
}
"""

_ONE = "function proxiesFor(host) { return PROXIES[0]; }\n"

# Rendezvous hashing with FNV-1a: every browser computes the same, and a proxy more or less moves only its own hosts.
_SEVERAL = """\
// each host has a proxy of its own, so that its pages are in one cache; the others stand in when that one is down
function proxiesFor(host) {
  return PROXIES.slice().sort(function (one, other) { return weight(other, host) - weight(one, host); }).join("; ");
}
function weight(proxy, host) {
  var text = host.toLowerCase() + " " + proxy, hash = 2166136261;
  for (var at = 0; at < text.length; at++) {
    hash ^= text.charCodeAt(at);
    hash += (hash << 1) + (hash << 4) + (hash << 7) + (hash << 8) + (hash << 24);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
"""


def pac_file(proxies: Sequence[tuple[str, int]]) -> str:
    """A PAC file that sends everything but plain and local names through the proxies, with no direct fallback.

    Of several proxies each host has one that is asked first.
    """
    places = [f"PROXY [{host}]:{port}" if ":" in host else f"PROXY {host}:{port}" for host, port in proxies]
    choice = _ONE if len(places) == 1 else _SEVERAL
    return f"var PROXIES = {json.dumps(places)};\n{_TEMPLATE}{choice}"
