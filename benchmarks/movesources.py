"""What a school learns of a site's moves from the site's own lists and links, without any redirect.

    python -m benchmarks.movesources nodejs kubernetes --mirrors DIR

The git history of a site stands for years of visits. The truth are the renames that git saw, followed to
today's page. Every half a year the school fetches the list of all pages (`repair.moves.sitemaps`), and every
page that changed, whose replaced links it compares (`repair.moves.linkswaps`). Nothing else is known. Then
every page that moved is asked for, and pages that a commit removed which added none: for these, any answer is
wrong. *Told* answers name the page itself, the others come from rules (`repair.moves.rules`) learnt from told
pairs. A pair is learnable when the new page's name stands in the old address and two other pairs of the site
lost as many parts and gained the same.
"""

import argparse
import itertools
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path
from urllib.parse import urljoin

from benchmarks.collections.repository import Repository
from benchmarks.collections.sitepages import Site, route_address
from benchmarks.collections.sites import RECIPES
from repair.model import Link
from repair.moves.linkswaps import page_name, replaced_links
from repair.moves.patterns import place_of
from repair.moves.rules import LearntMoves, Move
from repair.moves.sitemaps import renamed_addresses
from repair.text.urls import normal
from repair.text.urlstructure import normalise_part
from repair.text.words import is_stop_anchor

