"""Reads a git directory without a work tree: files of a revision, and the files that were renamed since."""

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LARGEST_FILE = 2_000_000


@dataclass(frozen=True, slots=True)
class Repository:
    """A git directory, bare or not."""

    directory: Path

    def revision_before(self, date: str) -> str | None:
        """The last commit of the main line before a date; None when the history begins later."""
        return self._run("rev-list", "-1", "--first-parent", f"--before={date}", "HEAD").strip() or None

    def paths(self, revision: str = "HEAD") -> list[str]:
        """The paths of all files of a revision, sorted."""
        return self._run("ls-tree", "-r", "-z", "--name-only", "--full-tree", revision).split("\0")[:-1]

    def contents(self, paths: Iterable[str], revision: str = "HEAD") -> Iterator[tuple[str, bytes]]:
        """Paths with their bytes; what is no file, or too large, is left out. One process serves all of them."""
        command = ["git", "-C", str(self.directory), "cat-file", "--batch"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            for path in paths:
                if "\n" in path:
                    continue
                process.stdin.write(f"{revision}:{path}\n".encode())
                process.stdin.flush()
                head = process.stdout.readline().split()
                if head[-1] == b"missing":
                    continue
                body = process.stdout.read(int(head[2]) + 1)[:-1]
                if head[1] == b"blob" and len(body) <= LARGEST_FILE:
                    yield path, body
            process.stdin.close()

    def renames(self, since: str) -> dict[str, str]:
        """Old path to new path, as git pairs them, commit by commit after the revision `since`.

        Of a path renamed twice, both steps are in it: first name to second, second to third.
        A snapshot may lack old parts of the history; what git can read up to there counts.
        """
        wanted = ("log", "--format=", "--name-status", "-z", "-M", "--diff-filter=R", f"{since}..HEAD")
        fields = iter(self._run(*wanted, whole=False).split("\0"))
        found: dict[str, str] = {}
        for kind in fields:
            if kind.strip() and (old := next(fields, "")) and (new := next(fields, "")):
                found.setdefault(old, new)  # the newest comes first
        return found

    def changes(self) -> str:
        """Every commit, the newest first: \\x01, then lines of git's `--name-status` (A, D, R) for pages."""
        wanted = ("log", "--no-merges", "--format=%x01", "--name-status", "-M", "--diff-filter=RAD")
        return self._run(*wanted, "--", "*.md", "*.mdx", "*.html", whole=False)

    def changed(self, before: str, after: str) -> list[str]:
        """The files that differ between two revisions and are in both."""
        return self._run("diff", "--name-only", "--no-renames", "--diff-filter=M", "-z", before, after).split(
            "\0"
        )[:-1]

    def _run(self, *arguments: str, whole: bool = True) -> str:
        command = ["git", "-C", str(self.directory), "-c", "diff.renameLimit=4000", *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=whole)
        return done.stdout.decode("utf-8", "surrogateescape")
