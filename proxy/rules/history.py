"""Edits of the rules in the admin UI: all rules are checked before an edit is written, and each edit can be undone.

A version is one edit of one file, with the text before and after. The newest versions are kept in a folder, one file
each. Edits by hand are not versions, but are never overwritten unseen: a save or undo names the text that it started
from, and is refused if the file has changed since.
"""

import difflib
import hashlib
import itertools
import re
import threading
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proxy.atomicfiles import write
from proxy.errors import LinkmendError
from proxy.rules.folder import MAX_FILE_BYTES, is_rule_file, load, read_fault, rule_files, text_of
from proxy.rules.live import LiveRules
from proxy.rules.model import RuleFault, RulesError
from proxy.rules.writing import rule_text

DESK_FILE = "50-desk.toml"
"""The file for rules that the admin UI writes by itself."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}\.toml")
_VERSION = re.compile(r"[0-9]{8}\.json")


class RulesConflict(LinkmendError):
    """The file has changed since the editor loaded it."""


class RulesVersion(msgspec.Struct, kw_only=True, frozen=True):
    """One edit of one file; `before` or `after` is None if the file did not exist."""

    number: int
    at: datetime
    by: str
    file: str
    before: str | None
    after: str | None
    undoes: int | None = None
    """The version that this one undid."""

    @property
    def diff(self) -> str:
        """What changed, as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            self.file,
            self.file,
            lineterm="",
        )
        return "\n".join(lines)


