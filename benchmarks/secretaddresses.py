"""How many ordinary addresses are taken for secret ones, and how many capability links are recognised.

    python -m benchmarks.secretaddresses COLLECTIONS [ADDRESSES.txt ...]

`COLLECTIONS` has a folder for each collection (docs/evaluation.md), with `pages.jsonl.gz` and `links.jsonl.gz`; every
address in them counts once. Further files have an address a line.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from repair.secrets.addresses import has_secret
from tests.capabilities import TEMPLATES, capability_links

_FIELDS = ("url", "source_url", "target_url", "canonical_url")
_SEEDS = 100
_SHOWN = 20


def _addresses(folder: Path) -> Iterator[str]:
    for name in ("pages", "links"):
        file = folder / f"{name}.jsonl.gz"
        if file.is_file():
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                for line in lines:
                    record = json.loads(line)
                    yield from (record[field] for field in _FIELDS if isinstance(record.get(field), str))


def _tell(name: str, addresses: set[str]) -> None:
    taken = sorted(filter(has_secret, addresses))
    share = 1_000 * len(taken) / max(1, len(addresses))
    print(f"{name}: {len(taken)} of {len(addresses)} addresses ({share:.2f} in 1,000)")
    for url in taken[:_SHOWN]:
        print(f"    {url[:200]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    asked = parser.parse_args()
    every: set[str] = set()
    for folder in sorted(path for path in asked.collections.iterdir() if path.is_dir()):
        found = set(_addresses(folder))
        every |= found
        _tell(folder.name, found)
    _tell("all", every)
    for file in asked.files:
        _tell(file.name, set(file.read_text(encoding="utf-8").split()))
    recognised = sum(has_secret(link) for seed in range(_SEEDS) for link in capability_links(seed))
    drawn = _SEEDS * len(TEMPLATES)
    print(
        f"capability links: {recognised} of {drawn} ({100 * recognised / drawn:.1f} %), {len(TEMPLATES)} kinds"
    )


if __name__ == "__main__":
    main()
