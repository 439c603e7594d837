"""What is said between workers and the office, as typed structs over the project's own values.

A worker asks (`Asked`, answered by `Answered` or `Failed`), tells (`Told`, no answer) and shares what it learnt of a
client (`Shared`, passed on to the other workers). A question says how long its asker waits: the office works on it
no longer.
"""

from datetime import datetime

from msgspec import Raw, Struct
from msgspec.msgpack import Decoder

from proxy.archives.findings import Findings
from proxy.mending import Mended, Miss
from proxy.misses.record import MissRecord
from proxy.pages.render import RenderedPage
from proxy.portal.helper import Mementos
from proxy.readers.withheld import Withheld
from proxy.watching.metrics import Snapshot
from proxy.watching.recent import Logged
from repair.model import Alternative, BrokenLink, HeldCopy, HeldPage, Page
from repair.versions import HeldVersions

# Questions, and how their answers are read.


class Mend(Struct, frozen=True, array_like=True, tag=True):
    miss: Miss
    within_s: float


class Search(Struct, frozen=True, array_like=True, tag=True):
    text: str
    limit: int


class CopyOf(Struct, frozen=True, array_like=True, tag=True):
    url: str


class PageAt(Struct, frozen=True, array_like=True, tag=True):
    url: str


class VersionsOf(Struct, frozen=True, array_like=True, tag=True):
    url: str


class VersionOf(Struct, frozen=True, array_like=True, tag=True):
    url: str
    moment: datetime


class Count(Struct, frozen=True, array_like=True, tag=True):
    pass


class Remembered(Struct, frozen=True, array_like=True, tag=True):
    link: BrokenLink
    ask: bool


class FromArchives(Struct, frozen=True, array_like=True, tag=True):
    call: Mementos
    language: str
    client: str


Question = Mend | Search | CopyOf | PageAt | VersionsOf | VersionOf | Count | Remembered | FromArchives

MENDED = Decoder(Mended)
ALTERNATIVES: Decoder[tuple[Alternative, ...]] = Decoder(tuple[Alternative, ...])
COPY: Decoder[HeldCopy | None] = Decoder(HeldCopy | None)
PAGE: Decoder[HeldPage | None] = Decoder(HeldPage | None)
VERSIONS: Decoder[HeldVersions | None] = Decoder(HeldVersions | None)
NUMBER = Decoder(int)
FINDINGS = Decoder(Findings)
RENDERED: Decoder[RenderedPage | None] = Decoder(RenderedPage | None)

# Notes.


class Record(Struct, frozen=True, array_like=True, tag=True):
    record: MissRecord


class Chosen(Struct, frozen=True, array_like=True, tag=True):
    miss_id: str
    number: int
    client: str
    network: str


class Offer(Struct, frozen=True, array_like=True, tag=True):
    page: Page


class Moved(Struct, frozen=True, array_like=True, tag=True):
    old: str
    new: str


class Missed(Struct, frozen=True, array_like=True, tag=True):
    miss_id: str
    client: str
    link: BrokenLink
    ask: bool


class Heard(Struct, frozen=True, array_like=True, tag=True):
    """Whether sites answer, at a moment of the clock that all processes of a machine share."""

    at: float
    answered: bool


class Counted(Struct, frozen=True, array_like=True, tag=True):
    """What a worker counted since it began, and the problems that it has logged of late."""

    worker: str
    pid: int
    figures: Snapshot
    problems: tuple[Logged, ...] = ()


class Leaving(Struct, frozen=True, array_like=True, tag=True):
    """The worker takes no more readers and ends once it has answered those it has."""


Note = Record | Chosen | Offer | Moved | Missed | Heard | Counted | Leaving

# What all workers know of clients.


class ClientOpened(Struct, frozen=True, array_like=True, tag=True):
    client: str
    url: str


class ClientRedirected(Struct, frozen=True, array_like=True, tag=True):
    client: str
    asked: str
    location: str


class ClientLanded(Struct, frozen=True, array_like=True, tag=True):
    client: str
    url: str


class PageWithheld(Struct, frozen=True, array_like=True, tag=True):
    miss_id: str
    client: str
    page: Withheld


class ClientLed(Struct, frozen=True, array_like=True, tag=True):
    client: str
    missed: str
    target: str


class ClientArrived(Struct, frozen=True, array_like=True, tag=True):
    client: str
    url: str


News = ClientOpened | ClientRedirected | ClientLanded | PageWithheld | ClientLed | ClientArrived

# The messages themselves.


class Asked(Struct, frozen=True, array_like=True, tag=True):
    id: int
    question: Question
    within_s: float


class Told(Struct, frozen=True, array_like=True, tag=True):
    note: Note


class Shared(Struct, frozen=True, array_like=True, tag=True):
    news: tuple[News, ...]


class Welcome(Struct, frozen=True, array_like=True, tag=True):
    """The office is there and listens; where the desk answers who comes through the proxy, and by which secret."""

    door_address: str = ""
    door_secret: str = ""
    ports: tuple[int, ...] = ()
    """Where the office listens on this machine."""


class Answered(Struct, frozen=True, array_like=True, tag=True):
    id: int
    answer: Raw


class Failed(Struct, frozen=True, array_like=True, tag=True):
    id: int
    why: str


TO_OFFICE: Decoder[Asked | Told | Shared] = Decoder(Asked | Told | Shared)
TO_WORKER: Decoder[Welcome | Answered | Failed | Shared] = Decoder(Welcome | Answered | Failed | Shared)
