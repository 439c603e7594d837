"""Faster versions of functions that mitmproxy calls about thirty times per request: header fields, hosts.

A header lookup takes five calls and, for a missing field, an exception; here the fields are indexed by name once, and
again only after a change. The request line is parsed twice, with the host encoded and decoded three times; a school
uses few hosts, so we cache them. Field names are checked letter by letter each time, and few are new. A context is
copied for every request, and with it an unused connection is created. The length of a body is computed five times per
request; an option is copied twice at each read. `install` checks that our versions return the same.

One also changes the result: mitmproxy decodes names such as xn--strae-oqa.test by the rules of 2003, and refuses
names that later rules allow. Here they stay in ASCII, as they are resolved, verified and stored.
"""

import copy
import re
from collections.abc import Generator
from functools import lru_cache
from typing import Any

from mitmproxy import options
from mitmproxy.connection import Client
from mitmproxy.http import Headers, Message, Request, Response
from mitmproxy.net import check
from mitmproxy.net.http import http1, url, validate
from mitmproxy.net.http.http1 import read
from mitmproxy.optmanager import _Option, unset
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as layers

from proxy.errors import StartError

_PLAIN = re.compile(
    rb"(?!CONNECT )([A-Z]{1,20}) (http)://([a-z0-9.-]{1,255}(?::[0-9]{1,5})?)(/[!\"$-~]*) (HTTP/1\.[01])"
)
_ENCODED = re.compile(
    r"(?=.{1,255}(?::|$))(?=.*xn--)((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?)(?::([0-9]{1,5}))?", re.I
)
_HOSTS = 2000
_NAMES = 2000
_SORTED = "linkmend_by_name"
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-zA-Z]+")
_FRAMING = frozenset({b"transfer-encoding", b"content-length"})
_LENGTH = re.compile(rb"0|[1-9][0-9]{0,15}")
_PROBE = b"GET http://school.test:8080/a?b=c HTTP/1.1"

_COMMANDS = ("ReceiveHttp", "SendHttp", "DropStream", "GetHttpConnection", "RegisterHttpConnection")
_AS_TOLD = frozenset({b"GET", b"POST"})
"""Methods whose answer is as long as it says."""

RequestLine = tuple[str, int, bytes, bytes, bytes, bytes, bytes]
_read_request_line = read._read_request_line
_validate_headers = validate.validate_headers
_expected_body_size = read.expected_http_body_size
_connection_close = read.connection_close
_fork = Context.fork
_parse_authority = url.parse_authority
_is_valid_host = check.is_valid_host


def get_all(self: Headers, name: str | bytes) -> list[str]:
    """Every value of a field."""
    found = fields_by_name(self).get(_field_name(name))
    return [value.decode("utf-8", "surrogateescape") for value in found] if found else []


def get(self: Headers, name: str | bytes, default: Any = None) -> Any:
    """The values of a field, joined."""
    found = fields_by_name(self).get(_field_name(name))
    return b", ".join(found).decode("utf-8", "surrogateescape") if found else default


def contains(self: Headers, name: object) -> bool:
    return isinstance(name, str | bytes) and _field_name(name) in fields_by_name(self)


@lru_cache(maxsize=_NAMES)
def _field_name(name: str | bytes) -> bytes:
    return (name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name).lower()


def fields_by_name(headers: Headers) -> dict[bytes, list[bytes]]:
    """The values by lower-case name. `fields` is never changed in place: another tuple tells of other fields."""
    known, fields = headers.__dict__.get(_SORTED), headers.fields
    if known is not None and known[0] is fields:
        return known[1]  # type: ignore[no-any-return]
    by_name: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        by_name.setdefault(name.lower(), []).append(value)
    headers.__dict__[_SORTED] = (fields, by_name)
    return by_name


def validate_headers(message: Message) -> None:
    """Raises ValueError. Names that were found valid before are not looked at again, nor is plain framing."""
    framing = [value for name, value in message.headers.fields if not _is_plain(name)]
    if framing:
        by_name = fields_by_name(message.headers)
        if by_name.get(b"content-length") != framing or len(framing) > 1 or not _LENGTH.fullmatch(framing[0]):
            _validate_headers(message)


@lru_cache(maxsize=_NAMES)
def _is_plain(name: bytes) -> bool:
    """Whether a field has a valid name and does not tell where a message ends."""
    return _NAME.fullmatch(name) is not None and name.lower() not in _FRAMING


def expected_body_size(request: Request, response: Response | None = None) -> int | None:
    """As mitmproxy's, which asks some ten questions, five times for each request. Raises ValueError."""
    if response is None:
        if _FRAMING.isdisjoint(fields_by_name(request.headers)):
            return 0
    elif response.data.status_code == 200 and request.data.method in _AS_TOLD:
        by_name = fields_by_name(response.headers)
        lengths = by_name.get(b"content-length", ())
        if len(lengths) == 1 and b"transfer-encoding" not in by_name and _LENGTH.fullmatch(lengths[0]):
            return int(lengths[0])
    return _expected_body_size(request, response)


def connection_close(version: str | bytes, headers: Headers) -> bool:
    """Whether a message is the last on its connection."""
    if b"connection" not in fields_by_name(headers) and version in ("HTTP/1.1", b"HTTP/1.1"):
        return False
    return _connection_close(version, headers)  # type: ignore[no-any-return]


