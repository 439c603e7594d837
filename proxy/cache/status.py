"""Cache-Status (RFC 9211): what the cache did with a request, for people who wonder."""

from dataclasses import dataclass
from math import floor
from typing import Any

import http_sf

NAME = "linkmend"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatus:
    """`forward` is one of RFC 9211's reasons (`uri-miss`, `stale`, ...); None says that the cache answered alone."""

    forward: str | None = None
    forward_status: int | None = None
    ttl_s: float | None = None
    stored: bool = False
    collapsed: bool = False
    detail: str = ""


def write_cache_status(status: CacheStatus) -> str:
    """The field value."""
    parameters: dict[str, Any] = {}
    if status.forward is None:
        parameters["hit"] = True
    else:
        parameters["fwd"] = http_sf.Token(status.forward)
    if status.forward_status is not None:
        parameters["fwd-status"] = status.forward_status
    if status.ttl_s is not None:
        parameters["ttl"] = floor(status.ttl_s)
    if status.stored:
        parameters["stored"] = True
    if status.collapsed:
        parameters["collapsed"] = True
    if status.detail:
        parameters["detail"] = http_sf.Token(status.detail)
    members: Any = [(http_sf.Token(NAME), parameters)]
    return str(http_sf.ser(members))
