"""Reads the files of a Debian package as those of a repository; nothing is unpacked to disk or run."""

import gzip
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collections.repository import LARGEST_FILE


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """A `.deb` file. It has one state, so revisions mean nothing; compressed files lose their `.gz`."""

    file: Path

    def revision_before(self, date: str) -> str | None:
        """None: a package has no history."""
        return None

    def renames(self, since: str) -> dict[str, str]:
        """Nothing: a package has no history."""
        return {}

    def paths(self, revision: str = "") -> list[str]:
        """The paths of all HTML files."""
        return sorted(path for path, _ in self._files())

    def contents(self, paths: Iterable[str], revision: str = "") -> Iterator[tuple[str, bytes]]:
        """Paths with their bytes."""
        wanted = frozenset(paths)
        return (each for each in self._files() if each[0] in wanted)

    def _files(self) -> Iterator[tuple[str, bytes]]:
        command = ["dpkg-deb", "--fsys-tarfile", str(self.file)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE) as process,
            tarfile.open(fileobj=process.stdout, mode="r|") as archive,
        ):
            for member in archive:
                name = member.name.removeprefix("./")
                if not member.isfile() or member.size > LARGEST_FILE or not _is_html(name):
                    continue
                file = archive.extractfile(member)
                body = file.read() if file else b""
                yield name.removesuffix(".gz"), gzip.decompress(body) if name.endswith(".gz") else body


def _is_html(name: str) -> bool:
    return name.removesuffix(".gz").endswith(".html")
