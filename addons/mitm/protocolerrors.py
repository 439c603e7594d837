"""mitmproxy's events for an invalid message: they have a status in version 11, a code in version 12."""

from typing import Any, Literal

from mitmproxy.proxy.layers import http as layers

Code = Literal[
    "GENERIC_CLIENT_ERROR",
    "GENERIC_SERVER_ERROR",
    "KILL",
    "REQUEST_TOO_LARGE",
    "REQUEST_VALIDATION_FAILED",
    "RESPONSE_VALIDATION_FAILED",
]
_STATUSES: dict[Code, int] = {
    "GENERIC_CLIENT_ERROR": 400,
    "GENERIC_SERVER_ERROR": 502,
    "KILL": 444,  # a stream that ends without an answer
    "REQUEST_TOO_LARGE": 413,
    "REQUEST_VALIDATION_FAILED": 400,
    "RESPONSE_VALIDATION_FAILED": 502,
}


def request_error(stream_id: int, message: str, code: Code = "GENERIC_CLIENT_ERROR") -> Any:
    """Tells that what the client sends is broken."""
    return layers.RequestProtocolError(stream_id, message, _code(code))


def response_error(stream_id: int, message: str, code: Code = "GENERIC_SERVER_ERROR") -> Any:
    """Tells that what the origin sends is broken, or what the client is answered instead."""
    return layers.ResponseProtocolError(stream_id, message, _code(code))


def _code(name: Code) -> Any:
    codes = getattr(layers, "ErrorCode", None)
    return _STATUSES[name] if codes is None else codes[name]
