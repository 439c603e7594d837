"""Writes a settings file with the comments of deploy/linkmend.toml (pure).

What was chosen is set; every other setting is there as a comment, with its default. So an admin finds all that can be
changed, and defaults that a newer linkmend changes for the better take effect.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import msgspec

from proxy.settings import Settings

_SECTION = re.compile(r"\[([a-z0-9_]+)\]$")
_KEY = re.compile(r"([a-z0-9_]+) = ")
_HEAD = """\
# linkmend.toml, written by `linkmend setup`. Lines such as #workers = 0 are defaults: remove the # to change one.
# A setting can also come from the environment, LINKMEND_PROXY_LISTEN=0.0.0.0:3128, or the command line.
# `kill -HUP` (systemctl reload linkmend) reloads the file; a file with an error changes nothing.
"""


def settings_text(template: str, chosen: Mapping[str, Any]) -> str:
    """The template with the values of `chosen` (`{"proxy.listen": ...}`) set, and all others commented out.

    Raises KeyError for a setting that the template does not have.
    """
    left = dict(chosen)
    lines = [*_HEAD.splitlines(), ""]
    section = ""
    for line in _body(template):
        if found := _SECTION.match(line):
            section = found[1]
        elif found := _KEY.match(line):
            name = f"{section}.{found[1]}"
            if name in left:
                lines.append(f"{found[1]} = {_toml(left.pop(name))}")
                continue
            line = "#" + line.replace("\n", "\n#")
        lines.append(line)
    if left:
        raise KeyError(next(iter(left)))
    return "\n".join(lines) + "\n"


def changed_settings(settings: Settings) -> dict[str, Any]:
    """What differs from the defaults, as `settings_text` takes it."""
    default = Settings()
    return {
        f"{part.name}.{key.name}": getattr(getattr(settings, part.name), key.name)
        for part in fields(Settings)
        for key in fields(getattr(default, part.name))
        if getattr(getattr(settings, part.name), key.name) != getattr(getattr(default, part.name), key.name)
    }


def _body(template: str) -> Iterator[str]:
    """The lines below the template's own head; a value that spans lines is one."""
    _, _, text = template.partition("\n\n")
    held = ""
    for line in text.splitlines():
        held = f"{held}\n{line}" if held else line
        if not held.endswith(("[", ",")) or held.startswith("#"):
            yield held
            held = ""


def _toml(value: Any) -> str:
    """A value as TOML. JSON writes strings, numbers, booleans and lists of them in the same way, but for DEL."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F").replace('","', '", "')
