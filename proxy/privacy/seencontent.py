"""Remembers which contents were sent to requests without a cookie, so that the same content may be shared."""

import secrets
from hashlib import blake2b

from repair.bounded import BoundedDict


class SeenContent:
    """A bounded memory of contents that were sent to a request without a cookie.

    It keeps only hashes under a key of this process, and nothing of cookies. Not safe in threads.
    """

    def __init__(self, max_entries: int = 100_000) -> None:
        self._key = secrets.token_bytes(32)
        self._seen = BoundedDict[bytes, None](max_entries)

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, url: str, body_digest: bytes, cookie: str | None) -> bool:
        """Note one response; returns whether this content was also sent to a request without a cookie.

        `body_digest` is a digest of all that may enter the collection: of the whole body if copies are saved.
        `cookie` is the Cookie header; None or "" when there was none.
        """
        name = blake2b(
            url.encode("utf-8", "replace") + b"\0" + body_digest, key=self._key, digest_size=16
        ).digest()
        if name in self._seen or not cookie:
            self._seen[name] = None
            return True
        return False
