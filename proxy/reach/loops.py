"""Detects proxy loops: requests that come back to linkmend through its parents (pure).

Each linkmend adds its own mark to requests that it sends to another proxy, and forwards the marks that it got. A
linkmend that finds its own mark answers with an error. The marks have a field of their own instead of Via (RFC 9110
7.6.3), which makes nginx send text uncompressed. linkmend sends none to sites. A Squid in between would forward a
mark, so it reveals nothing: it is a keyed hash of the site's name, different for each site and each day.

A client that forges marks gets an error itself. Nothing of it is stored, and no other client's request changes.
"""

import re
from collections.abc import Callable, Iterable

FIELD = "Linkmend-Loop"
MOST = 8
"""Marks on one request. More count as a loop in which some proxy changes the name of the site."""
_MARK = re.compile(r"[0-9a-f]{16}")


def read_marks(values: Iterable[str]) -> tuple[str, ...]:
    """The valid marks in the values of the field."""
    members = (member.strip() for value in values for member in value[:1000].split(","))
    return tuple(member for member in members if _MARK.fullmatch(member))[:MOST]


class LoopMarks:
    """Makes and recognises the marks of this linkmend, the same in all workers."""

    def __init__(self, make_code: Callable[[str], str]) -> None:
        """`make_code` returns 16 hexadecimal digits that no one else can compute."""
        self._make_code = make_code

    def add(self, marks: tuple[str, ...], host: str, port: int) -> str:
        """The value of the field for a request that came with these marks."""
        return ", ".join((*marks, self._mark(host, port)))

    def show_loop(self, marks: tuple[str, ...], host: str, port: int) -> bool:
        """Whether a request for this site with these marks was here before."""
        return bool(marks) and (len(marks) >= MOST or self._mark(host, port) in marks)

    def _mark(self, host: str, port: int) -> str:
        return self._make_code(f"loop {host[:255]} {port}")