def current_value(self: _Option) -> Any:
    """The value of an option; only of what could be changed a copy, where mitmproxy makes two."""
    value = self._default if self.value is unset else self.value
    return value if value is None or isinstance(value, bool | int | str) else copy.deepcopy(value)


def event_to_child(self: layers.HttpLayer, child: Any, event: events.Event) -> Generator[Any, Any, None]:
    """Hand an event on, and carry out what comes of it: mitmproxy's, with what is frequent asked first."""
    for command in child.handle_event(event):
        kind = type(command)
        if kind is commands.SendData:
            yield command
            continue
        if command.blocking or isinstance(command, commands.RequestWakeup):
            self.command_sources[command] = child
        if kind is layers.ReceiveHttp:
            told = command.event
            if isinstance(told, layers.RequestHeaders):
                yield from self.make_stream(told.stream_id)
            stream = self.streams.get(told.stream_id)  # it may be done with already
            if stream is not None:
                yield from self.event_to_child(stream, told)
        elif kind is layers.SendHttp:
            yield from self.event_to_child(self.connections[command.connection], command.event)
        elif kind is layers.DropStream:
            self.streams.pop(command.stream_id, None)
        elif kind is layers.GetHttpConnection:
            yield from self.get_connection(command)
        elif kind is layers.RegisterHttpConnection:
            yield from self.register_connection(command)
        else:
            if isinstance(command, commands.OpenConnection):
                self.connections[command.connection] = child
            yield command


def fork(self: Context) -> Context:
    """A context like this one, with layers of its own; what else stands in it (`begin`) is taken along."""
    made = object.__new__(Context)
    vars(made).update(vars(self))
    made.layers = self.layers.copy()
    return made


def read_request_line(line: bytes) -> RequestLine:
    """Raises ValueError."""
    found = _PLAIN.fullmatch(line)
    if found is None:
        return _read_request_line(line)
    method, scheme, authority, path, version = found.groups()
    try:
        host, port = _destination(authority)
    except ValueError:
        return _read_request_line(line)  # for its own words
    return host, port, method, scheme, authority, path, version


@lru_cache(maxsize=_HOSTS)
def _destination(authority: bytes) -> tuple[str, int]:
    return _read_request_line(b"GET http://%s/ HTTP/1.1" % authority)[:2]


def parse_authority(authority: str | bytes, check: bool) -> tuple[str, int | None]:
    """Host and port. Raises ValueError if there is none and `check`."""
    text = authority.decode("latin-1") if isinstance(authority, bytes) else authority
    found = _ENCODED.fullmatch(text) if "xn--" in text.lower() else None
    port = int(found[2]) if found is not None and found[2] else None
    if found is None or (port is not None and port > 65535):
        return _parse_authority(authority, check)  # type: ignore[type-var]
    return found[1], port


def is_valid_host(host: str | bytes) -> bool:
    """As mitmproxy's, but for names of later rules."""
    text = host.decode("latin-1") if isinstance(host, bytes) else host
    found = _ENCODED.fullmatch(text) if "xn--" in text.lower() else None
    return (found is not None and not found[2]) or _is_valid_host(host)  # type: ignore[type-var]


def install() -> None:
    """Have mitmproxy take the shortcuts. Raises StartError when they do not lead to the same place."""
    fields = Headers([(b"Host", b"a"), (b"X-A", b"1"), (b"x-a", b"2")])
    for name in ("host", "x-a", "absent"):
        found = (get_all(fields, name), get(fields, name), contains(fields, name))
        if found != (fields.get_all(name), fields.get(name), name in fields):
            raise StartError(f"this mitmproxy is not supported: another way to look up {name!r}")
    if read_request_line(_PROBE) != _read_request_line(_PROBE):
        raise StartError("this mitmproxy is not supported: request lines are read in another way")
    if layers.validate_headers not in (_validate_headers, validate_headers):
        raise StartError("this mitmproxy is not supported: headers are validated in another way")
    if parse_authority(b"school.test:80", True) != ("school.test", 80):
        raise StartError("this mitmproxy is not supported: hosts are read in another way")
    asked, told = Request.make("GET", "http://school.test/"), Response.make(200, b"abc")
    sizes = (expected_body_size(asked), expected_body_size(asked, told))
    if sizes != (_expected_body_size(asked), _expected_body_size(asked, told)):
        raise StartError("this mitmproxy is not supported: bodies are measured in another way")
    if {*_COMMANDS} - {*vars(layers)} or {"value", "_default"} - {*_Option.__slots__}:
        raise StartError(
            "this mitmproxy is not supported: other commands of its HTTP layer, or other options"
        )
    context = Context(Client(peername=("", 0), sockname=("", 0)), options.Options())
    if vars(fork(context)) != vars(_fork(context)):
        raise StartError("this mitmproxy is not supported: a Context holds something else")
    Headers.get_all = get_all  # type: ignore[method-assign]
    Headers.get = get  # type: ignore[method-assign,assignment]
    Headers.__contains__ = contains  # type: ignore[method-assign,assignment]
    read._read_request_line = read_request_line
    for module in (read, http1):
        vars(module).update(expected_http_body_size=expected_body_size, connection_close=connection_close)
    layers.HttpLayer.event_to_child = event_to_child  # type: ignore[method-assign]
    _Option.current = current_value  # type: ignore[method-assign]
    url.parse_authority = parse_authority  # type: ignore[assignment]
    check.is_valid_host = is_valid_host
    layers.validate_headers = validate_headers
    Context.fork = fork  # type: ignore[method-assign]
