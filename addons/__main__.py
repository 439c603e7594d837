"""`python -m addons` prints the table of addons for docs/developers.md."""

import sys
from importlib import import_module

import mitmproxy.proxy.layers  # noqa: F401 - registers the hooks of all layers
from mitmproxy import hooks

from addons import ORDER, AddonPlace


def hooks_of(place: AddonPlace) -> list[str]:
    """The hooks of mitmproxy that an addon has, in the order of its class."""
    addon = getattr(import_module(f"addons.{place.module}"), place.name)
    names = (name.removesuffix("_now") for part in addon.__mro__ for name in vars(part))
    return list(dict.fromkeys(name for name in names if name in hooks.all_hooks))


def table() -> str:
    rows = ["| addon | hooks | does | why there |", "|---|---|---|---|"]
    for place in ORDER:
        known = ", ".join(hooks_of(place))
        rows.append(f"| `{place.name}` | {known} | {place.does} | {place.why_there} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
