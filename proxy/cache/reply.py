"""What a client gets from a stored response: the whole, a part, only the headers, or 304."""

from dataclasses import dataclass

from proxy.cache.entry import CacheRequest, FileBody, Headers, StoredResponse
from proxy.cache.fields import without
from proxy.cache.freshness import age_s
from proxy.cache.ranges import Part, wanted_part
from proxy.cache.validating import is_not_modified

# RFC 9110 15.4.5 has a 304 tell the client what it needs to bring its own copy up to date. Browsers take all fields
# over (RFC 9111 3.2), policies and permissions too, so it gets all of them but those that describe the bytes it has.
_OF_THE_BYTES = (
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-range",
    "content-type",
    "repr-digest",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer ready to be sent. A `FileBody` is to be sent from `start` up to `stop`."""

    status: int
    reason: str
    headers: Headers
    body: bytes | FileBody = b""
    start: int = 0
    stop: int = 0


def reply_from(request: CacheRequest, stored: StoredResponse, now: float) -> Reply:
    """The answer that a stored response gives to a request that it may answer (RFC 9111 4)."""
    headers = (*without(stored.headers, "age"), ("Age", str(int(age_s(stored, now)))))
    if is_not_modified(request, stored):
        return Reply(status=304, reason="Not Modified", headers=without(headers, *_OF_THE_BYTES))
    size = len(stored.body) if isinstance(stored.body, bytes) else stored.body.size
    part = wanted_part(request, stored, size)
    if part is not None:
        return _partial(stored, headers, part, size)
    if request.method == "HEAD":
        return Reply(status=stored.status, reason=stored.reason, headers=headers)
    return Reply(
        status=stored.status, reason=stored.reason, headers=headers, body=stored.body, start=0, stop=size
    )


def _partial(stored: StoredResponse, headers: Headers, part: Part, size: int) -> Reply:
    rest = without(headers, "content-length", "content-range")
    if part.stop == 0:
        nowhere = (*rest, ("Content-Range", f"bytes */{size}"), ("Content-Length", "0"))
        return Reply(status=416, reason="Range Not Satisfiable", headers=nowhere)
    described = (
        *rest,
        ("Content-Range", f"bytes {part.start}-{part.stop - 1}/{size}"),
        ("Content-Length", str(part.stop - part.start)),
    )
    body = stored.body[part.start : part.stop] if isinstance(stored.body, bytes) else stored.body
    return Reply(
        status=206, reason="Partial Content", headers=described, body=body, start=part.start, stop=part.stop
    )