_EVERY = timedelta(days=182)
_MOST_REMOVED = 1_000
_LINK = re.compile(r"\[([^\[\]]{1,200})\]\(([^()\s]{1,500})\)")
_NUMBERS = re.compile("[0-9]+")
_LEARNABLE = 3  # pairs of the same change
_MDN = replace(
    RECIPES["mdnlang"].sites[0],
    redirects=None,
    routes=((r"files/(?P<lang>[a-z-]+)/(.+)/index\.(?:md|html)", r"\1/docs/\2"),),
)
_NODE = RECIPES["devblogs"].sites[0]
SITES: Mapping[str, Site] = {
    "ruby": RECIPES["rubylang"].sites[0],
    "nodejs": replace(
        _NODE,
        routes=tuple(
            (pattern.replace("apps/site/pages", "(?:apps/site/pages|pages|locale)"), template)
            for pattern, template in _NODE.routes
        ),
    ),
    "kubernetes": RECIPES["k8s"].sites[0],
    "mdn": _MDN,
    "vue": RECIPES["vuelang"].sites[0],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteHistory:
    """Pages that moved, by old address; pages that were removed; and all pages of today."""

    moved: Mapping[str, str]
    removed: tuple[str, ...]
    today: frozenset[str]

    def learnable(self) -> frozenset[str]:
        """Old addresses whose new one follows a pattern of the site."""
        changes = {old: _change(old, new) for old, new in self.moved.items()}
        common = Counter(changes.values())
        return frozenset(
            old
            for old, change in changes.items()
            if common[change] >= _LEARNABLE and page_name(self.moved[old]) in _names(old)
        )


def read_history(site: Site, repository: Repository) -> SiteHistory:
    """Follow the renames of a repository to today, and collect what was removed without a successor."""
    today = _addresses(site, repository.paths())
    renamed: dict[str, str] = {}
    removed: list[str] = []
    for lost, added, pairs in _commits(repository):
        for old, new in pairs:
            ends = _address(site, old), _address(site, new)
            if ends[0] and ends[1] and ends[0] != ends[1]:
                renamed.setdefault(ends[0], ends[1])
        gone = [address for path in lost if (address := _address(site, path))]
        if gone and not pairs and not any(_address(site, path) for path in added):
            removed += gone
    moved = {old: new for old in renamed if old not in today and (new := _follow(renamed, old, today))}
    left = sorted(set(removed) - today - moved.keys() - renamed.keys())
    random.Random(1).shuffle(left)
    return SiteHistory(moved=moved, removed=tuple(left[:_MOST_REMOVED]), today=today)


def told_moves(site: Site, repository: Repository, *, lists: bool, links: bool) -> list[Move]:
    """What two successive visits tell, from the first to the last."""
    found: list[Move] = []
    visits = _visits(repository)
    for before, after in itertools.pairwise(visits):
        if lists:
            found += renamed_addresses(
                *(_addresses(site, repository.paths(each)) for each in (before, after))
            )
        if links:
            found += _replaced(site, repository, before, after)
    return found


def measure(history: SiteHistory, told: list[Move]) -> dict[str, object]:
    """Ask for everything that moved and everything that was removed."""
    holds = history.today.__contains__
    steps: dict[str, set[str]] = {}
    for move in told:
        if not holds(move.old):
            steps.setdefault(move.old, set()).add(move.new)
    known = {
        old: new
        for old, choices in steps.items()
        if len(choices) == 1
        and (new := _follow({each: min(to) for each, to in steps.items()}, old, history.today))
    }
    same = [Move(old=old, new=new) for old, new in known.items() if page_name(old) == page_name(new)]
    rules = LearntMoves.learn(same, holds)

    def answer(url: str) -> str | None:
        guess = rules.answer(url, holds)
        return known.get(url) or (guess.url if guess else None)

    learnable = history.learnable()
    answers = {old: answer(old) for old in history.moved}
    right = {old for old, new in answers.items() if new == history.moved[old]}
    answered = [old for old, new in answers.items() if new]
    asked_of = [old for old in history.moved if old in known]
    silent = [url for url in history.removed if answer(url) is None]
    return {
        "pairs": len(history.moved),
        "told": len(asked_of),
        "told right": _share(sum(known[old] == history.moved[old] for old in asked_of), len(asked_of)),
        "precision": _share(len(right), len(answered)),
        "recall": _share(len(right), len(history.moved)),
        "learnable": len(learnable),
        "their recall": _share(len(right & learnable), len(learnable)),
        "removed": len(history.removed),
        "silent": _share(len(silent), len(history.removed)),
        "wrong": [
            (old, answers[old], history.moved[old], old in known) for old in answered if old not in right
        ],
        "missed": sorted((old, history.moved[old]) for old in learnable if answers[old] is None),
        "not silent": sorted((url, answer(url), url in known) for url in history.removed if answer(url)),
    }


def _replaced(site: Site, repository: Repository, before: str, after: str) -> Iterator[Move]:
    names = repository.changed(before, after)
    pages = {path: address for path in names if (address := _address(site, path))}
    old = dict(repository.contents(pages, before))
    for path, body in repository.contents(pages, after):
        if path in old:
            versions = (_links(pages[path], each) for each in (old[path], body))
            yield from replaced_links(*versions, is_stop_anchor)


def _links(page: str, body: bytes) -> list[Link]:
    found = []
    for anchor, href in _LINK.findall(body.decode("utf-8", "replace")):
        if target := _normal(urljoin(page, href.partition("#")[0])):
            found.append(Link(target_url=target, anchor=anchor))
    return found


def _visits(repository: Repository) -> list[str]:
    day, now = datetime(2013, 1, 1, tzinfo=UTC), datetime.now(UTC)
    found: dict[str, None] = {}
    while day < now:
        if revision := repository.revision_before(day.date().isoformat()):
            try:
                repository.paths(revision)
            except subprocess.CalledProcessError:  # a snapshot may lack its oldest trees
                pass
            else:
                found[revision] = None
        day += _EVERY
    return [*found, "HEAD"]


def _commits(repository: Repository) -> Iterator[tuple[list[str], list[str], list[tuple[str, str]]]]:
    """Of each commit, the newest first: the files that it removed, those it added, and those it renamed."""
    log = repository.changes()
    for commit in log.split("\x01")[1:]:
        lost, added, pairs = [], [], []
        for line in commit.splitlines():
            kind, *paths = line.split("\t")
            if kind == "D":
                lost += paths
            elif kind == "A":
                added += paths
            elif kind[:1] == "R" and len(paths) == 2:
                pairs.append((paths[0], paths[1]))
        yield lost, added, pairs


def _follow(steps: Mapping[str, str], start: str, today: Collection[str]) -> str | None:
    seen, at = {start}, start
    while at in steps and at not in today:
        at = steps[at]
        if at in seen:
            return None
        seen.add(at)
    return at if at in today else None


def _addresses(site: Site, paths: list[str]) -> frozenset[str]:
    return frozenset(address for path in paths if (address := _address(site, path)))


def _address(site: Site, path: str) -> str | None:
    routed = route_address(site, path)
    return _normal(routed[0]) if routed else None


def _normal(url: str) -> str | None:
    try:
        return normal(url)
    except ValueError:
        return None


def _names(url: str) -> list[str]:
    place = place_of(url)
    return [_NUMBERS.sub("0", normalise_part(part)) for part in place.parts] if place else []


def _change(old: str, new: str) -> tuple[int, tuple[str, ...]]:
    """How many parts an address lost, and which it gained."""
    before, after = _names(old), _names(new)
    lost, gained = 0, []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            lost += j - i
            gained += after[k:m]
    return lost, tuple(gained)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def main() -> None:
    """Measure the named sites, by each source and by both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(SITES))
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=0, help="how many errors of each kind to print")
    asked = parser.parse_args()
    for name in asked.names:
        site = SITES[name]
        place = asked.mirrors / site.repository.replace("/", "+")
        repository = Repository(place / "repo" if (place / "repo").is_dir() else place)
        history = read_history(site, repository)
        lists = told_moves(site, repository, lists=True, links=False)
        links = told_moves(site, repository, lists=False, links=True)
        for source, told in (("lists", lists), ("links", links), ("both", [*lists, *links])):
            figures = measure(history, told)
            examples = {kind: figures.pop(kind) for kind in ("wrong", "missed", "not silent")}
            print(json.dumps({"site": name, "source": source, **figures}))
            if asked.examples and source == "both":
                for kind, found in examples.items():
                    print(kind, len(found))  # type: ignore[arg-type]
                    random.Random(2).shuffle(found)  # type: ignore[arg-type]
                    for each in found[: asked.examples]:  # type: ignore[index]
                        print("   ", *each)


if __name__ == "__main__":
    main()
