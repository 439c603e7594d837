"""Hostile requests, as hypothesis strategies: parts of ordinary ones, bent, doubled, cut and put together wrongly.

A request is text in which `{site}` stands for the authority of the origin and `{fresh}` for a part of a path that is
new each time, so that it means the same on another port and another day. `{length}` is the length of what stands
between the next `{body}` and `{end}`.
"""

import re
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.attacks.fuzz.origin import BEHAVIOURS

MARK = "evil"
_METHODS = ("GET", "GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "TRACE", "PATCH", "QUERY")
_ODD_METHODS = ("get", "hEaD", "Get", "HEAD ", "G\tET", "M-SEARCH", "FOO", "", "CONNECT", "PRI", "gET")
_VERSIONS = ("HTTP/1.1",) * 8 + (
    "HTTP/1.0",
    "HTTP/1.1 ",
    "http/1.1",
    "HTTP/2.0",
    "HTTP/0.9",
    "HTTP/1.01",
    "",
    "HTTP/11",
)
_NAMES = (
    "X-Forwarded-Host",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-HTTP-Method-Override",
    "Forwarded",
    "X-Host",
    "X-Custom",
    "Cookie",
    "Authorization",
    "Origin",
    "Accept",
    "Accept-Language",
    "Accept-Encoding",
    "Cache-Control",
    "Pragma",
    "Range",
    "If-None-Match",
    "If-Modified-Since",
    "If-Match",
    "Connection",
    "Proxy-Connection",
    "Keep-Alive",
    "TE",
    "Upgrade",
    "Expect",
    "Via",
    "Trailer",
    "Content-Type",
    "Referer",
    "User-Agent",
    "X-Requested-With",
    "Service-Worker-Navigation-Preload",
    "Sec-Fetch-Dest",
    "Sec-Purpose",
    "RSC",
)
_VALUES = (
    MARK,
    f"{MARK}.test",
    "gzip",
    "gzip;q=0",
    "identity",
    "*",
    "*;q=0",
    "en",
    "de, en;q=0.5",
    "no-cache",
    "max-age=0",
    "no-store",
    "only-if-cached",
    "max-stale",
    "bytes=0-3",
    "bytes=0-",
    '"/tagged/1"',
    "close",
    "keep-alive",
    "cookie, host",
    "x-custom, content-length",
    "100-continue",
    "websocket",
    "trailers",
    "https://{site}/",
    f"<script>{MARK}</script>",
    "Negotiate YII=",
    "Basic ZXZpbDpldmls",
    "",
    " ",
    "a\tb",
    "a\x0b",
    "caf\xe9",
    '"' + "," * 300,
    "x" * 3000,
)
_LENGTHS = ("0", "5", "5, 5", "+5", "05", "5 ", "-1", "0x5", "999", "", "5\t")
_CODINGS = (
    "chunked",
    "Chunked",
    "chunked, identity",
    "identity",
    "xchunked",
    "chunked\x0b",
    " chunked",
    "gzip, chunked",
)
_MEASURED = re.compile(r"(?s)\{length\}(.*?)\{body\}(.*?)\{end\}")
_ENDS = ("\r\n",) * 12 + ("\n", "\r", "\r\r\n")
_SEPARATORS = (": ",) * 12 + (":", " : ", ":\t", "\t: ", ":  ", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileRequest:
    """One request after another on one connection, and the paths at the origin that they are about.

    `cut_at` is where the bytes are parted in two, `tunnel` whether they go through CONNECT.
    """

    text: str
    paths: tuple[str, ...]
    cut_at: int = 0
    tunnel: bool = False

    def for_site(self, authority: str, prefix: str) -> tuple[bytes, tuple[str, ...]]:
        """The bytes and the paths, moved to paths that nobody has asked for before."""
        filled = self.text.replace("{site}", authority).replace("{fresh}", prefix)
        filled = _MEASURED.sub(lambda found: f"{len(found[2])}{found[1]}{found[2]}", filled)
        return filled.encode("latin-1", "replace"), tuple(
            path.replace("{fresh}", prefix) for path in self.paths
        )


paths = st.builds(
    lambda behaviour, number, tail: f"/{behaviour}/{{fresh}}/{number}{tail}",
    st.sampled_from(BEHAVIOURS),
    st.integers(1, 3),
    st.sampled_from(("", "", "", "", "?a=b", "?", "%2e", "//x", ";p", "?a=b#c")),
)


@st.composite
def _targets(draw: st.DrawFn, path: str) -> str:
    form = draw(st.integers(0, 19))
    if form < 13:
        return f"http://{{site}}{path}"
    return (
        path,
        f"HTTP://{{site}}{path}",
        f"http://{MARK}@{{site}}{path}",
        f"http://{{site}}.{path}",
        f"http://{{site}} {path}",
        f"https://{{site}}{path}",
        f"http:/{path}",
    )[form - 13]


@st.composite
def _field_lines(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(_NAMES))
    shape = draw(st.integers(0, 9))
    if shape == 0:
        name = name.lower() if draw(st.booleans()) else name.upper()
    elif shape == 1:
        name = draw(
            st.sampled_from((f"X-{MARK}", "X Custom", "X-Custom\x01", "", "\x7fX", "Host", "Hos\xf6"))
        )
    value = draw(st.sampled_from(_VALUES))
    return name + draw(st.sampled_from(_SEPARATORS)) + value + draw(st.sampled_from(_ENDS))


@st.composite
def _hosts(draw: st.DrawFn) -> str:
    shape = draw(st.integers(0, 15))
    if shape < 11:
        return "Host: {site}\r\n"
    return (
        "",
        f"Host: {MARK}.test\r\n",
        f"Host: {{site}}\r\nHost: {MARK}.test\r\n",
        "Host: {site}\r\nHost: {site}\r\n",
        f"Host: {MARK}@{{site}}\r\n",
    )[shape - 11]


@st.composite
def _bodies(draw: st.DrawFn, path: str) -> tuple[str, str]:
    """The framing fields, and what follows the head."""
    shape = draw(st.integers(0, 11))
    inner = f"GET {path}-{MARK} HTTP/1.1\r\nHost: {{site}}\r\nX-Custom: {MARK}\r\n\r\n"
    if shape < 7:
        return "", ""
    if shape == 7:
        return f"Content-Length: {draw(st.sampled_from(_LENGTHS))}\r\n", MARK + "!"
    if shape == 8:
        return f"Transfer-Encoding: {draw(st.sampled_from(_CODINGS))}\r\n", f"5\r\n{MARK}!\r\n0\r\n\r\n"
    if shape == 9:
        return "Content-Length: {length}\r\n", f"{{body}}{inner}{{end}}"
    if shape == 10:
        return "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", f"0\r\n\r\n{inner}"
    return "Transfer-Encoding: chunked\r\n", f"0\r\nX-Trailer: {MARK}\r\n\r\n"


@st.composite
def _messages(draw: st.DrawFn, path: str) -> str:
    method = draw(st.sampled_from(_METHODS if draw(st.integers(0, 7)) else _ODD_METHODS))
    target = draw(_targets(path))
    version = draw(st.sampled_from(_VERSIONS))
    framing, body = draw(_bodies(path))
    lines = draw(st.lists(_field_lines(), max_size=4))
    parts = [draw(_hosts()), framing, *lines]
    if draw(st.integers(0, 3)) == 0:
        parts = draw(st.permutations(parts))
    return f"{method} {target} {version}\r\n{''.join(parts)}\r\n{body}"


@st.composite
def hostile_requests(draw: st.DrawFn) -> HostileRequest:
    """One to three requests on one connection."""
    chosen = draw(st.lists(paths, min_size=1, max_size=3))
    text = "".join(draw(_messages(path)) for path in chosen)
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(text)))
        text = (
            text[:place]
            + draw(st.sampled_from(("\0", "\r", "\n", "\r\n", " ", "\x80", "")))
            + text[place + 1 :]
        )
    cut_at = draw(st.integers(0, max(0, len(text) - 1))) if draw(st.booleans()) else 0
    return HostileRequest(
        text=text, paths=tuple(dict.fromkeys(chosen)), cut_at=cut_at, tunnel=draw(st.integers(0, 5)) == 0
    )


@st.composite
def single_requests(draw: st.DrawFn) -> HostileRequest:
    """One request that asks for a page the store already holds; mostly one the fast path could answer."""
    path = draw(paths)
    method = draw(st.sampled_from(("GET", "GET", "GET", "HEAD", "get", "OPTIONS")))
    lines = draw(st.lists(_field_lines(), max_size=3))
    text = f"{method} {draw(_targets(path))} HTTP/1.1\r\n{draw(_hosts())}{''.join(lines)}\r\n"
    return HostileRequest(text=text, paths=(path,), cut_at=draw(st.integers(1, max(1, len(text) - 2))))
