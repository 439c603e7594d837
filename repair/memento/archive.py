"""An archive as the admin describes it in one line: what to ask it, where its mementos are, whom it may point to.

    NAME [private] KIND=TEMPLATE ... [hosts=HOST,HOST]

In a template, `{url}` is the address looked for as it is, `{quoted}` the same percent-encoded, `{timestamp}` fourteen
digits. `wayback=BASE` stands for what pywb and Wayback machines offer under one address, `memgator=BASE` for a
MemGator aggregator. What is asked comes in the order written: when one question fails, the next is tried.

An archive's answers may point anywhere, so only addresses on its own hosts and their subdomains count. Those are
the hosts of its templates and of `hosts=`; an aggregator may also point to the hosts of all other archives.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import quote

from repair import urls
from repair.memento.datetimes import as_timestamp, timestamp
from repair.memento.model import Memento
from repair.memento.timemaps import Capture

QUESTIONS = ("cdx", "timemap", "available", "timegate")
"""What an archive can be asked; the answers to the first three may have any form that `timemaps` knows."""
_PLACES = ("memento", "raw")
_SHORTHANDS = {
    "wayback": {
        "timemap": "{base}timemap/link/{{url}}",
        "memento": "{base}{{timestamp}}/{{url}}",
        "raw": "{base}{{timestamp}}id_/{{url}}",
    },
    "memgator": {"timemap": "{base}timemap/json/{{url}}"},
}
_NAME = re.compile(r"[\w.\-]{1,40}\Z")
_FIELD = re.compile(r"\{(\w*)\}")
_PRINTABLE = re.compile(r"[!-~]+\Z")
_FIELDS = frozenset(("url", "quoted", "timestamp"))
# .../20060620180259id_/http://school.test/page, the modifier being there or not.
_WAYBACK = re.compile(
    r"(https?://[^/?#]++/(?:[^/?#]++/){0,8}?)([0-9]{14})(?:[a-z]{2}_)?/(https?:/{1,2}.+)\Z", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """What one archive offers; `memento` and `raw` are "" where its answers tell all addresses.

    One that is reached by https alone is `secure`: its answers may still list http addresses, which nobody need read.
    """

    name: str
    questions: tuple[tuple[str, str], ...]
    hosts: frozenset[str]
    memento: str = ""
    raw: str = ""
    private: bool = False
    secure: bool = False
    aggregator: bool = False

    def owns(self, url: str) -> bool:
        """Whether an address belongs to the archive."""
        try:
            authority = urls.parse(url).authority
        except ValueError:
            return False
        return any(authority == host or authority.endswith(f".{host}") for host in self.hosts)

    def asked(self, template: str, url: str, at: datetime | None = None) -> str:
        """A template filled in."""
        values = {"url": url, "quoted": quote(url, safe=""), "timestamp": as_timestamp(at) if at else ""}
        return _FIELD.sub(lambda found: values[found[1]], template)

    def mementos(self, url: str, captures: Iterable[Capture]) -> tuple[Memento, ...]:
        """Captures as mementos; those that lie on foreign hosts, or whose address cannot be told, are left out."""
        found = (self._memento(url, capture) for capture in captures)
        return tuple(memento for memento in found if memento is not None)

    def memento_of(self, original: str, at: datetime, near: str) -> str | None:
        """Where the archive has another address at a time; `near` is a memento of it, for the form."""
        if self.memento:
            return self.asked(self.memento, original, at)
        found = _WAYBACK.match(near)
        return f"{found[1]}{as_timestamp(at)}/{original}" if found else None

    def raw_url(self, memento: Memento) -> str | None:
        """Where the bytes are as they were archived, nothing rewritten or added; None when the archive has no way."""
        if self.raw and not self.aggregator:
            return self.asked(self.raw, memento.original, memento.at)
        found = _WAYBACK.match(memento.url)
        return f"{found[1]}{found[2]}id_/{found[3]}" if found else None

    def _memento(self, url: str, capture: Capture) -> Memento | None:
        split = archived(capture.url) if capture.url else None
        original = _normal(capture.original or (split[1] if split else url))
        where = capture.url or (self.asked(self.memento, original, capture.at) if self.memento else "")
        if self.secure:
            where = re.sub(r"^http://(?=[^/:]+/)", "https://", where)
        if not original or not self.owns(where) or not is_printable(where):
            return None
        return Memento(
            url=where,
            at=capture.at,
            archive=self.name,
            original=original,
            status=capture.status,
            media_type=capture.media_type,
            digest=capture.digest,
        )


def is_printable(url: str) -> bool:
    """Whether an address can stand in a request as it is: a line break in it would begin a header of its own."""
    return _PRINTABLE.match(url) is not None


def archived(url: str) -> tuple[datetime, str] | None:
    """When and what: taken out of the address of a memento of a Wayback-style archive; None for others."""
    found = _WAYBACK.match(url)
    at = timestamp(found[2]) if found else None
    if found is None or at is None:
        return None
    # Some servers make one slash of two.
    return at, re.sub(r"(?i)^(https?):/+", r"\1://", found[3])


def _normal(url: str) -> str:
    """An address as it may be put into another one; "" when it is none."""
    try:
        normal = urls.normal(url)
    except ValueError:
        return ""
    return normal if is_printable(normal) else ""


def parse_archive(line: str) -> Archive:
    """The archive that a line describes; ValueError says what is wrong with it."""
    name, *words = line.split()[:16] or [""]
    if not _NAME.match(name):
        raise ValueError(f"expected NAME KIND=TEMPLATE ..., got {line!r}")
    parts: dict[str, str] = {}
    hosts: list[str] = []
    for word in words:
        kind, equals, value = word.partition("=")
        if word == "private":
            parts["private"] = word
        elif kind == "hosts" and value:
            hosts += value.lower().split(",")
        elif kind in _SHORTHANDS and value.endswith("/"):
            parts.update({key: form.format(base=value) for key, form in _SHORTHANDS[kind].items()})
            parts["aggregator"] = kind if kind == "memgator" else ""
        elif equals and kind in (*QUESTIONS, *_PLACES):
            parts[kind] = value
        else:
            raise ValueError(
                f"{name}: {word!r} is none of private, hosts=, wayback=BASE/, memgator=BASE/, "
                + ", ".join(f"{kind}=" for kind in (*QUESTIONS, *_PLACES))
            )
    return _archive(name, parts, hosts)


def _archive(name: str, parts: dict[str, str], hosts: list[str]) -> Archive:
    questions = tuple((kind, template) for kind, template in parts.items() if kind in QUESTIONS)
    if not questions:
        raise ValueError(
            f"{name}: nothing to ask it; expected one of {', '.join(f'{kind}=' for kind in QUESTIONS)}"
        )
    templates = [*questions, *((kind, parts[kind]) for kind in _PLACES if kind in parts)]
    return Archive(
        name=name,
        questions=questions,
        hosts=frozenset((*(_host(name, *each) for each in templates), *hosts)),
        memento=parts.get("memento", ""),
        raw=parts.get("raw", ""),
        private="private" in parts,
        secure=all(template.startswith("https:") for _, template in templates),
        aggregator=bool(parts.get("aggregator")),
    )


def _host(name: str, kind: str, template: str) -> str:
    """The host of a template, with its port; it may not depend on the address looked for."""
    fields = set(_FIELD.findall(template))
    if (
        not fields & {"url", "quoted"}
        or fields - _FIELDS
        or template.count("{") != len(_FIELD.findall(template))
    ):
        raise ValueError(
            f"{name}: {kind}: expected {{url}} or {{quoted}}, and maybe {{timestamp}}, in {template!r}"
        )
    if kind in _PLACES and "timestamp" not in fields:
        raise ValueError(f"{name}: {kind}: expected {{timestamp}} in {template!r}")
    try:
        authority = urls.parse(template.partition("{")[0]).authority
    except ValueError as error:
        raise ValueError(f"{name}: {kind}: expected an http or https address, got {template!r}") from error
    if not re.match(r"(?i)https?://[^/?#{]+/", template):
        raise ValueError(f"{name}: {kind}: the host of {template!r} must be fixed")
    return authority


def parse_archives(lines: Iterable[str]) -> tuple[Archive, ...]:
    """The archives of the settings, in order; ValueError for a wrong line or two of the same name."""
    found = [parse_archive(line) for line in lines]
    names = [archive.name for archive in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(f"{twice}: described twice")
    every = frozenset(host for archive in found for host in archive.hosts)
    return tuple(replace(archive, hosts=every) if archive.aggregator else archive for archive in found)
