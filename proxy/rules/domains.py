"""Domain names as rules write them, and the lists of them that schools already have.

`example.org` is that host alone; `.example.org` is it and everything below it, as in Squid's dstdomain. Lists in
e2guardian's form write no dots and mean everything below. Entries are kept in one set: whether a host is in it takes
one look per label of the host, however long the list.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import idna

Form = Literal["dstdomain", "e2guardian"]

_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*")
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_IPV6 = re.compile(r"[0-9a-f:]*:[0-9a-f:.]*:[0-9a-f:.]*")
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class DomainList:
    """Entries in normal form: a leading dot means the domain and all below it."""

    entries: frozenset[str]

    def entry_for(self, host: str) -> str:
        """The entry that covers a host in normal form, the nearest first; "" for none."""
        for entry in entries_covering(host):
            if entry in self.entries:
                return entry
        return ""


def entries_covering(host: str) -> Iterator[str]:
    """Every entry that would cover a host in normal form, the nearest first.

    >>> list(entries_covering("a.b.c"))
    ['a.b.c', '.a.b.c', '.b.c', '.c']
    """
    yield host
    yield f".{host}"
    if ":" in host or _IPV4.fullmatch(host):
        return  # the numbers of an address are no domains
    dot = host.find(".")
    while dot != -1:
        yield host[dot:]
        dot = host.find(".", dot + 1)


def normal_host(host: str) -> str:
    """A host as a request names it, in the form entries have; what cannot be a name comes back in lower case."""
    host = host.strip("[]").rstrip(".").lower()
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return host


def entry_of(text: str, form: Form = "dstdomain") -> str:
    """An entry in normal form; ValueError, with the reason, when it is none.

    `*.example.org`, as other programs write it, is `.example.org`.

    >>> entry_of("*.Example.org"), entry_of("example.org", "e2guardian")
    ('.example.org', '.example.org')
    """
    shown = text[:80]
    below = text.startswith((".", "*.")) or form == "e2guardian"
    name = normal_host(text.removeprefix("*").removeprefix("."))
    if "/" in name:
        raise ValueError(f"{shown!r} is an address, not a domain; use url for addresses")
    if _IPV4.fullmatch(name) or _IPV6.fullmatch(name):
        return name
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise ValueError(f"{shown!r} is not a domain such as example.org or .example.org")
    return f".{name}" if below else name


def entries_of(text: str, form: Form) -> tuple[frozenset[str], list[tuple[int, str]]]:
    """The entries of a list file, one a line with comments after `#`, and what is wrong: line and reason."""
    entries: set[str] = set()
    faults: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        try:
            entries.add(_entry_of_list(entry, form))
        except ValueError as error:
            faults.append((number, str(error)))
    return frozenset(entries), faults


def _entry_of_list(entry: str, form: Form) -> str:
    if entry.startswith(".Include"):
        raise ValueError("included lists are not followed; name each file in domain_list")
    if entry.startswith("*") and not entry.startswith("*."):
        raise ValueError(f"{entry[:80]!r} stands for every site; write a rule without domain instead")
    return entry_of(entry, form)
