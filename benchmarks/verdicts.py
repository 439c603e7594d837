"""The cost of one verdict of the rules, by the number of rules and list entries.

python -m benchmarks.verdicts
"""

import json
import tempfile
import timeit
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from proxy.rules.folder import load
from proxy.rules.model import RuleQuery
from proxy.rules.ruleset import RuleSet

LIST = "list.txt"
USUAL = """
[[rule]]
client = ["192.0.2.0/24", "198.51.100.0/24"]
time = "08:00-12:30"
weekday = ["mon", "tue", "wed", "thu", "fri"]
action = "block"

[[rule]]
url_regex = ["/ads?/[0-9]+", "[?&]session=[0-9a-f]{32}"]
action = "no-cache"

[[rule]]
url = "*.iso"
action = "no-cache"

[[rule]]
content_type = "video/*"
client = "192.0.2.0/24"
action = "no-index"
"""
"""Rules as a school has them besides its lists."""

_HOSTS = 500
_ROUNDS = 20


def write_rules(folder: Path, *, rules: int, entries: int) -> None:
    """Write a folder of rules with a domain each, and one more rule with a list of domains."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [f'[[rule]]\ndomain = ".rule{number}.test"\naction = "no-index"\n' for number in range(rules)]
    if entries:
        (folder / LIST).write_text("".join(f".entry{number}.test\n" for number in range(entries)))
        texts.append(f'[[rule]]\ndomain_list = "{LIST}"\naction = "block"\n')
    (folder / "10-many.toml").write_text("\n".join(texts))
    (folder / "20-usual.toml").write_text(USUAL if rules or entries else "")


def microseconds(ruleset: RuleSet) -> dict[str, float]:
    """The cost of a verdict at request and at response, for addresses that no rule matches."""
    now = datetime.now().astimezone()
    asked = [
        RuleQuery(
            url=f"http://www.host{number}.test/a/{number}.html",
            host=f"www.host{number}.test",
            client="10.0.0.7",
            at=now,
        )
        for number in range(_HOSTS)
    ]
    return {
        "request_us": _each(lambda: [ruleset.on_request(each) for each in asked]),
        "response_us": _each(
            lambda: [
                ruleset.on_response(each, miss=None, content_type="text/html; charset=utf-8")
                for each in asked
            ]
        ),
    }


def _each(ask_all: Callable[[], object]) -> float:
    """The best of some rounds: other work of the machine can only add time."""
    return min(timeit.repeat(ask_all, number=1, repeat=_ROUNDS)) / _HOSTS * 1e6


def verdicts() -> Iterator[dict[str, float]]:
    for rules, entries in ((0, 0), (0, 100), (0, 10_000), (100, 0), (10_000, 0), (10_000, 10_000)):
        with tempfile.TemporaryDirectory(prefix="linkmend-verdicts-") as place:
            write_rules(Path(place), rules=rules, entries=entries)
            begun = timeit.default_timer()
            ruleset = load(Path(place))
            loaded_s = timeit.default_timer() - begun
        yield {"rules": rules, "entries": entries, "load_s": round(loaded_s, 3), **microseconds(ruleset)}


def main() -> None:
    for told in verdicts():
        print(json.dumps(told))


if __name__ == "__main__":
    main()
