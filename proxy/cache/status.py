"""Cache-Status (RFC 9211): a header that says what the cache did with a request."""

from dataclasses import dataclass
from math import floor

NAME = "linkmend"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatus:
    """`forward` is one of RFC 9211's reasons (`uri-miss`, `stale`, ...); None means a hit."""

    forward: str | None = None
    forward_status: int | None = None
    ttl_s: float | None = None
    stored: bool = False
    collapsed: bool = False
    detail: str = ""


def write_cache_status(status: CacheStatus) -> str:
    """The field value."""
    # All parts are our own numbers and tokens: nothing to escape.
    parts = [NAME, "hit" if status.forward is None else f"fwd={status.forward}"]
    if status.forward_status is not None:
        parts.append(f"fwd-status={status.forward_status}")
    if status.ttl_s is not None:
        parts.append(f"ttl={floor(status.ttl_s)}")
    if status.stored:
        parts.append("stored")
    if status.collapsed:
        parts.append("collapsed")
    if status.detail:
        parts.append(f"detail={status.detail}")
    return ";".join(parts)
