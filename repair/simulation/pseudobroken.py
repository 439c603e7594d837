"""Simulated breakage: turns a collection folder into a collection with broken links whose answers are known.

Variants (DESIGN.md): `kept`, `moved`, `really-moved` and `gone` measure. Two more are for training. `renamed`: every
page has a new URL that still resembles the old one, and half of the pages link to the new URLs, half to the old ones,
as on a site some time after a reorganisation. `readdressed`: long after it; pages and links are as they are, and the
link leads to a URL that the site once had for the page. Half of these links have no words, as a bookmark has none.

The trap: traces of the breakage (an opaque URL, a page without inlinks) must not reveal the answer. So every page
gets a new URL, not the answers alone; and for training (`even`) every other page loses the links of one source page
too, as the answers lose the link under test.
"""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from repair.collection.collection import Collection, PageAddition
from repair.collection.index.fulltext import FORMAT
from repair.collection.nearduplicate import find_near_duplicate
from repair.errors import EvaluationFailed
from repair.model import BrokenLink, Document, MissKind
from repair.moves.rules import LearntMoves, Move
from repair.parse.collectionfolder import collection_folder, is_collection_folder
from repair.parse.jsonlines import records
from repair.parse.problems import ImportProblems
from repair.settings import CollectionSettings
from repair.simulation import reorganisation
from repair.text import urls

_BATCH = 400
_SHARE = 21  # of 256 pages, whose move is known
_LAYOUT = "2"  # changes when this module builds collections differently


class Variant(StrEnum):
    """How the links under test are broken."""

    KEPT = "kept"
    MOVED = "moved"
    REALLY_MOVED = "really-moved"
    GONE = "gone"
    RENAMED = "renamed"
    READDRESSED = "readdressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenCase:
    """A broken link whose answer is known. `hidden` may not be returned; `target_url` is the link's original target.

    `source` is the page with the link where the collection does not have it; `number` is the place in the file.
    """

    id: str
    number: int
    link: BrokenLink
    truth: str
    hidden: frozenset[str]
    source: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakagePlan:
    """Which collection to build: from which folder, how broken, by which list of links.

    `part` is the number of a part and how many there are: a small collection, of pages drawn at random.
    """

    folder: Path
    variant: Variant
    split: str = "test"
    limit: int | None = None
    part: tuple[int, int] | None = None

    @property
    def even(self) -> bool:
        """Whether untouched pages get the traces of broken ones; for training, where traces would be learnt."""
        return self.split == "train"

    def has(self, url: str) -> bool:
        """Whether a page, by its old URL, is in the part."""
        return self.part is None or int.from_bytes(_digest(url)[2:4]) % self.part[1] == self.part[0]


def cases(plan: BreakagePlan) -> tuple[BrokenCase, ...]:
    """The broken links of a plan, in the order of the file."""
    addresses = _addresses(plan)
    records = [each for each in enumerate(_records(plan)) if plan.has(_normal(each[1]["target_url"]))]
    sources = _old_sources(plan) if plan.variant is Variant.REALLY_MOVED else {}
    return tuple(_case(at, record, plan, addresses, sources) for at, record in records[: plan.limit])


def collection(plan: BreakagePlan, cache: Path) -> Collection:
    """The collection of a plan, opened; built on first use, cached in `cache` by the folder's content."""
    if not is_collection_folder(plan.folder):
        raise EvaluationFailed(f"{plan.folder}: expected a collection folder with pages.jsonl.gz")
    directory = cache / collection_key(plan)
    settings = CollectionSettings(max_pages=10**9, keep_copies=False, max_links=10**6)
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        with Collection.open(directory, settings) as made:
            _fill(made, plan)
            made.commit()
        (directory / "complete").touch()
    return Collection.open(directory, settings)


def known_moves(plan: BreakagePlan, made: Collection, *, with_moves: bool = False) -> LearntMoves:
    """Known moves of the site, as a school would know them, never from the answers.

    *renamed*: one page in twelve. *really-moved*, only if wanted: old source pages whose text is found again under
    another URL; on some sites these tell the way of most links under test.
    """
    answers = {_normal(record["target_url"]) for record in _records(plan)}
    moves: list[Move] = []
    if plan.variant is Variant.REALLY_MOVED and with_moves:
        for old, document in _old_sources(plan).items():
            new = find_near_duplicate(made, document) if old not in answers and not made.holds(old) else None
            moves += [Move(old=old, new=new, origin="duplicate")] if new else []
    elif plan.variant is Variant.RENAMED:
        pairs = _addresses(plan).items()
        moves = [
            Move(old=old, new=new) for old, new in pairs if old not in answers and _digest(old)[1] < _SHARE
        ]
    return LearntMoves.learn(moves, made.holds)


def _fill(made: Collection, plan: BreakagePlan) -> None:
    problems = ImportProblems()
    addresses = _addresses(plan)
    removed = _excluded_links(plan)
    if plan.variant is Variant.READDRESSED:
        addresses = {}
    waiting: list[PageAddition] = []
    moment = datetime.now(UTC)
    for item in collection_folder(plan.folder, problems):
        if not isinstance(item, Document):
            raise EvaluationFailed(f"{plan.folder}: expected pages with title and text")
        if not plan.has(item.url):
            continue
        document = _at_new_url(item, plan, addresses, removed)
        waiting.append(PageAddition(document=document, fetched_at=moment))
        if len(waiting) >= _BATCH:
            made.add_many(waiting)
            waiting.clear()
    made.add_many(waiting)