class RuleEdits:
    """Edits of the folder that `live` follows; versions are kept in `folder`, at most `keep`."""

    def __init__(
        self,
        live: LiveRules,
        folder: Path,
        *,
        keep: int = 100,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.live = live
        self._folder = folder
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()

    @property
    def fault(self) -> str | None:
        """The first fault of the rules in the folder; None when they are active."""
        return self.live.fault

    def files(self) -> tuple[str, ...]:
        """The rule files in order; files with unusual names can be read, not edited."""
        try:
            return rule_files(self.live.folder)
        except OSError as error:
            raise LinkmendError(f"{self.live.folder}: cannot read the folder: {error.strerror}") from error

    def text(self, file: str) -> str | None:
        """The current text of a file; None when there is none. Raises RulesError when it cannot be read."""
        try:
            return text_of(self.live.folder / _check_name(file), MAX_FILE_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise RulesError((read_fault(file, error),)) from error

    def check(self, file: str, text: str | None) -> None:
        """Raises RulesError if the rules would be invalid with this text (None: without the file).

        Existing faults of other files do not count: otherwise two faulty files could never be fixed.
        """
        if text is not None and len(text.encode("utf-8", "replace")) > MAX_FILE_BYTES:
            reason = f"larger than {MAX_FILE_BYTES} bytes"
            raise RulesError((RuleFault(file=_check_name(file), line=0, reason=reason),))
        faults = _faults(self.live.folder, {_check_name(file): text})
        if faults and (
            any(fault.file == file for fault in faults) or set(faults) - set(_faults(self.live.folder))
        ):
            raise RulesError(faults)

    def save(self, file: str, text: str, *, by: str, seen: str | None = None) -> RulesVersion:
        """Write a file and activate it. Raises RulesError like `check`.

        `seen` is the `mark` of the text the editor started from; RulesConflict when the file has changed since.
        """
        text = text.replace("\r\n", "\n")
        with self._lock:
            before = self.text(file)
            if seen is not None and seen != mark(before):
                raise RulesConflict(f"{file} was changed by someone else in the meantime")
            self.check(file, text)
            return self._write(file, before, text, by=by)

    def add_redirect(self, url: str, to: str, *, by: str, reason: str = "") -> RulesVersion:
        """Add a rule to the admin UI's own file that redirects users from one address to another. Raises RulesError.

        It goes before the other rules there, so that the latest decision about an address counts.
        """
        plain = to.replace("{", "%7B").replace("}", "%7D")  # an address, not a template
        return self.add_rule(rule_text(url=url, action="redirect", to=plain, reason=reason), by=by)

    def add_rule(self, rule: str, *, by: str) -> RulesVersion:
        """Add a rule to the admin UI's own file, before those that are there. Raises RulesError."""
        with self._lock:
            before = self.text(DESK_FILE)
            text = f"{rule}\n{before}" if before else rule
            self.check(DESK_FILE, text)
            return self._write(DESK_FILE, before, text, by=by)

    def redirect_of(self, url: str) -> str:
        """Where a rule of the admin UI redirects exactly this address; "" without one."""
        found = self._redirect_rule(self.text(DESK_FILE) or "", url)
        return str(tomllib.loads(found)["rule"][0].get("to", "")) if found else ""

    def remove_redirect(self, url: str, *, by: str) -> RulesVersion:
        """Take back a redirect of the admin UI. Raises LinkmendError when there is none, and RulesError."""
        with self._lock:
            before = self.text(DESK_FILE) or ""
            found = self._redirect_rule(before, url)
            if not found:
                raise LinkmendError("no redirect of the desk for this address")
            text = before.replace(found, "", 1).strip("\n")
            after = f"{text}\n" if text else None
            self.check(DESK_FILE, after)
            return self._write(DESK_FILE, before, after, by=by)

    def _redirect_rule(self, text: str, url: str) -> str:
        """The text of the first redirect of an address, as `add_redirect` has written it."""
        start = rule_text(url=url, action="redirect")
        at = f"\n{text}".find(f"\n{start}")
        return "".join(itertools.takewhile(str.strip, text[at:].splitlines(keepends=True))) if at >= 0 else ""

    def undo(self, number: int | None = None, *, by: str) -> RulesVersion:
        """Undo one version, or the newest that is not undone yet.

        Raises RulesConflict when the file has changed since, LinkmendError when there is nothing to undo, and
        RulesError when the rules would be invalid.
        """
        with self._lock:
            version = self._undoable(number)
            current = self.text(version.file)
            if current != version.after:
                raise RulesConflict(f"{version.file} was changed since; undo the later edits first")
            self.check(version.file, version.before)
            return self._write(version.file, current, version.before, by=by, undoes=version.number)

    def versions(self, limit: int | None = None) -> tuple[RulesVersion, ...]:
        """The versions, newest first."""
        found = []
        for path in self._paths()[::-1][:limit]:
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=RulesVersion))
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                continue  # an incomplete file from a full disk; the others are fine
        return tuple(found)

    def _undoable(self, number: int | None) -> RulesVersion:
        versions = self.versions()
        undone = {version.undoes for version in versions}
        for version in versions:
            if version.number == number or (
                number is None and version.undoes is None and version.number not in undone
            ):
                return version
        raise LinkmendError("nothing to undo" if number is None else f"no such version: {number}")

    def _write(
        self, file: str, before: str | None, after: str | None, *, by: str, undoes: int | None = None
    ) -> RulesVersion:
        paths = self._paths()
        version = RulesVersion(
            number=int(paths[-1].stem) + 1 if paths else 1,
            at=self._clock(),
            by=by,
            file=file,
            before=before,
            after=after,
            undoes=undoes,
        )
        kept = self._folder / f"{version.number:08}.json"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write(kept, msgspec.json.encode(version), mode=0o600)
            _write_or_remove(self.live.folder / file, after)
        except OSError as error:
            kept.unlink(missing_ok=True)
            raise LinkmendError(f"{file}: cannot write the file: {error.strerror or error}") from error
        for path in paths[: max(0, len(paths) + 1 - self._keep)]:
            path.unlink(missing_ok=True)
        self.live.reload()
        return version

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if _VERSION.fullmatch(path.name))
        except (FileNotFoundError, NotADirectoryError):
            return []


def mark(text: str | None) -> str:
    """A short hash that identifies a text."""
    return (
        "new"
        if text is None
        else hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
    )


def _faults(folder: Path, instead: Mapping[str, str | None] | None = None) -> tuple[RuleFault, ...]:
    try:
        load(folder, instead=instead)
    except RulesError as error:
        return error.faults
    return ()


def _write_or_remove(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    write(path, text.encode("utf-8", "replace"), mode=0o640)


def _check_name(file: str) -> str:
    """The name, if it is valid for a rule file; RulesError otherwise, for example if it leads out of the folder."""
    if not _NAME.fullmatch(file) or not is_rule_file(file):
        reason = "expected a name such as 20-library.toml (letters, digits, dots, hyphens, underscores)"
        raise RulesError((RuleFault(file=file[:80], line=0, reason=reason),))
    return file
