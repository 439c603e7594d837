"""An archive as the admin configures it in one line: its endpoints, its memento addresses, its hosts.

    NAME [private] KIND=TEMPLATE ... [hosts=HOST,HOST]

In a template, `{url}` is the address to look up, `{quoted}` the same percent-encoded, `{timestamp}` fourteen digits.
`wayback=BASE` stands for the endpoints that pywb and Wayback machines have under one address, `memgator=BASE` for a
MemGator aggregator. The endpoints are queried in the order written: when one fails, the next is tried.

An archive's answers may point anywhere, so only addresses on its own hosts and their subdomains are used. Those are
the hosts of its templates and of `hosts=`; an aggregator may also point to the hosts of all other archives.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import quote

from repair.memento.datetimes import as_timestamp, timestamp
from repair.memento.model import Memento
from repair.memento.timemaps import Capture
from repair.text import urls
from repair.text.publichosts import is_public_host

QUESTIONS = ("cdx", "timemap", "available", "timegate")
"""The kinds of endpoints; the first three may answer in any form that `timemaps` can parse."""
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
_FIELDS = frozenset(("url", "quoted", "timestamp"))
# .../20060620180259id_/http://school.test/page, with or without the modifier.
_WAYBACK = re.compile(
    r"(https?://[^/?#]++/(?:[^/?#]++/){0,8}?)([0-9]{14})(?:[a-z]{2}_)?/(https?:/{1,2}.+)\Z", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """One archive; `memento` and `raw` are "" where its answers give all addresses.

    An archive with only https templates is `secure`: http addresses in its answers are then fetched by https.
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

    def private_places(self) -> frozenset[tuple[str, int]]:
        """Its hosts and ports in a private network: the admin said so, or the address shows it."""
        templates = (*(template for _, template in self.questions), self.memento, self.raw)
        places = {urls.host_and_port(template.partition("{")[0]) for template in templates if template}
        return frozenset(place for place in places if self.private or not is_public_host(place[0]))

    def fill_template(self, template: str, url: str, at: datetime | None = None) -> str:
        """The address to request for a template."""
        values = {"url": url, "quoted": quote(url, safe=""), "timestamp": as_timestamp(at) if at else ""}
        return _FIELD.sub(lambda found: values[found[1]], template)

    def mementos(self, url: str, captures: Iterable[Capture]) -> tuple[Memento, ...]:
        """Captures as mementos; those on foreign hosts or without a known address are left out."""
        found = (self._memento(url, capture) for capture in captures)
        return tuple(memento for memento in found if memento is not None)

    def memento_of(self, original: str, at: datetime, near: str) -> str | None:
        """The memento address of `original` at a time; `near` is another memento, which shows the form."""
        if self.memento:
            return self.fill_template(self.memento, original, at)
        found = _WAYBACK.match(near)
        return f"{found[1]}{as_timestamp(at)}/{original}" if found else None

    def raw_url(self, memento: Memento) -> str | None:
        """The address of the unmodified archived bytes; None when the archive does not offer them."""
        if self.raw and not self.aggregator:
            return self.fill_template(self.raw, memento.original, memento.at)
        found = _WAYBACK.match(memento.url)
        return f"{found[1]}{found[2]}id_/{found[3]}" if found else None

    def _memento(self, url: str, capture: Capture) -> Memento | None:
        split = split_memento_url(capture.url) if capture.url else None
        original = _normal(capture.original or (split[1] if split else url))
        where = capture.url or (
            self.fill_template(self.memento, original, capture.at) if self.memento else ""
        )
        if self.secure:
            where = re.sub(r"^http://(?=[^/:]+/)", "https://", where)
        if not original or not self.owns(where) or not urls.is_printable(where):
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


def split_memento_url(url: str) -> tuple[datetime, str] | None:
    """The time and the original URL in the address of a Wayback-style memento; None for other addresses."""
    found = _WAYBACK.match(url)
    at = timestamp(found[2]) if found else None
    if found is None or at is None:
        return None
    # Some servers collapse the two slashes into one.
    return at, re.sub(r"(?i)^(https?):/+", r"\1://", found[3])


def _normal(url: str) -> str:
    """An address in normal form, fit for use in a template; "" when it is invalid."""
    try:
        normal = urls.normal(url)
    except ValueError:
        return ""
    return normal if urls.is_printable(normal) else ""


def parse_archive(line: str) -> Archive:
    """Parse one line of the settings; ValueError says what is wrong with it."""
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
            f"{name}: no query template; expected one of {', '.join(f'{kind}=' for kind in QUESTIONS)}"
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
    """The host and port of a template; they may not depend on the address looked up."""
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
    """Parse the archives of the settings, in order; ValueError for a wrong line or a repeated name."""
    found = [parse_archive(line) for line in lines]
    names = [archive.name for archive in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(f"{twice}: described twice")
    every = frozenset(host for archive in found for host in archive.hosts)
    return tuple(replace(archive, hosts=every) if archive.aggregator else archive for archive in found)
