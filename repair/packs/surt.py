"""SURT keys, by which indexes of web archives are sorted: the host's labels reversed, then path and query (pure)."""

import re

from repair.text import urls

_WWW = re.compile(r"www\d*\.")
_IPV4 = re.compile(r"[0-9.]+")


def surt_key(url: str) -> str:
    """The key of a web URL, in the form that pywb and other players look up.

    >>> surt_key("https://www.School.test:8443/A/b/?z=1&B=2")
    'test,school:8443)/a/b?b=2&z=1'
    """
    parts = urls.parse(url)
    host, port = parts.host.lower(), parts.authority[len(parts.host) :]
    if not (_IPV4.fullmatch(host) or host.startswith("[")):
        host = ",".join(reversed(_WWW.sub("", host, count=1).split(".")))
    path = parts.path.lower()
    path = path.rstrip("/") or "/" if path != "/" else path
    query = "&".join(sorted(parts.query.lower().split("&"))) if parts.query else ""
    return f"{host}{port}){path}{f'?{query}' if query else ''}"
