"""Domain names in rules, and the domain lists that schools already have.

`example.org` is that host only; `.example.org` includes all subdomains, as in Squid's dstdomain. Lists in
e2guardian's form have no leading dots and include all subdomains. All entries are in one set: a lookup takes one step
per label of the host, whatever the length of the list.
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
    """Normalised entries: a leading dot means the domain and all its subdomains."""

    entries: frozenset[str]

    def entry_for(self, host: str) -> str:
        """The most specific entry that covers a normalised host; "" for none."""
        for entry in entries_covering(host):
            if entry in self.entries:
                return entry
        return ""


def entries_covering(host: str) -> Iterator[str]:
    """Every entry that would cover a normalised host, the most specific first.

    >>> list(entries_covering("a.b.c"))
    ['a.b.c', '.a.b.c', '.b.c', '.c']
    """
    yield host
    yield f".{host}"
    if ":" in host or _IPV4.fullmatch(host):
        return  # the numbers of an IP address are not domains
    dot = host.find(".")
    while dot != -1:
        yield host[dot:]
        dot = host.find(".", dot + 1)


def normal_host(host: str) -> str:
    """The host of a request in the form of entries; an invalid name is only lower-cased."""
    host = host.strip("[]").rstrip(".").lower()
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return host


def entry_of(text: str, form: Form = "dstdomain") -> str:
    """A normalised entry; ValueError, with the reason, if it is invalid.

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
    """The entries of a list file, one per line with comments after `#`, and its faults: line and reason."""
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
        raise ValueError("include is not supported; list each file in domain_list")
    if entry.startswith("*") and not entry.startswith("*."):
        raise ValueError(f"{entry[:80]!r} matches every site; write a rule without domain instead")
    return entry_of(entry, form)
