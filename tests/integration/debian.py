"""A copy of this machine on which packages may be installed: what is written there stays in memory (overlayfs)."""

import os
import subprocess
from pathlib import Path

_MOUNT = """
set -e
mount -t tmpfs -o mode=755 machine {folder}
mkdir {folder}/upper {folder}/work {folder}/root
mount -t overlay machine -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work {folder}/root
mount -t proc proc {folder}/root/proc
mount --rbind /dev {folder}/root/dev
# What is on another disk is not in the copy.
for place in {places}; do
    [ -e {folder}/root$place ] || {{ mkdir -p {folder}/root$place && mount --bind $place {folder}/root$place; }}
done
echo mounted
exec sleep 600
"""


class DebianMachine:
    """Ended by `close`; `is_there` is False where this user may not mount anything."""

    def __init__(self, folder: Path, *places: Path) -> None:
        """`places` are folders that have to be there."""
        folder.mkdir()
        self._root = folder / "root"
        self._holder = subprocess.Popen(
            [
                "unshare",
                "--mount",
                "sh",
                "-c",
                _MOUNT.format(folder=folder, places=" ".join(map(str, places))),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._holder.stdout
        self.output = self._holder.stdout.readline()
        self.is_there = self.output == "mounted\n"

    def command(self, *words: str) -> list[str]:
        """A command as this machine runs it."""
        return [
            *("nsenter", "--mount", f"--target={self._holder.pid}", "chroot", str(self._root)),
            *words,
        ]

    def run(self, script: str, *, code: int = 0) -> str:
        """The output of a shell script; it has to end with `code`."""
        done = subprocess.run(
            self.command("sh", "-euc", script),
            capture_output=True,
            text=True,
            timeout=120,
            env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def left_behind(self, word: str) -> str:
        """What is new in the system's folders, with this word in its path; the records of dpkg do not count."""
        folders = " ".join(f"upper/{name}" for name in ("etc", "lib", "opt", "srv", "usr", "var"))
        find = f"find {folders} ! -type c -path '*{word}*' ! -path '*/dpkg/*' 2>/dev/null"
        script = f"cd {self._root.parent}; {find} || true"
        enter = ("nsenter", "--mount", f"--target={self._holder.pid}")
        return subprocess.run([*enter, "sh", "-c", script], capture_output=True, text=True, check=True).stdout

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()
