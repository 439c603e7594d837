"""The proxy auto-configuration file that browsers and operating systems read (pure)."""

import json

_TEMPLATE = """\
function FindProxyForURL(url, host) {
  // the portal is answered by the proxy itself, though its name has no address
  if (host == "linkmend.internal") return PROXY;
  // the school's own machines need no proxy
  if (isPlainHostName(host) || host == "127.0.0.1" || host == "[::1]" || shExpMatch(host, "*.local")) return "DIRECT";
  return PROXY;
}
"""


def pac_file(host: str, port: int) -> str:
    """A PAC file that sends everything but plain and local names through the proxy, with no direct fallback."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"var PROXY = {json.dumps(f'PROXY {place}')};\n{_TEMPLATE}"