def _at_new_url(
    document: Document,
    plan: BreakagePlan,
    addresses: Mapping[str, str],
    removed: frozenset[tuple[str, str]],
) -> Document:
    """The page at its URL in the variant, without the links excluded by the links under test."""
    links = [link for link in document.links if (document.url, link.target_url) not in removed]
    if (document.url, "*") in removed:
        links = []
    if plan.variant is Variant.RENAMED and _draw(document.url):
        links = [replace(link, target_url=addresses.get(link.target_url, link.target_url)) for link in links]
    return replace(document, url=addresses.get(document.url, document.url), links=tuple(links))


def _excluded_links(plan: BreakagePlan) -> frozenset[tuple[str, str]]:
    """Excluded links, as source and target; a target `*` is every link of the source.

    All links under test go at once: stricter than one at a time, and one collection serves them all.
    """
    found: set[tuple[str, str]] = set()
    for record in _records(plan):
        source, target = _normal(record["source_url"]), _normal(record["target_url"])
        found.add((source, target))
        if plan.variant is Variant.REALLY_MOVED:
            found.add((source, "*"))
            if record.get("source_url_now"):
                found.add((_normal(record["source_url_now"]), "*"))
    if plan.even:
        answers = {_normal(record.get("truth") or record["target_url"]) for record in _records(plan)}
        found |= _decoy_links(plan.folder, answers)
    return frozenset(found)


def _decoy_links(folder: Path, answers: set[str]) -> set[tuple[str, str]]:
    """For each page that is no answer, the links from one of the pages that link to it."""
    chosen: dict[str, tuple[bytes, str]] = {}
    for document in collection_folder(folder, ImportProblems()):
        for target in {link.target_url for link in getattr(document, "links", ())} - answers:
            lot = (_digest(f"{document.url} {target}"), document.url)
            chosen[target] = min(chosen.get(target, lot), lot)
    return {(source, target) for target, (_, source) in chosen.items()}


def _addresses(plan: BreakagePlan) -> dict[str, str]:
    """Old URL to new, for every page; empty when pages do not move.

    For *readdressed* it is the URL that the site once had for the page.
    """
    if plan.variant in (Variant.RENAMED, Variant.READDRESSED):
        return reorganisation.rename_address(
            [_normal(record["url"]) for record in records(plan.folder, "pages", needs=("url",))]
        )
    if plan.variant is not Variant.MOVED:
        return {}
    moved = {
        _normal(record["url"]): _opaque(record["url"])
        for record in records(plan.folder, "pages", needs=("url",))
    }
    listed = plan.folder / f"moved_{plan.split}.json"
    if not plan.even and listed.exists():
        moved |= {_normal(old): new for old, new in _read_moves(listed).items()}
    return moved


def _read_moves(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except msgspec.DecodeError as error:
        raise EvaluationFailed(f"{path}: expected old addresses with new ones: {error}") from error


def _case(
    number: int,
    record: Mapping[str, Any],
    plan: BreakagePlan,
    addresses: Mapping[str, str],
    sources: Mapping[str, Document],
) -> BrokenCase:
    source, target = _normal(record["source_url"]), _normal(record["target_url"])
    at, truth, lost = addresses.get(source, source), addresses.get(target, target), target
    if plan.variant is Variant.REALLY_MOVED:
        truth = record["truth"]
    elif plan.variant is Variant.READDRESSED:
        at, truth, lost = source, target, addresses.get(target, target)
    hidden = {at, source}
    if record.get("source_url_now"):
        hidden.add(_normal(record["source_url_now"]))
    has_words = plan.variant is not Variant.READDRESSED or _draw(f"words of {record['id']}")
    link = BrokenLink(
        url=lost,
        kind=MissKind.NOT_FOUND,
        source_url=at,
        anchor=record.get("anchor", "") if has_words else "",
        before=record.get("context_before", "") if has_words else "",
        after=record.get("context_after", "") if has_words else "",
    )
    return BrokenCase(
        id=str(record["id"]),
        number=number,
        link=link,
        truth=truth,
        hidden=frozenset(hidden),
        source=sources.get(source),
    )


def _old_sources(plan: BreakagePlan) -> dict[str, Document]:
    stem = "really_moved_sources" if plan.split == "test" else "really_moved_train_sources"
    return {
        _normal(record["url"]): Document(
            url=_normal(record["url"]), title=record["title"], text=record["text"]
        )
        for record in records(plan.folder, stem, needs=("url", "title", "text"), optional=True)
    }


def _records(plan: BreakagePlan) -> list[dict[str, Any]]:
    if plan.variant is Variant.REALLY_MOVED:
        stem = "really_moved" if plan.split == "test" else "really_moved_train"
        return list(records(plan.folder, stem, needs=("source_url", "target_url", "truth")))
    return list(records(plan.folder, plan.split, needs=("source_url", "target_url")))


def collection_key(plan: BreakagePlan) -> str:
    """A name for the collection that changes with all its inputs."""
    digest = hashlib.blake2b(digest_size=10)
    variant = Variant.KEPT if plan.variant in (Variant.GONE, Variant.READDRESSED) else plan.variant
    version = reorganisation.VERSION if variant is Variant.RENAMED else ""
    for word in (_LAYOUT, FORMAT, variant, plan.split, version):
        digest.update(f"{word}\n".encode())
    for path in sorted(plan.folder.iterdir()):
        if path.is_file():
            digest.update(path.name.encode() + hashlib.blake2b(path.read_bytes()).digest())
    part = f"-{plan.part[0]}of{plan.part[1]}" if plan.part else ""
    return f"{plan.folder.name}-{variant}-{plan.split}{part}-{digest.hexdigest()}"


def _opaque(url: str) -> str:
    return f"http://moved.invalid/{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def _draw(text: str) -> bool:
    return _digest(text)[0] % 2 == 0


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()


def _normal(url: str) -> str:
    try:
        return urls.normal(url)
    except ValueError as error:
        raise EvaluationFailed(f"expected an http(s) URL, got {url[:80]!r}") from error
