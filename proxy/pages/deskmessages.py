"""Collects the English texts of the desk, and brings the translations in locales/desk/ up to date.

`python -m proxy.pages.deskmessages` writes desk.pot and adds what is new to each language, untranslated; what is no
longer used goes. A test compares both with the source.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import polib

from proxy.pages.desktexts import FOLDER
from proxy.pages.language import ENGLISH, LANGUAGES
from proxy.pages.render import TEMPLATES
from proxy.pages.templatetexts import messages_of

_PROXY = Path(__file__).parents[1]
TEMPLATE = FOLDER / "desk.pot"


def collect_messages() -> dict[str, list[str]]:
    """Every text with the files that it occurs in, in the order of the files."""
    found: dict[str, list[str]] = {}
    for file in sorted((TEMPLATES / "desk").glob("*.jinja")):
        for message in messages_of(file.read_text(encoding="utf-8")):
            _note(found, message, file.name)
    for file in sorted(_PROXY.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "desktexts import" in source:
            for message in _marked(source):
                _note(found, message, str(file.relative_to(_PROXY)))
    return found


def _note(found: dict[str, list[str]], message: str, file: str) -> None:
    files = found.setdefault(message, [])
    if file not in files:
        files.append(file)


def _marked(source: str) -> Iterator[str]:
    """The literals given to `tr`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tr":
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def update() -> None:
    """Write desk.pot and all .po files anew; translations of texts that are still used stay."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    messages = collect_messages()
    _file(ENGLISH, messages, {}).save(str(TEMPLATE))
    for code in LANGUAGES:
        if code == ENGLISH:
            continue
        path = FOLDER / f"{code}.po"
        known = {each.msgid: each.msgstr for each in polib.pofile(path)} if path.exists() else {}
        _file(code, messages, known).save(str(path))


def _file(code: str, messages: dict[str, list[str]], known: dict[str, str]) -> polib.POFile:
    made = polib.POFile(wrapwidth=0)
    made.metadata = {
        "Project-Id-Version": "linkmend",
        "Language": code,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    for message, files in messages.items():
        occurrences = [(file, "") for file in files]
        made.append(polib.POEntry(msgid=message, msgstr=known.get(message, ""), occurrences=occurrences))
    return made


if __name__ == "__main__":
    update()
