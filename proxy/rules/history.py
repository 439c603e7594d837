"""Edits of the rules from the desk: each checked as a whole before it is written, kept, and able to be undone.

A version is one edit of one file, with the text before and after. The newest ones are kept in a folder of their own,
a file each. Files edited by hand are not versions, but nothing written by hand is ever overwritten unseen: who saves
or undoes says what they had before them, and is refused when it is no longer so.
"""

import difflib
import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proxy.errors import LinkmendError
from proxy.files import write
from proxy.rules.folder import MAX_FILE_BYTES, is_rule_file, load, rule_files, text_of, unread
from proxy.rules.live import LiveRules
from proxy.rules.model import Fault, RulesError
from proxy.rules.writing import rule_text

DESK_FILE = "50-desk.toml"
"""Where rules go that the desk writes by itself."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}\.toml")
_VERSION = re.compile(r"[0-9]{8}\.json")


class RulesConflict(LinkmendError):
    """The file is no longer what the editor had before them."""


class Version(msgspec.Struct, kw_only=True, frozen=True):
    """One edit of one file; `before` or `after` is None where the file was not there."""

    number: int
    at: datetime
    by: str
    file: str
    before: str | None
    after: str | None
    undoes: int | None = None
    """The version that this one took back."""

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
        """What is wrong with the rules in the folder; None when they are in force."""
        return self.live.fault

    def files(self) -> tuple[str, ...]:
        """The files of rules in order; those of strange names can be seen, not edited."""
        try:
            return rule_files(self.live.folder)
        except OSError as error:
            raise LinkmendError(f"{self.live.folder}: cannot be read: {error.strerror}") from error

    def text(self, file: str) -> str | None:
        """The text of a file as it is now; None when there is none. Raises RulesError when it cannot be read."""
        try:
            return text_of(self.live.folder / _checked(file), MAX_FILE_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise RulesError((unread(file, error),)) from error

    def check(self, file: str, text: str | None) -> None:
        """Raises RulesError if the rules would not be good with this text (None: without the file).

        Faults of other files that are there already are no obstacle: else two of them could never be mended.
        """
        if text is not None and len(text.encode("utf-8", "replace")) > MAX_FILE_BYTES:
            reason = f"larger than {MAX_FILE_BYTES} bytes"
            raise RulesError((Fault(file=_checked(file), line=0, reason=reason),))
        faults = _faults(self.live.folder, {_checked(file): text})
        if faults and (
            any(fault.file == file for fault in faults) or set(faults) - set(_faults(self.live.folder))
        ):
            raise RulesError(faults)

    def save(self, file: str, text: str, *, by: str, seen: str | None = None) -> Version:
        """Write a file and put it in force. Raises RulesError, with the place, as `check` does.

        `seen` is the `mark` of the text the editor began with; RulesConflict when the file has changed since.
        """
        text = text.replace("\r\n", "\n")
        with self._lock:
            before = self.text(file)
            if seen is not None and seen != mark(before):
                raise RulesConflict(f"{file} was changed by somebody else in the meantime")
            self.check(file, text)
            return self._write(file, before, text, by=by)

    def add_redirect(self, url: str, to: str, *, by: str, reason: str = "") -> Version:
        """Put a rule into the desk's own file that leads readers from one address to another. Raises RulesError.

        It goes before the others there: of two decisions about one address, the later counts.
        """
        plain = to.replace("{", "%7B").replace("}", "%7D")  # an address, not a template
        rule = rule_text(url=url, action="redirect", to=plain, reason=reason)
        with self._lock:
            before = self.text(DESK_FILE)
            text = f"{rule}\n{before}" if before else rule
            self.check(DESK_FILE, text)
            return self._write(DESK_FILE, before, text, by=by)

    def undo(self, number: int | None = None, *, by: str) -> Version:
        """Take back one version, or the newest that is not taken back yet.

        Raises RulesConflict when the file has changed since, LinkmendError when there is nothing to undo, and
        RulesError when the rules would no longer be good.
        """
        with self._lock:
            version = self._undoable(number)
            current = self.text(version.file)
            if current != version.after:
                raise RulesConflict(f"{version.file} was changed since; undo the later edits first")
            self.check(version.file, version.before)
            return self._write(version.file, current, version.before, by=by, undoes=version.number)

    def versions(self, limit: int | None = None) -> tuple[Version, ...]:
        """The versions, newest first."""
        found = []
        for path in self._paths()[::-1][:limit]:
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=Version))
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                continue  # half a file of a full disk; the others are as good as ever
        return tuple(found)

    def _undoable(self, number: int | None) -> Version:
        versions = self.versions()
        undone = {version.undoes for version in versions}
        for version in versions:
            if version.number == number or (
                number is None and version.undoes is None and version.number not in undone
            ):
                return version
        raise LinkmendError("nothing to undo" if number is None else f"there is no version {number}")

    def _write(
        self, file: str, before: str | None, after: str | None, *, by: str, undoes: int | None = None
    ) -> Version:
        paths = self._paths()
        version = Version(
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
            _put(self.live.folder / file, after)
        except OSError as error:
            kept.unlink(missing_ok=True)
            raise LinkmendError(f"{file}: cannot be written: {error.strerror or error}") from error
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
    """A short mark of a text, by which it is known again."""
    return (
        "new"
        if text is None
        else hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
    )


def _faults(folder: Path, instead: Mapping[str, str | None] | None = None) -> tuple[Fault, ...]:
    try:
        load(folder, instead=instead)
    except RulesError as error:
        return error.faults
    return ()


def _put(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    write(path, text.encode("utf-8", "replace"), mode=0o640)


def _checked(file: str) -> str:
    """The name of a file of rules; RulesError for any other, such as one that leads out of the folder."""
    if not _NAME.fullmatch(file) or not is_rule_file(file):
        reason = "a name such as 20-library.toml is expected: letters, digits, dots, hyphens, underscores"
        raise RulesError((Fault(file=file[:80], line=0, reason=reason),))
    return file
