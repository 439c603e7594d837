"""A folder of rules: `*.toml` in the order of their names, and the lists of domains that they name."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from proxy.rules.book import RuleBook
from proxy.rules.domains import Form, entries_of
from proxy.rules.model import Fault, Rule, RulesError
from proxy.rules.parse import rules_of

MAX_FILE_BYTES = 4 * 1024**2
MAX_LIST_BYTES = 64 * 1024**2
MAX_FILES = 1000
_LIST_FAULTS_SHOWN = 20


def folder_beside(configured: str, settings_file: Path | None) -> str:
    """The folder that a setting names, from the settings file on; `rules.d` there, if it is there; else ""."""
    if settings_file is None:
        return configured
    folder = settings_file.parent / (configured or "rules.d")
    return str(folder.absolute()) if configured or folder.is_dir() else ""


def rules_folder(configured: str, data: Path) -> Path:
    """Where the rules are: as configured, else in the data folder."""
    return Path(configured) if configured else data / "rules.d"


def is_rule_file(name: str) -> bool:
    """Whether a file of this name, right in the folder, holds rules."""
    return name.endswith(".toml") and not name.startswith(".") and "/" not in name


def rule_files(folder: Path) -> tuple[str, ...]:
    """The names of the files of rules in order; none when the folder is not there. OSError when it cannot be read."""
    try:
        found = [path.name for path in folder.iterdir() if is_rule_file(path.name) and path.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(sorted(found))


def all_files(folder: Path) -> list[str]:
    """The files of a folder and those below, relative to it and in order, without hidden ones; so many at most."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(place, name)
            if not name.startswith(".") and os.path.isfile(path):
                found.append(Path(path).relative_to(folder).as_posix())
        if len(found) > MAX_FILES:
            break
    return found[:MAX_FILES]


def load(
    folder: Path, *, instead: Mapping[str, str | None] | None = None, read: dict[str, str] | None = None
) -> RuleBook:
    """The book of a folder. Raises RulesError.

    `instead` holds texts to read in place of files, by name; None for a file to leave out. `read` is given the texts
    the book is made of: the files may be others by the time they are read again.
    """
    texts = instead or {}
    read = {} if read is None else read
    lists = _Lists(folder, texts, read)
    rules: list[Rule] = []
    faults: list[Fault] = []
    try:
        names = {*rule_files(folder), *filter(is_rule_file, texts)}
    except OSError as error:
        raise RulesError((unread(folder.name, error),)) from error
    for name in sorted(names):
        try:
            text = texts[name] if name in texts else text_of(folder / name, MAX_FILE_BYTES)
        except (OSError, ValueError) as error:
            faults.append(unread(name, error))
            continue
        read[name] = text or ""
        found, wrong = rules_of(read[name], name, lists.entries)
        rules += found
        faults += sorted(wrong, key=lambda fault: fault.line)
    faults += [*lists.faults, *_same_names(rules)]
    if faults:
        raise RulesError(tuple(faults))
    return RuleBook(rules)


def text_of(path: Path, most_bytes: int) -> str:
    """The text of a file; OSError when it cannot be read, ValueError when it is too large or not UTF-8."""
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"larger than {most_bytes} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error


class _Lists:
    """The list files of a folder, each read once however many rules name it; `faults` is what is wrong in them."""

    def __init__(self, folder: Path, instead: Mapping[str, str | None], texts: dict[str, str]) -> None:
        self._folder = folder
        self._instead = instead
        self._texts = texts
        self._read: dict[tuple[str, Form], frozenset[str]] = {}
        self.faults: list[Fault] = []

    def entries(self, name: str, form: Form) -> frozenset[str]:
        """The entries of a list; ValueError when the file cannot be read."""
        if (name, form) not in self._read:
            self._read[name, form] = self._entries(name, form)
        return self._read[name, form]

    def _entries(self, name: str, form: Form) -> frozenset[str]:
        path = PurePosixPath(name)
        # The desk's texts come here too: they must not make us read, and quote, other files of this machine.
        if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
            raise ValueError(f"{name[:80]!r} is not a file within the rules folder")
        text = self._instead.get(name)
        if text is None:
            try:
                text = text_of(self._folder / path, MAX_LIST_BYTES)
            except OSError as error:
                raise ValueError(f"{name[:80]!r} cannot be read: {error.strerror or error}") from error
            except ValueError as error:
                raise ValueError(f"{name[:80]!r} cannot be read: {error}") from error
        self._texts[name] = text
        entries, wrong = entries_of(text, form)
        for line, reason in wrong[:_LIST_FAULTS_SHOWN]:
            self.faults.append(Fault(file=name, line=line, reason=reason))
        return entries


def _same_names(rules: Sequence[Rule]) -> list[Fault]:
    first: dict[str, Rule] = {}
    faults = []
    for rule in rules:
        other = first.setdefault(rule.name, rule)
        if other is not rule:
            reason = f"the name {rule.name!r} is taken by the rule at {other.file}:{other.line}"
            faults.append(Fault(file=rule.file, line=rule.line, reason=reason))
    return faults


def unread(name: str, error: Exception) -> Fault:
    """The fault of a file that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Fault(file=name, line=0, reason=f"cannot be read: {reason}")
