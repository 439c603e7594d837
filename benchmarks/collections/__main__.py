"""Make collection folders: `python -m benchmarks.collections NAME... --mirrors DIR --out DIR`.

`--mirrors` has the git directories of the sites' repositories, each as `owner+name` or `owner+name/repo`, and Debian
packages as `apt-get download` names them.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from benchmarks.collections.debianpackage import DebianPackage
from benchmarks.collections.folder import write_folder
from benchmarks.collections.reallymoved import with_moves, write_really_moved
from benchmarks.collections.repository import Repository
from benchmarks.collections.sitepages import SiteFiles, SitePages, joined, read_pages
from benchmarks.collections.sites import RECIPES, Recipe
from repair.model import Document


def make(name: str, recipe: Recipe, mirrors: Path, folder: Path) -> dict[str, object]:
    """Make one folder; returns what is in it."""
    parts: list[SitePages] = []
    old: dict[str, Document] = {}
    for site in recipe.sites:
        repository = _files(mirrors, site.repository)
        today = read_pages(site, repository)
        moved = with_moves(site, repository, today)
        if moved is not None:
            today, before = moved
            old |= before.pages
        parts.append(today)
        print(f"{name}: {site.base} {site.language}: {len(today.pages)} pages", file=sys.stderr)
    whole = joined(parts).with_resolved_links()
    counts = write_folder(folder, whole, recipe.limits)
    counts |= write_really_moved(folder, whole, old, held_out=recipe.limits.held_out)
    return {"name": name, **counts, "languages": dict(Counter(whole.languages.values()).most_common())}


def _files(mirrors: Path, repository: str) -> SiteFiles:
    kind, colon, package = repository.partition(":")
    if colon and kind == "debian":
        return DebianPackage(next(iter(sorted(mirrors.glob(f"{package}_*.deb")))))
    place = mirrors / repository.replace("/", "+")
    return Repository(place / "repo" if (place / "repo").is_dir() else place)


def main() -> None:
    """Read the command line and make what it names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(RECIPES))
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    for name in asked.names:
        print(json.dumps(make(name, RECIPES[name], asked.mirrors, asked.out / name), ensure_ascii=False))


if __name__ == "__main__":
    main()
