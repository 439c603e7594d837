"""A folder of rules: `*.toml` in the order of their names, and the domain lists that they name."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from proxy.rules.domains import Form, entries_of
from proxy.rules.model import Rule, RuleFault, RulesError
from proxy.rules.parse import rules_of
from proxy.rules.ruleset import RuleSet

MAX_FILE_BYTES = 4 * 1024**2
MAX_LIST_BYTES = 64 * 1024**2
MAX_FILES = 1000
_LIST_FAULTS_SHOWN = 20


def rules_folder(configured: str, data: Path) -> Path:
    """The folder of the rules: as configured, else in the data folder."""
    return Path(configured) if configured else data / "rules.d"


def is_rule_file(name: str) -> bool:
    """Whether a file of this name, directly in the folder, contains rules."""
    return name.endswith(".toml") and not name.startswith(".") and "/" not in name


def rule_files(folder: Path) -> tuple[str, ...]:
    """The names of the rule files in order; empty when there is no folder. OSError when it cannot be read."""
    try:
        found = [path.name for path in folder.iterdir() if is_rule_file(path.name) and path.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(sorted(found))


def all_files(folder: Path) -> list[str]:
    """All files below a folder, relative to it and in order, without hidden ones; at most MAX_FILES."""
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
) -> RuleSet:
    """The rule set of a folder. Raises RulesError.

    `instead` holds texts to use in place of files, by name; None for a file to leave out. `read` receives the texts
    of the rule set, since the files may change before they are read again.
    """
    texts = instead or {}
    read = {} if read is None else read
    lists = _Lists(folder, texts, read)
    rules: list[Rule] = []
    faults: list[RuleFault] = []
    try:
        names = {*rule_files(folder), *filter(is_rule_file, texts)}
    except OSError as error:
        raise RulesError((read_fault(folder.name, error),)) from error
    for name in sorted(names):
        try:
            text = texts[name] if name in texts else text_of(folder / name, MAX_FILE_BYTES)
        except (OSError, ValueError) as error:
            faults.append(read_fault(name, error))
            continue
        read[name] = text or ""
        found, wrong = rules_of(read[name], name, lists.entries)
        rules += found
        faults += sorted(wrong, key=lambda fault: fault.line)
    faults += [*lists.faults, *same_names(rules)]
    if faults:
        raise RulesError(tuple(faults))
    return RuleSet(rules)


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
    """The list files of a folder, each read only once; `faults` are their errors."""

    def __init__(self, folder: Path, instead: Mapping[str, str | None], texts: dict[str, str]) -> None:
        self._folder = folder
        self._instead = instead
        self._texts = texts
        self._read: dict[tuple[str, Form], frozenset[str]] = {}
        self.faults: list[RuleFault] = []

    def entries(self, name: str, form: Form) -> frozenset[str]:
        """The entries of a list; ValueError when the file cannot be read."""
        if (name, form) not in self._read:
            self._read[name, form] = self._entries(name, form)
        return self._read[name, form]

    def _entries(self, name: str, form: Form) -> frozenset[str]:
        path = PurePosixPath(name)
        # Texts from the admin UI get here too: they must not make us read, and quote, other files of this machine.
        if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
            raise ValueError(f"{name[:80]!r} is not a file in the rules folder")
        text = self._instead.get(name)
        if text is None:
            try:
                text = text_of(self._folder / path, MAX_LIST_BYTES)
            except OSError as error:
                raise ValueError(f"cannot read {name[:80]!r}: {error.strerror or error}") from error
            except ValueError as error:
                raise ValueError(f"cannot read {name[:80]!r}: {error}") from error
        self._texts[name] = text
        entries, wrong = entries_of(text, form)
        for line, reason in wrong[:_LIST_FAULTS_SHOWN]:
            self.faults.append(RuleFault(file=name, line=line, reason=reason))
        return entries


def same_names(rules: Sequence[Rule]) -> list[RuleFault]:
    """A fault for each rule whose name an earlier one has."""
    first: dict[str, Rule] = {}
    faults = []
    for rule in rules:
        other = first.setdefault(rule.name, rule)
        if other is not rule:
            reason = f"the name {rule.name!r} is already used by the rule at {other.file}:{other.line}"
            faults.append(RuleFault(file=rule.file, line=rule.line, reason=reason))
    return faults


def read_fault(name: str, error: Exception) -> RuleFault:
    """The fault of a file that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return RuleFault(file=name, line=0, reason=f"cannot read the file: {reason}")
